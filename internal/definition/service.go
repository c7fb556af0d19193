package definition

import (
	"reflect"
	"slices"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
)

// DecodeService reads a service definition as CreateService's request or as DescribeServices
// returns it, wrapped or not. file appears only in errors. It returns all problems together, in the
// order of the file, as joined [*Problem]s.
func DecodeService(file string, data []byte) (*Service, error) {
	service, problems, err := ReadService(file, data, "", nil)
	if err == nil {
		err = JoinProblems(problems)
	}
	if err != nil {
		return nil, err
	}
	return service, nil
}

// ReadService is DecodeService for a caller that searches for further problems, as [ReadTask] is
// DecodeTask. name is the service's name if the definition gives none; empty: the definition has to.
func ReadService(file string, data []byte, name string, vars Variables) (*Service, []*Problem, error) {
	d, err := newDecoder(file, data, vars)
	if err != nil {
		return nil, nil, err
	}
	src := d.src
	in := &awsecs.CreateServiceInput{}
	body := d.serviceBody()
	if body == nil {
		return &Service{Input: in, File: file, Text: FileText{src, &Node{}}}, d.problems, nil
	}
	left := withoutCountOfService(body)
	given := d.decodeServiceDefinition(left, in, name)
	return &Service{Input: in, Given: given, File: file, Text: FileText{src, body},
		CountOfService: left != body}, d.problems, nil
}

// withoutCountOfService returns the members without a desired count that is from-service.
func withoutCountOfService(body *Node) *Node {
	n := body.Find("desiredCount")
	if n == nil || n.Kind != Text || n.Text != FromService {
		return body
	}
	left := *body
	left.Entries = slices.DeleteFunc(slices.Clone(body.Entries), func(e Entry) bool { return e.Value == n })
	return &left
}

func (d *decoder) decodeServiceDefinition(body *Node, in *awsecs.CreateServiceInput, name string) map[string]bool {
	const what = "the service definition"
	if d.isMistaken(body, what) {
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
	d.takeFromPrimary(body.Find("deployments"), v, given)
	if name != "" && !given["serviceName"] {
		in.ServiceName, given["serviceName"] = &name, true
	}
	d.requireMembers(body, given, what, "serviceName")
	return given
}

// serviceBody returns the service itself from the output of DescribeServices or CreateService.
func (d *decoder) serviceBody() *Node {
	root := d.src.Root
	if one := root.Find("service"); one != nil && one.Kind == Map {
		d.checkWrapping(root, "the answer", "service")
		return one
	}
	list := root.Find("services")
	if list == nil || list.Kind != List {
		return root
	}
	d.checkWrapping(root, "the description", "services", "failures")
	if len(list.Items) != 1 {
		p := d.src.At(list, "services has %d services; a service definition has one", len(list.Items))
		p.Next = "remove the other services from the file"
		d.addProblem(p)
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
		if status := dep.Find("status"); status == nil || status.Text != "PRIMARY" {
			continue
		}
		for _, m := range membersOf(v.Type()) {
			value := dep.Find(m.name)
			if classOf(m.name) == ofDeployment && value != nil && value.Kind != Null && !given[m.name] {
				given[m.name] = true
				d.decodeValue(value, v.Field(m.index), m.name)
			}
		}
	}
}
