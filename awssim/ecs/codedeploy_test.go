package ecs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// deployedElsewhere makes a service whose deployments are CodeDeploy's.
func (b *bench) deployedElsewhere(count int32) {
	b.t.Helper()
	in := rollingInput(b.register("sim/web:v1"), count, b.blue)
	in.DeploymentController = controller("CODE_DEPLOY")
	must(b.CreateService(b.ctx, in))(b.t)
}

func TestAServiceOfCodeDeployStartsWithAPrimaryTaskSet(t *testing.T) {
	b := newBench(t, world.Options{})
	b.deployedElsewhere(2)
	s := b.steady(1)
	set := s.TaskSets[0]
	if *set.Status != "PRIMARY" || set.Scale.Value != 100 || set.RunningCount != 2 ||
		!strings.Contains(*set.TaskSetArn, ":task-set/web/api/ecs-svc/") ||
		len(s.Deployments) != 0 || *s.LoadBalancers[0].TargetGroupArn != b.blue || s.TaskDefinition == nil {
		t.Errorf("%+v", s)
	}
	s = *b.update(&awsecs.UpdateServiceInput{DesiredCount: aws.Int32(3), HealthCheckGracePeriodSeconds: aws.Int32(5),
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{MaximumPercent: aws.Int32(150)}})
	if s.DesiredCount != 3 || s.TaskSets[0].ComputedDesiredCount != 3 ||
		*s.DeploymentConfiguration.MaximumPercent != 150 {
		t.Errorf("%+v", s)
	}
	if s = b.steady(1); s.RunningCount != 3 {
		t.Errorf("%d run", s.RunningCount)
	}
}

func TestWhatOnlyCodeDeployMayChangeIsRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	in := rollingInput(b.register("sim/web:v1"), 1, b.blue)
	in.DeploymentController = controller("CODE_DEPLOY")
	in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: true}}
	refused(b.CreateService(b.ctx, in))(t, invalidParameter,
		"Deployment strategy, circuit breaker, alarms, bake time and lifecycle hooks are only supported with the "+
			"ECS deployment controller.")
	b.deployedElsewhere(1)
	set := b.steady(1).TaskSets[0]
	for text, in := range map[string]*awsecs.UpdateServiceInput{
		"Unable to update task definition":            {TaskDefinition: aws.String("api")},
		"Unable to update network parameters":         {PlatformVersion: aws.String("1.4.0")},
		"Cannot force a new deployment":               {ForceNewDeployment: true},
		"Unable to update load balancers":             {LoadBalancers: []ecstypes.LoadBalancer{}},
		"Unable to update capacity provider strategy": {CapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{}},
	} {
		in.Cluster, in.Service = aws.String("web"), aws.String("api")
		refused(b.UpdateService(b.ctx, in))(t, invalidParameter,
			text+
				" on services with a CODE_DEPLOY deployment controller. Use AWS CodeDeploy to trigger a new "+
				"deployment.")
	}
	external := "Amazon ECS only supports task set management on services configured to use external deployment " +
		"controllers."
	refused(b.DeleteTaskSet(b.ctx, &awsecs.DeleteTaskSetInput{Cluster: aws.String("web"), Service: aws.String("api"),
		TaskSet: set.Id}))(t, invalidParameter, external)
	refused(b.UpdateTaskSet(b.ctx, &awsecs.UpdateTaskSetInput{Cluster: aws.String("web"), Service: aws.String("api"),
		TaskSet: set.Id,
		Scale:   &ecstypes.Scale{Value: 50}}))(t, invalidParameter, external)
}

func TestFromCODE_DEPLOYToTheOthers(t *testing.T) {
	b := newBench(t, world.Options{})
	b.deployedElsewhere(1)
	b.steady(1)
	s := b.update(&awsecs.UpdateServiceInput{DeploymentController: controller("EXTERNAL")})
	if *s.TaskSets[0].Status != "PRIMARY" || s.DeploymentController.Type != "EXTERNAL" {
		t.Errorf("%+v", s)
	}
	s = b.update(&awsecs.UpdateServiceInput{DeploymentController: controller("ECS")})
	if len(s.Deployments) != 1 || s.RunningCount != 1 {
		t.Errorf("%+v", s)
	}
	b.Run(time.Minute)
	if s := b.service(); s.RunningCount != 1 {
		t.Errorf("%d tasks run on", s.RunningCount)
	}
}
