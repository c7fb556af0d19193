package awssim

import (
	"reflect"
	"slices"
	"testing"

	"github.com/sluice-ecs/sluice/awssim/applicationautoscaling"
	"github.com/sluice-ecs/sluice/awssim/cloudformation"
	"github.com/sluice-ecs/sluice/awssim/cloudwatch"
	"github.com/sluice-ecs/sluice/awssim/cloudwatchlogs"
	"github.com/sluice-ecs/sluice/awssim/codedeploy"
	"github.com/sluice-ecs/sluice/awssim/ec2"
	"github.com/sluice-ecs/sluice/awssim/ecr"
	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/elbv2"
	"github.com/sluice-ecs/sluice/awssim/iam"
	"github.com/sluice-ecs/sluice/awssim/lambda"
	"github.com/sluice-ecs/sluice/awssim/s3"
	"github.com/sluice-ecs/sluice/awssim/secretsmanager"
	"github.com/sluice-ecs/sluice/awssim/servicediscovery"
	"github.com/sluice-ecs/sluice/awssim/ssm"
	"github.com/sluice-ecs/sluice/awssim/sts"
	"github.com/sluice-ecs/sluice/awssim/wire"
)

// A method of a room that looks like a call of the API is one, and is listed.
func TestEveryOperationIsListed(t *testing.T) {
	sim, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	listed := sim.current.Load().operations
	for room, service := range map[string]any{
		"application-autoscaling": (*applicationautoscaling.Service)(nil), "cloudwatch": (*cloudwatch.Service)(nil),
		"codedeploy": (*codedeploy.Service)(nil),
		"logs":       (*cloudwatchlogs.Service)(nil), "ec2": (*ec2.Service)(nil), "ecs": (*ecs.Service)(nil),
		"elasticloadbalancing": (*elbv2.Service)(nil), "servicediscovery": (*servicediscovery.Service)(nil),
		"sts": (*sts.Service)(nil),
		"iam": (*iam.Service)(nil), "secretsmanager": (*secretsmanager.Service)(nil), "ssm": (*ssm.Service)(nil),
		"ecr": (*ecr.Service)(nil), "lambda": (*lambda.Service)(nil), "s3": (*s3.Service)(nil),
		"cloudformation": (*cloudformation.Service)(nil),
	} {
		methods := reflect.TypeOf(service)
		for i := range methods.NumMethod() {
			m := methods.Method(i)
			call := m.Type.NumIn() == 3 && m.Type.NumOut() == 2 && m.Type.In(2).Kind() == reflect.Pointer
			if call && !slices.Contains(listed, operation{room, m.Name}) {
				t.Errorf("%s.%s is not listed in operations.go", room, m.Name)
			}
		}
	}
}

// A constraint whose key names no member of an input would never be checked.
func TestEveryConstraintNamesAMember(t *testing.T) {
	sim, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	e := sim.current.Load()
	checked := 0
	for _, api := range []wire.API{e.ecs.API(), e.elb.API(), sts.NewAPI(e.world), ec2.NewAPI(e.world), e.scaling.API(),
		e.discovery.API(), cloudwatch.NewAPI(e.world), cloudwatchlogs.NewAPI(e.world), e.codeDeploy.API(),
		iam.NewAPI(nil), secretsmanager.NewAPI(e.world), ssm.NewAPI(e.world), ecr.NewAPI(e.world),
		lambda.NewAPI(e.world), s3.NewAPI(e.world), cloudformation.NewAPI(e.world)} {
		members := map[string]bool{}
		for _, o := range api.Operations {
			addMembers(reflect.TypeOf(o), members)
		}
		for name := range api.Constraints {
			if checked++; !members[name] {
				t.Errorf("%s: no input has %s", api.Name, name)
			}
		}
		if len(api.Constraints) > 0 && api.Violation == "" {
			t.Errorf("%s: constraints without a code are not checked", api.Name)
		}
	}
	if checked == 0 {
		t.Error("no API has constraints")
	}
}

// addMembers adds the members of a type, "Type.Field"; of a function, those of its input.
func addMembers(typ reflect.Type, members map[string]bool) {
	switch typ.Kind() {
	case reflect.Func:
		addMembers(typ.In(1), members)
	case reflect.Pointer, reflect.Slice:
		addMembers(typ.Elem(), members)
	case reflect.Struct:
		for i := range typ.NumField() {
			f := typ.Field(i)
			if name := typ.Name() + "." + f.Name; f.IsExported() && !members[name] {
				members[name] = true
				addMembers(f.Type, members)
			}
		}
	}
}
