package definition

import (
	"reflect"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecsdoc "github.com/aws/aws-sdk-go-v2/service/ecs/document"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// member is one member of an AWS shape.
type member struct {
	name  string // as in AWS's JSON
	index int    // of the Go field
}

// membersOf returns the members of an SDK struct, in its order.
func membersOf(t reflect.Type) []member {
	var all []member
	for i := range t.NumField() {
		f := t.Field(i)
		if f.IsExported() && f.Name != "ResultMetadata" {
			all = append(all, member{jsonName(f.Name), i})
		}
	}
	return all
}

// jsonName returns the name that AWS's JSON has for an SDK field. ECS has no exception to this
// rule.
func jsonName(field string) string {
	return strings.ToLower(field[:1]) + field[1:]
}

// memberByName returns a member by name, in any case, as PipeCD does.
func memberByName(all []member, name string) (member, bool) {
	for _, m := range all {
		if strings.EqualFold(m.name, name) {
			return m, true
		}
	}
	return member{}, false
}

func memberNames(all []member) []string {
	var out []string
	for _, m := range all {
		out = append(out, m.name)
	}
	return out
}

// unionMembers returns the members of a union. The SDK's unions are interfaces, and reflection does
// not find their members. A test checks that the list is complete.
func unionMembers(t reflect.Type) map[string]reflect.Type {
	switch t {
	case reflect.TypeFor[ecstypes.ServiceConnectContainerConfiguration]():
		return map[string]reflect.Type{
			"logLevel": reflect.TypeFor[ecstypes.ServiceConnectContainerConfigurationMemberLogLevel](),
		}
	case reflect.TypeFor[ecstypes.SharingStrategy]():
		return map[string]reflect.Type{
			"nvidiaMps": reflect.TypeFor[ecstypes.SharingStrategyMemberNvidiaMps](),
		}
	}
	return nil
}

// isDocument reports whether a member contains open JSON content.
func isDocument(t reflect.Type) bool {
	return t == reflect.TypeFor[ecsdoc.Interface]()
}

// enumValues returns the values of an SDK enum; none for plain text.
func enumValues(t reflect.Type) []string {
	method, ok := t.MethodByName("Values")
	if !ok {
		return nil
	}
	list := method.Func.Call([]reflect.Value{reflect.Zero(t)})[0]
	var out []string
	for i := range list.Len() {
		out = append(out, list.Index(i).String())
	}
	return out
}

// readOnlyMembers returns the members of a described object that its request does not have: AWS
// returns them and no request sets them.
func readOnlyMembers(described, request reflect.Type) []string {
	asked := membersOf(request)
	var out []string
	for _, m := range membersOf(described) {
		if _, ok := memberByName(asked, m.name); !ok {
			out = append(out, m.name)
		}
	}
	return out
}

func taskReadOnly() []string {
	return readOnlyMembers(reflect.TypeFor[ecstypes.TaskDefinition](),
		reflect.TypeFor[awsecs.RegisterTaskDefinitionInput]())
}

func serviceReadOnly() []string {
	return readOnlyMembers(reflect.TypeFor[ecstypes.Service](), reflect.TypeFor[awsecs.CreateServiceInput]())
}
