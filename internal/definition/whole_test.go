package definition

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecsdoc "github.com/aws/aws-sdk-go-v2/service/ecs/document"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"
)

// filled sets random members of a value of the SDK, every member of it in the
// long run.
func filled(t *rapid.T, v reflect.Value, depth int) {
	some := func() bool { return rapid.IntRange(0, 3+depth).Draw(t, "some") == 0 }
	switch v.Kind() {
	case reflect.Pointer:
		if some() {
			v.Set(reflect.New(v.Type().Elem()))
			filled(t, v.Elem(), depth)
		}
	case reflect.Struct:
		for _, m := range membersOf(v.Type()) {
			filled(t, v.Field(m.index), depth+1)
		}
	case reflect.Slice:
		if some() {
			n := rapid.IntRange(1, 2).Draw(t, "n")
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				if v.Index(i).Kind() == reflect.Interface {
					filledOpen(t, v.Index(i))
					continue
				}
				filled(t, v.Index(i), depth)
			}
		}
	case reflect.Map:
		if some() {
			v.Set(reflect.ValueOf(map[string]string{"k": "v", "1": "true"}))
		}
	case reflect.Interface:
		if some() {
			filledOpen(t, v)
		}
	case reflect.String:
		if values := enumValues(v.Type()); len(values) > 0 {
			v.SetString(rapid.SampledFrom(append(values, values[0])).Draw(t, "enum"))
			return
		}
		v.SetString(rapid.SampledFrom([]string{"a", "256", "true", "x: y", "é#\t\"'", "arn:aws:x", " pad ", "- 1",
			"~"}).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "flag"))
	case reflect.Int32, reflect.Int64:
		v.SetInt(rapid.Int64Range(0, 70000).Draw(t, "int"))
	case reflect.Float64:
		v.SetFloat(rapid.SampledFrom([]float64{0, 0.1, 5, 33.3}).Draw(t, "float"))
	}
}

func filledOpen(t *rapid.T, v reflect.Value) {
	if isDocument(v.Type()) {
		v.Set(reflect.ValueOf(ecsdoc.NewLazyDocument(map[string]any{"a": []any{1, "x", true}})))
		return
	}
	names := sortedKeys(unionMembers(v.Type()))
	chosen := reflect.New(unionMembers(v.Type())[rapid.SampledFrom(names).Draw(t, "union")])
	filled(t, chosen.Elem().FieldByName("Value"), 0)
	v.Set(chosen)
}

// file is a value of the SDK as JSON text, or as YAML.
func file(t *rapid.T, v any) []byte {
	text, err := json.Marshal(jsonValue(reflect.ValueOf(v)))
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "yaml") {
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		if text, err = yaml.Marshal(plain); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

func text(s string) *string { return &s }

func anyTask(t *rapid.T) *awsecs.RegisterTaskDefinitionInput {
	in := &awsecs.RegisterTaskDefinitionInput{}
	filled(t, reflect.ValueOf(in).Elem(), 0)
	in.Family = text("web")
	if len(in.ContainerDefinitions) == 0 {
		in.ContainerDefinitions = make([]ecstypes.ContainerDefinition, 1)
	}
	for i := range in.ContainerDefinitions {
		in.ContainerDefinitions[i].Name = text(string(rune('a' + i)))
		in.ContainerDefinitions[i].Image = text("web:v1")
	}
	return in
}

// described is what DescribeTaskDefinition answers: the members of the request
// and some of AWS's own.
func described(in *awsecs.RegisterTaskDefinitionInput) *ecstypes.TaskDefinition {
	out := &ecstypes.TaskDefinition{TaskDefinitionArn: text("arn:aws:ecs:us-east-1:123456789012:task-definition/web:3"),
		Revision: 3}
	copyMembers(reflect.ValueOf(out).Elem(), reflect.ValueOf(in).Elem())
	out.Compatibilities = []ecstypes.Compatibility{"EC2"}
	out.RequiresAttributes = []ecstypes.Attribute{{Name: text("com.amazonaws.ecs.capability.docker-remote-api.1.18")}}
	return out
}

func copyMembers(to, from reflect.Value) {
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		if f := to.FieldByName(name); f.IsValid() && f.CanSet() && f.Type() == from.Field(i).Type() {
			f.Set(from.Field(i))
		}
	}
}

func TestEveryMemberOfATaskPassesWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := anyTask(t)
		data := file(t, in)
		got, err := DecodeTask("taskdef", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if want, have := treeOf(in), treeOf(got.Input); !reflect.DeepEqual(want, have) {
			t.Fatalf("%s\nwant %v\nhave %v", data, want, have)
		}
		text, err := got.JSON()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeTask("f", text); err != nil || Digest(again) != Digest(got) {
			t.Fatalf("%v\n%s\n%s", err, data, text)
		}
	})
}

func TestWhatAWSDescribesDiffersInNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := described(anyTask(t))
		data := file(t, have)
		want, err := DecodeTask("taskdef", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if d := CompareTask(want, have); len(d) > 0 {
			t.Fatalf("%v\n%s", d, data)
		}
		in := &awsecs.RegisterTaskDefinitionInput{}
		copyMembers(reflect.ValueOf(in).Elem(), reflect.ValueOf(have).Elem())
		if Digest(want) != Digest(&Task{Input: in}) {
			t.Fatalf("digests differ\n%s", data)
		}
	})
}

func TestDigestAgreesWithCompareTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyTask(t), anyTask(t)
		same := len(CompareTask(&Task{Input: a}, described(b))) == 0
		if same != (Digest(&Task{Input: a}) == Digest(&Task{Input: b})) {
			t.Fatalf("same %v", same)
		}
	})
}

func TestEveryMemberOfAServicePassesWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := &awsecs.CreateServiceInput{}
		filled(t, reflect.ValueOf(in).Elem(), 0)
		in.ServiceName = text("web")
		data := file(t, in)
		got, err := DecodeService("servicedef", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if want, have := treeOf(in), treeOf(got.Input); !reflect.DeepEqual(want, have) {
			t.Fatalf("%s\nwant %v\nhave %v", data, want, have)
		}
		text, err := got.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeService("f", text)
		if err != nil || !reflect.DeepEqual(again.Given, got.Given) ||
			!reflect.DeepEqual(treeOf(again.Input), treeOf(in)) {
			t.Fatalf("%v\n%s\n%s", err, data, text)
		}
	})
}

func TestADescribedServiceDiffersInNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		have := &ecstypes.Service{}
		filled(t, reflect.ValueOf(&have.DeploymentController).Elem(), 0)
		for _, part := range []any{&have.DeploymentConfiguration, &have.NetworkConfiguration,
			&have.CapacityProviderStrategy,
			&have.LoadBalancers, &have.ServiceRegistries, &have.Tags, &have.PlacementStrategy,
			&have.PlacementConstraints,
			&have.HealthCheckGracePeriodSeconds, &have.EnableExecuteCommand, &have.DesiredCount, &have.PropagateTags} {
			filled(t, reflect.ValueOf(part).Elem(), 0)
		}
		dep := ecstypes.Deployment{Status: text("PRIMARY"), DesiredCount: 3}
		filled(t, reflect.ValueOf(&dep.ServiceConnectConfiguration).Elem(), 0)
		filled(t, reflect.ValueOf(&dep.VolumeConfigurations).Elem(), 0)
		have.Deployments = []ecstypes.Deployment{{Status: text("ACTIVE")}, dep}
		have.ServiceName = text("web")
		have.ClusterArn = text("arn:aws:ecs:us-east-1:123456789012:cluster/main")
		data := file(t, have)
		want, err := DecodeService("servicedef", data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if d := CompareService(want, have); len(d) > 0 {
			t.Fatalf("%v\n%s", d, data)
		}
	})
}

func TestEveryMemberHasAPlaceInTheComparison(t *testing.T) {
	for _, m := range membersOf(reflect.TypeFor[awsecs.CreateServiceInput]()) {
		if classOf(m.name) == unknownClass {
			t.Errorf("CreateService's %s has no class", m.name)
		}
	}
	described := membersOf(reflect.TypeFor[ecstypes.TaskDefinition]())
	for _, m := range membersOf(reflect.TypeFor[awsecs.RegisterTaskDefinitionInput]()) {
		if _, ok := memberByName(described, m.name); !ok && m.name != "tags" {
			t.Errorf("DescribeTaskDefinition does not tell %s", m.name)
		}
	}
}

// Every kind of member can be decoded, and every union is known.
func TestEveryShapeIsKnown(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type, string)
	walk = func(typ reflect.Type, path string) {
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem(), path)
		case reflect.Struct:
			if seen[typ] {
				return
			}
			seen[typ] = true
			for _, m := range membersOf(typ) {
				walk(typ.Field(m.index).Type, joinPath(path, m.name))
			}
		case reflect.Interface:
			for name, member := range unionMembers(typ) {
				walk(member, joinPath(path, name))
			}
			if !isDocument(typ) && unionMembers(typ) == nil {
				t.Errorf("%s: unknown union %s", path, typ)
			}
		case reflect.String, reflect.Bool, reflect.Int32, reflect.Int64, reflect.Float64:
		default:
			t.Errorf("%s: no decoder for %s", path, typ)
		}
	}
	walk(reflect.TypeFor[awsecs.RegisterTaskDefinitionInput](), "")
	walk(reflect.TypeFor[awsecs.CreateServiceInput](), "")
}

// The defaults and orders name members that exist, so that a misspelt one shows.
func TestTablesNameMembersThatExist(t *testing.T) {
	roots := []reflect.Type{reflect.TypeFor[awsecs.RegisterTaskDefinitionInput](),
		reflect.TypeFor[awsecs.CreateServiceInput]()}
	check := func(path string) {
		for _, root := range roots {
			if exists(root, path) {
				return
			}
		}
		t.Errorf("%s exists neither in a task nor in a service definition", path)
	}
	for _, path := range append(sortedKeys(taskDefaults()), sortedKeys(serviceDefaults())...) {
		check(path)
	}
	for path, how := range listOrders() {
		check(path)
		for _, by := range how.by {
			check(path + "." + by)
		}
	}
}

func exists(t reflect.Type, path string) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if path == "" || t.Kind() == reflect.Map {
		return true
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	head, rest, _ := strings.Cut(path, ".")
	m, ok := memberByName(membersOf(t), head)
	return ok && m.name == head && exists(t.Field(m.index).Type, rest)
}
