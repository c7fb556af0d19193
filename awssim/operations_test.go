package awssim

import (
	"reflect"
	"testing"

	"github.com/sluice-ecs/sluice/awssim/cloudformation"
	"github.com/sluice-ecs/sluice/awssim/cloudwatch"
	"github.com/sluice-ecs/sluice/awssim/cloudwatchlogs"
	"github.com/sluice-ecs/sluice/awssim/ec2"
	"github.com/sluice-ecs/sluice/awssim/ecr"
	"github.com/sluice-ecs/sluice/awssim/iam"
	"github.com/sluice-ecs/sluice/awssim/lambda"
	"github.com/sluice-ecs/sluice/awssim/s3"
	"github.com/sluice-ecs/sluice/awssim/secretsmanager"
	"github.com/sluice-ecs/sluice/awssim/ssm"
	"github.com/sluice-ecs/sluice/awssim/sts"
	"github.com/sluice-ecs/sluice/awssim/wire"
)

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
		for _, o := range api.Operations() {
			addMembers(o.Type(), members)
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
