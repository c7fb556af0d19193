package definition

import (
	"reflect"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// DecodeService reads a service definition as CreateService's request or as DescribeServices
// returns it, wrapped or not. file appears only in errors. It returns all problems together, in the
// order of the file, as joined [*Problem]s.
func DecodeService(file string, data []byte) (*Service, error) {
	return decodeService(file, data, false)
}

// LoadService is DecodeService for a file that AWS has not seen: values that AWS refuses, such as a
// negative count, are also problems.
func LoadService(file string, data []byte) (*Service, error) {
	return decodeService(file, data, true)
}

func decodeService(file string, data []byte, strict bool) (*Service, error) {
	src, err := Parse(file, data)
	if err != nil {
		return nil, err
	}
	src.HideSecrets()
	d := &decoder{src: src, strict: strict}
	in := &awsecs.CreateServiceInput{}
	given := d.decodeServiceDefinition(in)
	if err := JoinProblems(d.problems); err != nil {
		return nil, err
	}
	return &Service{Input: in, Given: given, File: file}, nil
}

func (d *decoder) decodeServiceDefinition(in *awsecs.CreateServiceInput) map[string]bool {
	const what = "the service definition"
	body := d.serviceBody()
	if body == nil {
		return nil
	}
	v := reflect.ValueOf(in).Elem()
	given := d.decodeRoot(body, v, rootOptions{
		what:     what,
		readOnly: serviceReadOnlyExcept("clusterArn", "roleArn"),
		alias:    map[string]string{"clusterArn": "cluster", "roleArn": "role"},
	})
	if body.Kind != Map {
		return given
	}
	d.takeFromPrimary(getFold(body, "deployments"), v, given)
	d.requireMembers(body, given, what, "serviceName")
	return given
}

// serviceBody returns the service itself from the output of DescribeServices or CreateService.
func (d *decoder) serviceBody() *Node {
	root := d.src.Root
	if one := getFold(root, "service"); one != nil && one.Kind == Map {
		d.checkWrapping(root, "the answer", "service")
		return one
	}
	list := getFold(root, "services")
	if list == nil || list.Kind != List {
		return root
	}
	d.checkWrapping(root, "the description", "services", "failures")
	if len(list.Items) != 1 {
		d.addProblem(d.src.At(list, "services has %d services; a service definition has one", len(list.Items)))
		return nil
	}
	return list.Items[0]
}

func serviceReadOnlyExcept(asked ...string) []string {
	var out []string
	for _, name := range serviceReadOnly() {
		if !containsFold(asked, name) {
			out = append(out, name)
		}
	}
	return out
}

// takeFromPrimary decodes the members of a described service that AWS returns only with its PRIMARY
// deployment.
func (d *decoder) takeFromPrimary(deployments *Node, v reflect.Value, given map[string]bool) {
	if deployments == nil {
		return
	}
	for _, dep := range deployments.Items {
		if status := getFold(dep, "status"); status == nil || status.Text != "PRIMARY" {
			continue
		}
		for _, m := range membersOf(v.Type()) {
			value := getFold(dep, m.name)
			if classOf(m.name) == ofDeployment && value != nil && value.Kind != Null && !given[m.name] {
				given[m.name] = true
				d.decodeValue(value, v.Field(m.index), m.name)
			}
		}
	}
}
