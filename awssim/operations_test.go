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
