package ecs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestExternalServicesRefuseWhatBelongsToTaskSets(t *testing.T) {
	b := newBench(t, world.Options{})
	v1 := b.register("sim/web:v1")
	for _, c := range []struct {
		text string
		edit func(*awsecs.CreateServiceInput)
	}{
		{"LoadBalancers must be empty or null.",
			func(in *awsecs.CreateServiceInput) { in.LoadBalancers = behind(b.blue) }},
		{"TaskDefinition must be empty or null.", func(in *awsecs.CreateServiceInput) { in.TaskDefinition = &v1 }},
		{"NetworkConfiguration must be empty or null.",
			func(in *awsecs.CreateServiceInput) { in.NetworkConfiguration = network() }},
		{"LaunchType must be empty or null.", func(in *awsecs.CreateServiceInput) { in.LaunchType = "FARGATE" }},
		{"Both maximumPercent and minimumHealthyPercent cannot be 100 as this will block deployments.",
			func(in *awsecs.CreateServiceInput) {
				in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{MinimumHealthyPercent: aws.Int32(100),
					MaximumPercent: aws.Int32(100)}
			}},
		{"The EXTERNAL deployment controller only supports the REPLICA scheduling strategy.",
			func(in *awsecs.CreateServiceInput) { in.SchedulingStrategy = "DAEMON" }},
	} {
		in := externalInput(1)
		c.edit(in)
		refused(b.CreateService(b.ctx, in))(t, invalidParameter, c.text)
	}
	in := externalInput(1)
	in.EnableExecuteCommand, in.PlatformVersion, in.HealthCheckGracePeriodSeconds = true, aws.String("1.4.0"),
		aws.Int32(30)
	s := must(b.CreateService(b.ctx, in))(t).Service
	if !s.EnableExecuteCommand || *s.HealthCheckGracePeriodSeconds != 30 ||
		*s.DeploymentConfiguration.MaximumPercent != 200 || s.SchedulingStrategy != "REPLICA" {
		t.Errorf("%+v", s)
	}
}

func TestExternalServicesRefuseUpdatesOfTaskSets(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(1)
	for _, c := range []struct {
		text string
		edit func(*awsecs.UpdateServiceInput)
	}{
		{"Cannot force a new deployment on services with a EXTERNAL deployment controller.",
			func(in *awsecs.UpdateServiceInput) { in.ForceNewDeployment = true }},
		{"Unable to update task definition on services with a EXTERNAL deployment controller.",
			func(in *awsecs.UpdateServiceInput) { in.TaskDefinition = aws.String("api") }},
		{"Unable to update load balancers on services with a EXTERNAL deployment controller.",
			func(in *awsecs.UpdateServiceInput) { in.LoadBalancers = []ecstypes.LoadBalancer{} }},
	} {
		in := &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api")}
		c.edit(in)
		refused(b.UpdateService(b.ctx, in))(t, invalidParameter, c.text)
	}
	s := must(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		EnableExecuteCommand:          aws.Bool(true),
		HealthCheckGracePeriodSeconds: aws.Int32(9), PropagateTags: "SERVICE",
		EnableECSManagedTags: aws.Bool(true)}))(t).Service
	if !s.EnableExecuteCommand || *s.HealthCheckGracePeriodSeconds != 9 || s.PropagateTags != "SERVICE" ||
		s.DesiredCount != 1 {
		t.Errorf("%+v", s)
	}
}

// 5,000 tasks are the quota of a service: more of them would take the memory of the
// machine.
func TestTasksPerServiceAreLimited(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(1)
	in := externalInput(1)
	in.ServiceName, in.DesiredCount = aws.String("other"), aws.Int32(5001)
	refused(b.CreateService(b.ctx, in))(t, invalidParameter,
		"Desired count can not be more than 5000, the quota of tasks per service.")
	update := &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DesiredCount: aws.Int32(100_000_000)}
	refused(b.UpdateService(b.ctx, update))(t, invalidParameter,
		"Desired count can not be more than 5000, the quota of tasks per service.")

	out := must(b.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
		Services: []string{"../api", "web/api"}}))(t)
	if len(out.Services) != 0 || len(out.Failures) != 2 || *out.Failures[0].Reason != "MISSING" {
		t.Errorf("%+v", out)
	}
}

func TestCreateServiceTwice(t *testing.T) {
	b := newBench(t, world.Options{})
	first := b.external(1)
	again := must(b.CreateService(b.ctx, externalInput(1)))(t).Service
	if !again.CreatedAt.Equal(*first.CreatedAt) {
		t.Error("the same parameters made another service")
	}
	refused(b.CreateService(b.ctx, externalInput(2)))(t, invalidParameter, "Creation of service was not idempotent.")
	b.set(b.register("sim/web:v1"), b.blue, 100)
	b.steady(1)
	del := &awsecs.DeleteServiceInput{Cluster: aws.String("web"), Service: aws.String("api")}
	refused(b.DeleteService(b.ctx, del))(t, invalidParameter,
		"The service cannot be stopped while it is scaled above 0.")
	must(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DesiredCount: aws.Int32(0)}))(t)
	refused(b.DeleteService(b.ctx, del))(t, invalidParameter,
		"The service cannot be stopped while deployments are active.")
	del.Force = aws.Bool(true)
	if s := must(b.DeleteService(b.ctx, del))(t).Service; *s.Status != "DRAINING" {
		t.Errorf("deleted: %s", *s.Status)
	}
	refused(b.CreateService(b.ctx, externalInput(1)))(t, invalidParameter,
		"Unable to Start a service that is still Draining.")
	refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"),
		Service: aws.String("api")}))(t, "ServiceNotActiveException", "Service was not ACTIVE.")
	refused(b.DeleteService(b.ctx, del))(t, "ServiceNotFoundException", "Service not found.")
	if out := must(b.ListServices(b.ctx,
		&awsecs.ListServicesInput{Cluster: aws.String("web")}))(t); len(out.ServiceArns) != 0 {
		t.Error("a draining service is listed")
	}
	b.await("INACTIVE", func(s ecstypes.Service) bool { return *s.Status == "INACTIVE" })
	reborn := b.external(3)
	if *reborn.ServiceArn != *first.ServiceArn || !reborn.CreatedAt.After(*first.CreatedAt) || len(reborn.Events) != 0 {
		t.Errorf("made again: %+v", reborn)
	}
	b.Run(3 * time.Hour)
	if *b.service().Status != "ACTIVE" {
		t.Error("the new service went with the old one")
	}
}

func TestDescribeAndListServices(t *testing.T) {
	b := newBench(t, world.Options{})
	for i := range 23 {
		in := externalInput(0)
		in.ServiceName = aws.String(fmt.Sprintf("s%02d", i))
		must(b.CreateService(b.ctx, in))(t)
	}
	var all []string
	pages := awsecs.NewListServicesPaginator(b.Client, &awsecs.ListServicesInput{Cluster: aws.String("web")})
	n := 0
	for ; pages.HasMorePages(); n++ {
		all = append(all, must(pages.NextPage(b.ctx))(t).ServiceArns...)
	}
	if len(all) != 23 || n != 3 {
		t.Errorf("%d services on %d pages", len(all), n)
	}
	out := must(b.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
		Services: []string{all[0], "s01", "nobody"}}))(t)
	if len(out.Services) != 2 || *out.Failures[0].Arn != "arn:aws:ecs:eu-west-1:123456789012:service/nobody" ||
		*out.Failures[0].Reason != "MISSING" {
		t.Errorf("%d services, failures %v", len(out.Services), out.Failures)
	}
	refused(b.DescribeServices(b.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"), Services: all[:11]}))(t,
		invalidParameter, "Services cannot have more than 10 elements.")
	refused(b.ListServices(b.ctx, &awsecs.ListServicesInput{Cluster: aws.String("web"), NextToken: aws.String("?")}))(t,
		invalidParameter, "Invalid token.")
	refused(b.DeleteCluster(b.ctx, &awsecs.DeleteClusterInput{Cluster: aws.String("web")}))(t,
		"ClusterContainsServicesException", "The Cluster cannot be deleted while Services are active.")
}

func TestARollingUpdateThroughTheAPI(t *testing.T) {
	b := newBench(t, world.Options{})
	v1, v2 := b.register("sim/web:v1"), b.register("sim/web:v2")
	in := rollingInput(v1, 2, b.blue)
	in.Tags, in.PropagateTags, in.EnableECSManagedTags = []ecstypes.Tag{{Key: aws.String("team"),
		Value: aws.String("a")}}, "SERVICE", true
	s := *must(b.CreateService(b.ctx, in))(t).Service
	if d := s.Deployments[0]; *d.Status != "PRIMARY" || d.RolloutState != "IN_PROGRESS" || d.DesiredCount != 2 ||
		s.TaskSets != nil || s.CurrentServiceDeployment == nil {
		t.Errorf("%+v", s)
	}
	done := func(s ecstypes.Service) bool {
		return len(s.Deployments) == 1 && s.Deployments[0].RolloutState == "COMPLETED"
	}
	b.await("first deployment", done)
	s = *must(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		TaskDefinition: aws.String("api")}))(t).Service
	if len(s.Deployments) != 2 || *s.Deployments[0].TaskDefinition != v2 || *s.Deployments[1].Status != "ACTIVE" ||
		*s.TaskDefinition != v2 {
		t.Errorf("%+v", s.Deployments)
	}
	s = b.await("second deployment", done)
	if s.RunningCount != 2 ||
		*s.Deployments[0].RolloutStateReason != "ECS deployment "+*s.Deployments[0].Id+" completed." {
		t.Errorf("%+v", s)
	}
	list := must(b.ListServiceDeployments(b.ctx, &awsecs.ListServiceDeploymentsInput{Cluster: aws.String("web"),
		Service: aws.String("api")}))(t).ServiceDeployments
	if len(list) != 2 || list[0].Status != "SUCCESSFUL" || list[1].Status != "SUCCESSFUL" ||
		*list[0].ServiceDeploymentArn != *s.CurrentServiceDeployment {
		t.Errorf("%+v", list)
	}
	d := must(b.DescribeServiceDeployments(b.ctx,
		&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{*list[0].ServiceDeploymentArn}}))(
		t).ServiceDeployments[0]
	if len(d.SourceServiceRevisions) != 1 || *d.SourceServiceRevisions[0].Arn != *list[1].TargetServiceRevisionArn ||
		d.TargetServiceRevision.RunningTaskCount != 2 {
		t.Errorf("%+v", d)
	}
	r := must(b.DescribeServiceRevisions(b.ctx,
		&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{*list[0].TargetServiceRevisionArn}}))(
		t).ServiceRevisions[0]
	if *r.TaskDefinition != v2 || *r.ContainerImages[0].Image != "sim/web:v2" {
		t.Errorf("%+v", r)
	}
	tasks := must(b.ListTasks(b.ctx, &awsecs.ListTasksInput{Cluster: aws.String("web"),
		ServiceName: aws.String("api")}))(t).TaskArns
	one := must(b.DescribeTasks(b.ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("web"), Tasks: tasks,
		Include: []ecstypes.TaskField{"TAGS"}}))(t).Tasks[0]
	var tags []string
	for _, x := range one.Tags {
		tags = append(tags, *x.Key+"="+*x.Value)
	}
	if strings.Join(tags, " ") != "team=a aws:ecs:clusterName=web aws:ecs:serviceName=api" {
		t.Errorf("tags of a task: %v", tags)
	}
}

func TestAnOvertakenDeploymentIsStopped(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/web:v1")
	must(b.CreateService(b.ctx, rollingInput("api:1", 1, b.blue)))(t)
	b.await("first deployment", func(s ecstypes.Service) bool { return s.Deployments[0].RolloutState == "COMPLETED" })
	bad, good := b.register("sim/web:v2-noboot"), b.register("sim/web:v3")
	update := func(d string) {
		must(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
			TaskDefinition: &d}))(t)
	}
	update(bad)
	b.Run(2 * time.Minute)
	update(good)
	b.await("third deployment", func(s ecstypes.Service) bool {
		return len(s.Deployments) == 1 && s.Deployments[0].RolloutState == "COMPLETED" && *s.TaskDefinition == good
	})
	var got []string
	for _, d := range must(b.ListServiceDeployments(b.ctx,
		&awsecs.ListServiceDeploymentsInput{Cluster: aws.String("web"),
			Service: aws.String("api")}))(t).ServiceDeployments {
		got = append(got, string(d.Status))
	}
	if strings.Join(got, " ") != "SUCCESSFUL STOPPED SUCCESSFUL" {
		t.Errorf("deployments %v", got)
	}
}

func TestRollingServicesAreRefusedInAWSsWords(t *testing.T) {
	b := newBench(t, world.Options{})
	v1 := b.register("sim/web:v1")
	in := rollingInput("", 1, b.blue)
	refused(b.CreateService(b.ctx, in))(t, invalidParameter, "Family should not be null or empty.")
	in = rollingInput(v1, 1, b.blue)
	in.SchedulingStrategy = "DAEMON"
	refused(b.CreateService(b.ctx, in))(t, invalidParameter,
		"The daemon scheduling strategy does not support a desired count for services. Remove the desired count "+
			"value and try again")
	in = rollingInput(v1, 1, b.blue)
	in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{LifecycleHooks: []ecstypes.DeploymentLifecycleHook{{}}}
	refused(b.CreateService(b.ctx, in))(t, "UnsupportedFeatureException",
		"Lifecycle hooks of rolling deployments: not simulated.")
	in.DeploymentConfiguration = nil
	in.DeploymentController, in.LoadBalancers = &ecstypes.DeploymentController{Type: "CODE_DEPLOY"}, nil
	refused(b.CreateService(b.ctx, in))(t, invalidParameter,
		"Services with a CODE_DEPLOY deployment controller must have exactly one load balancer.")
	in = rollingInput(v1, 1, b.blue)
	in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: true, Rollback: true}}
	if s := must(b.CreateService(b.ctx, in))(t).Service; !s.DeploymentConfiguration.DeploymentCircuitBreaker.Rollback {
		t.Error("the circuit breaker is not echoed")
	}
	refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DeploymentController: &ecstypes.DeploymentController{Type: "EXTERNAL"}}))(t, invalidParameter,
		"Unable to update the deployment controller from ECS to EXTERNAL while a deployment is in progress.")
}
