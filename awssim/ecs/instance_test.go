package ecs_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// onInstances returns a task definition of that network mode; hostPort 0 is a dynamic one.
func onInstances(mode ecstypes.NetworkMode, image string, hostPort int32) *awsecs.RegisterTaskDefinitionInput {
	return &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String("api"), NetworkMode: mode,
		ContainerDefinitions: []ecstypes.ContainerDefinition{
			{Name: aws.String("web"), Image: aws.String(image), Memory: aws.Int32(128),
				PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080), HostPort: aws.Int32(hostPort)}}},
			{Name: aws.String("agent"), Image: aws.String("agent:7"), Memory: aws.Int32(64), Essential: aws.Bool(false)},
		},
	}
}

// instanceGroup adds a target group of type instance.
func (b *bench) instanceGroup() string {
	arn := b.AddGroup("instances")
	b.Do(func(tx *world.Tx) {
		g, _ := tx.TargetGroups.Get(arn)
		g.TargetType = "instance"
	})
	return arn
}

// instances returns the container instances of the cluster, by ARN.
func (b *bench) instances() map[string]ecstypes.ContainerInstance {
	b.t.Helper()
	all := map[string]ecstypes.ContainerInstance{}
	list := must(b.ListContainerInstances(b.ctx, &awsecs.ListContainerInstancesInput{Cluster: aws.String("web")}))(b.t)
	if len(list.ContainerInstanceArns) == 0 {
		return all
	}
	out := must(b.DescribeContainerInstances(b.ctx, &awsecs.DescribeContainerInstancesInput{
		Cluster: aws.String("web"), ContainerInstances: list.ContainerInstanceArns}))(b.t)
	for _, i := range out.ContainerInstances {
		all[*i.ContainerInstanceArn] = i
	}
	return all
}

// runningTasks returns the RUNNING tasks of the cluster.
func (b *bench) runningTasks() (all []ecstypes.Task) {
	b.t.Helper()
	list := must(b.ListTasks(b.ctx, &awsecs.ListTasksInput{Cluster: aws.String("web")}))(b.t)
	if len(list.TaskArns) == 0 {
		return nil
	}
	for _, t := range must(b.DescribeTasks(b.ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("web"),
		Tasks: list.TaskArns}))(b.t).Tasks {
		if *t.LastStatus == "RUNNING" {
			all = append(all, t)
		}
	}
	return all
}

func onEC2(definition string, count int32, group string) *awsecs.CreateServiceInput {
	in := rollingInput(definition, count, group)
	in.LaunchType, in.NetworkConfiguration = "EC2", nil
	if group == "" {
		in.LoadBalancers = nil
	}
	return in
}

// Tasks in bridge mode get host ports of their container instances, and are registered as instances.
func TestBridgeTasksAreRegisteredByHostPort(t *testing.T) {
	b := newBench(t, world.Options{})
	group := b.instanceGroup()
	must(b.RegisterTaskDefinition(b.ctx, onInstances("bridge", "shop/api:v1", 0)))(t)
	if n := len(b.instances()); n != 0 {
		t.Errorf("%d instances before the first task", n)
	}
	must(b.CreateService(b.ctx, onEC2("api:1", 5, group)))(t)
	b.await("deployment", func(s ecstypes.Service) bool { return completed(s) && s.RunningCount == 5 })
	hosts, want := b.instances(), map[string]bool{}
	for _, x := range b.runningTasks() {
		host, ok := hosts[aws.ToString(x.ContainerInstanceArn)]
		bindings := x.Containers[0].NetworkBindings
		if !ok || len(bindings) != 1 || len(x.Attachments) != 0 || len(x.Containers) != 2 {
			t.Fatalf("%+v", x)
		}
		// Automatically assigned ports are not reserved (API Reference, PortMapping, hostPort).
		for _, r := range host.RemainingResources {
			if *r.Name == "PORTS" && len(r.StringSetValue) != 5 {
				t.Errorf("reserved ports %v", r.StringSetValue)
			}
		}
		p := bindings[0]
		if *p.ContainerPort != 8080 || *p.HostPort < 32768 || host.CapacityProviderName != nil {
			t.Errorf("%+v on %+v", p, host)
		}
		want[fmt.Sprintf("%s:%d", *host.Ec2InstanceId, *p.HostPort)] = true
	}
	got := map[string]bool{}
	b.Do(func(tx *world.Tx) {
		g, _ := tx.TargetGroups.Get(group)
		for _, x := range g.Targets {
			got[fmt.Sprintf("%s:%d", x.ID, x.Port)] = x.State == "healthy"
		}
	})
	if len(want) != 5 || !maps.Equal(got, want) {
		t.Errorf("targets %v, want %v", got, want)
	}
}

func TestHostPortsAreTakenOnce(t *testing.T) {
	for _, d := range []*awsecs.RegisterTaskDefinitionInput{onInstances("bridge", "web:1", 80),
		onInstances("host", "web:1", 8080)} {
		b := newBench(t, world.Options{})
		must(b.RegisterTaskDefinition(b.ctx, d))(t)
		in := onEC2("api:1", 4, "")
		must(b.CreateService(b.ctx, in))(t)
		b.Run(5 * time.Minute)
		used := map[string]int{}
		for _, x := range b.runningTasks() {
			used[*x.ContainerInstanceArn]++
		}
		const why = "is already using a port required by your task."
		if s := b.service(); len(used) != 3 || s.RunningCount != 3 ||
			!slices.ContainsFunc(s.Events, func(e ecstypes.ServiceEvent) bool {
				return strings.Contains(*e.Message, "no container instance met all of its requirements") &&
					strings.Contains(*e.Message, why)
			}) {
			t.Errorf("%s: %v, %+v", d.NetworkMode, used, s.Events)
		}
		out := must(b.RunTask(b.ctx, &awsecs.RunTaskInput{Cluster: aws.String("web"),
			TaskDefinition: aws.String("api"), LaunchType: "EC2"}))(t)
		if len(out.Failures) != 1 || *out.Failures[0].Reason != "RESOURCE:PORTS" {
			t.Errorf("%+v", out)
		}
	}
}

// A daemon runs once on each container instance; a new revision replaces the tasks in place, although
// the port can have only one user.
func TestADaemonRunsOnEachInstance(t *testing.T) {
	b := newBench(t, world.Options{})
	b.Do(func(tx *world.Tx) {
		c, _ := tx.Clusters.Get("web")
		b.room.Scheduler().RegisterInstances(tx, c, 5, world.Size{})
	})
	must(b.RegisterTaskDefinition(b.ctx, onInstances("host", "log/agent:1", 8080)))(t)
	in := onEC2("api:1", 0, "")
	in.DesiredCount, in.SchedulingStrategy = nil, "DAEMON"
	in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{
		DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: true, Rollback: true}}
	s := must(b.CreateService(b.ctx, in))(t).Service
	if s.SchedulingStrategy != "DAEMON" || s.DesiredCount != 5 || *s.DeploymentConfiguration.MaximumPercent != 100 ||
		*s.DeploymentConfiguration.MinimumHealthyPercent != 0 {
		t.Errorf("%+v", s)
	}
	for revision := range 2 {
		if revision > 0 {
			must(b.RegisterTaskDefinition(b.ctx, onInstances("host", "log/agent:2", 8080)))(t)
			b.update(&awsecs.UpdateServiceInput{TaskDefinition: aws.String("api:2")})
		}
		s := b.await("deployment", func(s ecstypes.Service) bool { return completed(s) && s.RunningCount == 5 })
		used := map[string]bool{}
		for _, x := range b.runningTasks() {
			used[*x.ContainerInstanceArn] = true
		}
		if want := fmt.Sprintf("api:%d", revision+1); len(used) != 5 || !strings.HasSuffix(*s.TaskDefinition, want) ||
			len(s.Deployments) != 1 || s.Deployments[0].FailedTasks != 0 {
			t.Errorf("revision %d: %d instances, %+v", revision+1, len(used), s)
		}
		for _, e := range s.Events {
			if strings.Contains(*e.Message, "unable to place") {
				t.Errorf("revision %d: %s", revision+1, *e.Message)
			}
		}
	}
	refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DesiredCount: aws.Int32(3)}))(t, invalidParameter,
		"The daemon scheduling strategy does not support a desired count for services. Remove the desired count "+
			"value and try again")
	refused(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{MaximumPercent: aws.Int32(200)}}))(t,
		invalidParameter, "maximumPercent must be 100 for services with the DAEMON scheduling strategy.")
	list := must(b.ListServices(b.ctx, &awsecs.ListServicesInput{Cluster: aws.String("web"),
		SchedulingStrategy: "DAEMON"}))(t)
	if len(list.ServiceArns) != 1 {
		t.Errorf("%v", list.ServiceArns)
	}
}

func TestTasksAreSharedByTheStrategy(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("web:1")
	items := []ecstypes.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE"), Base: 2, Weight: 1},
		{CapacityProvider: aws.String("FARGATE_SPOT"), Weight: 3}}
	must(b.PutClusterCapacityProviders(b.ctx, &awsecs.PutClusterCapacityProvidersInput{Cluster: aws.String("web"),
		CapacityProviders:               []string{"FARGATE", "FARGATE_SPOT"},
		DefaultCapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{}}))(t)
	in := rollingInput("api:1", 10, b.blue)
	in.LaunchType, in.CapacityProviderStrategy = "", items
	if s := must(b.CreateService(b.ctx, in))(t).Service; s.LaunchType != "" || len(s.CapacityProviderStrategy) != 2 {
		t.Errorf("%+v", s)
	}
	b.await("deployment", func(s ecstypes.Service) bool { return completed(s) && s.RunningCount == 10 })
	got := map[string]int{}
	for _, x := range b.runningTasks() {
		if got[*x.CapacityProviderName]++; x.LaunchType != "FARGATE" {
			t.Errorf("%+v", x)
		}
	}
	if got["FARGATE"] != 4 || got["FARGATE_SPOT"] != 6 {
		t.Errorf("%v, want 2 of the base and then 1 to 3", got)
	}
	for text, bad := range map[string][]ecstypes.CapacityProviderStrategyItem{
		"The capacity provider base must be between 0 and 100000.": {{CapacityProvider: aws.String("FARGATE"), Base: 100001}},
		"At least one capacity provider in a capacity provider strategy must have a weight greater than 0.": {
			{CapacityProvider: aws.String("FARGATE")}, {CapacityProvider: aws.String("FARGATE_SPOT")}},
		"A capacity provider can only be specified once in a capacity provider strategy: FARGATE.": {items[0], items[0]},
		"The specified capacity provider strategy cannot contain a capacity provider that is not associated with the " +
			"cluster. Associate the capacity provider with the cluster or specify a valid capacity provider and try again.": {
			items[0], {CapacityProvider: aws.String("instances"), Weight: 1}},
	} {
		in.CapacityProviderStrategy, in.ServiceName = bad, aws.String("other")
		refused(b.CreateService(b.ctx, in))(t, invalidParameter, text)
	}
}

// An empty strategy leads back to the launch type with which the service was created.
func TestAnEmptyStrategyRestoresTheLaunchType(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("web:1")
	must(b.PutClusterCapacityProviders(b.ctx, &awsecs.PutClusterCapacityProvidersInput{Cluster: aws.String("web"),
		CapacityProviders:               []string{"FARGATE", "FARGATE_SPOT"},
		DefaultCapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{}}))(t)
	spot := []ecstypes.CapacityProviderStrategyItem{{CapacityProvider: aws.String("FARGATE_SPOT"), Weight: 1}}
	in := rollingInput("api:1", 2, b.blue)
	must(b.CreateService(b.ctx, in))(t)
	update := &awsecs.UpdateServiceInput{Cluster: in.Cluster, Service: in.ServiceName, ForceNewDeployment: true}
	for _, c := range []struct {
		strategy []ecstypes.CapacityProviderStrategyItem
		launch   ecstypes.LaunchType
	}{{spot, ""}, {[]ecstypes.CapacityProviderStrategyItem{}, "FARGATE"}} {
		b.await("deployment", completed)
		update.CapacityProviderStrategy = c.strategy
		s := must(b.UpdateService(b.ctx, update))(t).Service
		if s.LaunchType != c.launch || len(s.CapacityProviderStrategy) != len(c.strategy) {
			t.Errorf("%q and %v, want %q and %v", s.LaunchType, s.CapacityProviderStrategy, c.launch, c.strategy)
		}
	}
	in.ServiceName, in.LaunchType, in.CapacityProviderStrategy, in.LoadBalancers = aws.String("spot"), "", spot, nil
	must(b.CreateService(b.ctx, in))(t)
	update.Service = in.ServiceName
	refused(b.UpdateService(b.ctx, update))(t, invalidParameter,
		"No launch type to fall back to for empty capacity provider strategy. Your service was not created with a launch type.")
}

func TestGroupsFitTheNetworkMode(t *testing.T) {
	b := newBench(t, world.Options{})
	must(b.RegisterTaskDefinition(b.ctx, onInstances("bridge", "web:1", 0)))(t)
	refused(b.CreateService(b.ctx, onEC2("api:1", 1, b.blue)))(t, invalidParameter,
		"The provided target group "+b.blue+" has target type ip, which is incompatible with the bridge network mode "+
			"specified in the task definition.")
	in := onEC2("api:1", 1, b.instanceGroup())
	in.LaunchType = "FARGATE"
	refused(b.CreateService(b.ctx, in))(t, invalidParameter, "Task definition does not support launch_type FARGATE.")
}

func TestThePollEndpointIsOfTheRegion(t *testing.T) {
	b := newBench(t, world.Options{})
	out := must(b.DiscoverPollEndpoint(b.ctx, &awsecs.DiscoverPollEndpointInput{Cluster: aws.String("web")}))(t)
	if *out.Endpoint != "https://ecs-a-1.eu-west-1.amazonaws.com/" || out.TelemetryEndpoint == nil {
		t.Errorf("%+v", out)
	}
	refused(b.DiscoverPollEndpoint(b.ctx, &awsecs.DiscoverPollEndpointInput{Cluster: aws.String("none")}))(t,
		"ClusterNotFoundException", "Cluster not found.")
}
