package ecs_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func controller(name ecstypes.DeploymentControllerType) *ecstypes.DeploymentController {
	return &ecstypes.DeploymentController{Type: name}
}

func TestFromECSToEXTERNALAndBack(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(2, nil)
	id := *b.service().Deployments[0].Id
	s := b.update(&awsecs.UpdateServiceInput{DeploymentController: controller("EXTERNAL")})
	if len(s.TaskSets) != 1 || *s.TaskSets[0].Id != id || *s.TaskSets[0].Status != "ACTIVE" ||
		len(s.Deployments) != 0 || s.DeploymentController.Type != "EXTERNAL" || s.CurrentServiceDeployment != nil {
		t.Fatalf("%+v", s)
	}
	if want := "arn:aws:ecs:eu-west-1:123456789012:task-set/web/api/" + id; *s.TaskSets[0].TaskSetArn != want ||
		s.TaskSets[0].Scale.Value != 100 || s.TaskDefinition != nil {
		t.Errorf("%+v", s.TaskSets[0])
	}
	refused(b.ListServiceDeployments(b.ctx, &awsecs.ListServiceDeploymentsInput{Cluster: aws.String("web"),
		Service: aws.String("api")}))(t,
		"UnsupportedFeatureException",
		"Service deployments are only supported for services with the ECS deployment controller.")
	if s := b.steady(1); s.RunningCount != 2 {
		t.Errorf("%d tasks run on", s.RunningCount)
	}
	v2 := b.set(b.register("sim/web:v2"), b.green, 100)
	b.steady(2)
	b.promote(v2)
	refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DeploymentController: controller("ECS")}))(t,
		invalidParameter,
		"Unable to update the deployment controller from EXTERNAL to ECS while a deployment is in progress.")
	must(b.DeleteTaskSet(b.ctx, &awsecs.DeleteTaskSetInput{Cluster: aws.String("web"), Service: aws.String("api"),
		TaskSet: &id}))(t)
	b.steady(1)
	s = b.update(&awsecs.UpdateServiceInput{DeploymentController: controller("ECS"),
		DeploymentConfiguration: breaker(true)})
	if !completed(*s) || *s.Deployments[0].Id != *v2.Id || s.TaskSets != nil ||
		*s.LoadBalancers[0].TargetGroupArn != b.green || s.CurrentServiceDeployment == nil {
		t.Errorf("%+v", s)
	}
	refused(b.DescribeTaskSets(b.ctx, &awsecs.DescribeTaskSetsInput{Cluster: aws.String("web"),
		Service: aws.String("api")}))(t,
		invalidParameter,
		"Amazon ECS only supports task set management on services configured to use external deployment controllers.")
	arn := b.deploy("sim/web:v3-noboot")
	if d := b.ends(arn); d.Status != "ROLLBACK_SUCCESSFUL" || *b.service().Deployments[0].Id != *v2.Id {
		t.Errorf("%s", d.Status)
	}
}

func TestSwitchesAreRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	b.rolling(1, breaker(false))
	to := func(c ecstypes.DeploymentControllerType) *awsecs.UpdateServiceInput {
		return &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
			DeploymentController: controller(c)}
	}
	refused(b.UpdateService(b.ctx, to("CODE_DEPLOY")))(t, "UnsupportedFeatureException",
		"Changing the deployment controller from ECS to CODE_DEPLOY: not simulated.")
	refused(b.UpdateService(b.ctx, to("MINE")))(t, invalidParameter,
		"1 validation error detected: Value 'MINE' at 'deploymentController.type' failed to satisfy constraint: "+
			"Member must satisfy enum value set: [ECS, CODE_DEPLOY, EXTERNAL]")
	refused(b.UpdateService(b.ctx, to("EXTERNAL")))(t, invalidParameter,
		"Unable to update the deployment controller from ECS to EXTERNAL: alarms, circuit breaker, early success "+
			"criteria and strategies other than ROLLING are only supported with the ECS deployment controller.")
	b.deploy("sim/web:v2")
	refused(b.UpdateService(b.ctx, to("EXTERNAL")))(t, invalidParameter,
		"Unable to update the deployment controller from ECS to EXTERNAL while a deployment is in progress.")
	b.await("deployed", completed)
	in := to("EXTERNAL")
	in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{}}
	if s := b.update(in); s.DeploymentController.Type != "EXTERNAL" ||
		s.DeploymentConfiguration.DeploymentCircuitBreaker.Enable {
		t.Errorf("%+v", s.DeploymentConfiguration)
	}
}

func TestAServiceWithoutTaskSetsBecomesARollingOne(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(1)
	in := &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DeploymentController: controller("ECS"), ForceNewDeployment: true}
	refused(b.UpdateService(b.ctx, in))(t, invalidParameter, "Family should not be null or empty.")
	in.TaskDefinition, in.NetworkConfiguration, in.LoadBalancers = aws.String(b.register("sim/web:v1")), network(),
		behind(b.blue)
	b.update(in)
	if s := b.await("deployed", completed); s.RunningCount != 1 {
		t.Errorf("%+v", s)
	}
}

func TestANewDefinitionWithTheSwitchRollsFromThePrimary(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(2)
	ts := b.set(b.register("sim/web:v1"), b.blue, 100)
	b.steady(1)
	b.promote(ts)
	v2 := b.register("sim/web:v2")
	s := b.update(&awsecs.UpdateServiceInput{DeploymentController: controller("ECS"), TaskDefinition: &v2})
	if len(s.Deployments) != 2 || *s.Deployments[1].Id != *ts.Id || s.Deployments[1].RolloutState != "COMPLETED" ||
		s.Deployments[0].LaunchType != "FARGATE" {
		t.Errorf("%+v", s.Deployments)
	}
	low := 2
	b.await("deployed", func(s ecstypes.Service) bool {
		b.Do(func(tx *world.Tx) { g, _ := tx.TargetGroups.Get(b.blue); low = min(low, g.Count("healthy")) })
		return completed(s) && *s.TaskDefinition == v2
	})
	if low != 2 {
		t.Errorf("%d healthy targets at least", low)
	}
	b.Run(time.Hour)
}
