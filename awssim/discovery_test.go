package awssim_test

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"

	"github.com/sluice-ecs/sluice/awssim"
)

const apiARN = "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef"

func discoveryFile(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("../examples/discovery/world.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// names is a simulator with the world of examples/discovery, and its clients.
type names struct {
	*awssim.Sim
	t     testing.TB
	clock *hands
	ecs   *awsecs.Client
	sd    *awssd.Client
}

func newNames(t testing.TB, o awssim.Options, more string) *names {
	clock := newHands()
	o.Clock = clock
	s := newSim(t, o)
	load(t, s, discoveryFile(t)+more)
	return &names{s, t, clock, awsecs.NewFromConfig(s.Config()), awssd.NewFromConfig(s.Config())}
}

func (n *names) pass(d time.Duration) {
	for end := n.clock.Now().Add(d); n.clock.Now().Before(end); {
		n.clock.move(time.Second)
		n.World().Advance()
	}
}

// found are the instances of api.shop.local by id.
func (n *names) found() map[string]map[string]string {
	n.t.Helper()
	out, err := n.sd.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: aws.String("srv-0123456789abcdef")})
	if err != nil {
		n.t.Fatal(err)
	}
	all := map[string]map[string]string{}
	for _, i := range out.Instances {
		all[*i.Id] = i.Attributes
	}
	return all
}

func (n *names) health() map[string]string {
	n.t.Helper()
	out, err := n.sd.GetInstancesHealthStatus(ctx,
		&awssd.GetInstancesHealthStatusInput{ServiceId: aws.String("srv-0123456789abcdef")})
	if err != nil {
		n.t.Fatal(err)
	}
	all := map[string]string{}
	for id, h := range out.Status {
		all[id] = string(h)
	}
	return all
}

// tasks are the ids of the service's tasks with that last status.
func (n *names) tasks(status string) (ids []string) {
	for _, set := range n.View().Regions[0].Clusters[0].Services[0].TaskSets {
		for _, t := range set.Tasks {
			if t.Status == status {
				ids = append(ids, t.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func TestECSRegistersItsTasks(t *testing.T) {
	n := newNames(t, awssim.Options{}, "")
	running := n.tasks("RUNNING")
	if got := sorted(n.found()); len(got) != 4 || !slices.Equal(got, running) {
		t.Fatalf("registered %v, running %v", got, running)
	}
	a := n.found()[running[0]]
	for k, want := range map[string]string{"ECS_SERVICE_NAME": "api", "ECS_CLUSTER_NAME": "prod",
		"ECS_TASK_DEFINITION_FAMILY": "api",
		"REGION":                     "us-east-1", "AWS_INIT_HEALTH_STATUS": "HEALTHY", "AWS_INSTANCE_PORT": "",
		"ECS_TASK_SET_EXTERNAL_ID": ""} {
		if a[k] != want {
			t.Errorf("%s is %q", k, a[k])
		}
	}
	if !strings.HasPrefix(a["AVAILABILITY_ZONE"], "us-east-1") || !strings.HasPrefix(a["AWS_INSTANCE_IPV4"],
		"127.16.") || len(a) != 7 {
		t.Errorf("%v", a)
	}
	if _, err := n.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service: aws.String("api"), DesiredCount: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	for range 60 {
		n.pass(time.Second)
		for _, id := range sorted(n.found()) {
			if !slices.Contains(n.tasks("RUNNING"), id) {
				t.Fatalf("%s is registered and does not run", id)
			}
		}
	}
	if got := sorted(n.found()); !slices.Equal(got, n.tasks("RUNNING")) || len(got) != 1 {
		t.Errorf("after scaling in %v", got)
	}
}

// A task that leaves is deregistered before its stop signal, which waits for no TTL.
func TestTheStopSignalWaitsForNoTTL(t *testing.T) {
	n := newNames(t, awssim.Options{}, "")
	_, _ = n.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("api"),
		DesiredCount: aws.Int32(3)})
	n.pass(2 * time.Minute)
	out, gone := "", time.Time{}
	for _, e := range n.World().Entries() {
		switch {
		case e.Kind == "instance" && strings.Contains(e.Text, "deregistered"):
			gone = e.At
		case e.Kind == "task" && strings.Contains(e.Text, "-> STOPPING"):
			if d := e.At.Sub(gone); d < 0 || d > 5*time.Second {
				t.Errorf("the signal came %s after the deregistration", d)
			}
			out += e.Text
		}
	}
	if out == "" {
		t.Error("no task was stopped")
	}
}

func TestAContainerCheckHoldsTheRecordUnhealthy(t *testing.T) {
	n := newNames(t, awssim.Options{}, "")
	if _, err := n.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service:        aws.String("api"),
		TaskDefinition: n.define("shop/api:v2", 10)}); err != nil {
		t.Fatal(err)
	}
	before, held := n.found(), map[string]int{}
	for range 300 {
		n.pass(time.Second)
		for id, h := range n.health() {
			if _, old := before[id]; !old && h == "UNHEALTHY" {
				held[id]++
			}
		}
	}
	if len(held) < 4 {
		t.Fatalf("held back: %v", held)
	}
	for id, s := range held {
		if s < 8 || s > 16 {
			t.Errorf("%s was UNHEALTHY for %d s", id, s)
		}
	}
	for id, h := range n.health() {
		if h != "HEALTHY" || before[id] != nil {
			t.Errorf("%s is %s", id, h)
		}
	}
	if i := n.found()[sorted(held)[0]]; i["AWS_INIT_HEALTH_STATUS"] != "UNHEALTHY" {
		t.Errorf("%v", i)
	}
}

// define registers a revision of api with a container health check.
func (n *names) define(image string, every int32) *string {
	n.t.Helper()
	out, err := n.ecs.RegisterTaskDefinition(ctx, &awsecs.RegisterTaskDefinitionInput{
		Family: aws.String("api"), NetworkMode: "awsvpc", RequiresCompatibilities: []ecstypes.Compatibility{"FARGATE"},
		Cpu: aws.String("256"), Memory: aws.String("512"),
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("api"), Image: aws.String(image),
			Essential:    aws.Bool(true),
			HealthCheck:  &ecstypes.HealthCheck{Command: []string{"CMD", "true"}, Interval: aws.Int32(every)},
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080)}}}},
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return out.TaskDefinition.TaskDefinitionArn
}

func (n *names) takeOut(id string) {
	n.t.Helper()
	if _, err := n.sd.DeregisterInstance(ctx,
		&awssd.DeregisterInstanceInput{ServiceId: aws.String("srv-0123456789abcdef"), InstanceId: &id}); err != nil {
		n.t.Fatal(err)
	}
}

// AWS does not say what ECS does about an instance that somebody took out.
func TestAnInstanceDeregisteredByAUser(t *testing.T) {
	for restores, want := range map[bool]int{false: 3, true: 4} {
		n := newNames(t, awssim.Options{}, fmt.Sprintf("knobs: {ecsRestoresInstances: %v}\n", restores))
		id := sorted(n.found())[0]
		old := n.found()[id]
		n.takeOut(id)
		n.pass(6 * time.Second)
		n.pass(time.Minute)
		if got := n.found(); len(got) != want || len(n.tasks("RUNNING")) != 4 {
			t.Errorf("restores %v: %d instances", restores, len(got))
		} else if restores && !maps.Equal(got[id], old) {
			t.Errorf("put back as %v, was %v", got[id], old)
		}
	}
}

func TestAnAsynchronousOperationFails(t *testing.T) {
	n := newNames(t, awssim.Options{}, "")
	if err := n.Inject("failed-operation servicediscovery:Deregister* times=1"); err != nil {
		t.Fatal(err)
	}
	id := sorted(n.found())[0]
	for _, want := range []int{4, 3} {
		n.takeOut(id)
		n.pass(6 * time.Second)
		if got := n.found(); len(got) != want {
			t.Errorf("%d instances, want %d", len(got), want)
		}
	}
	if f := n.Faults(); f[0].Struck != 1 || !f[0].Over {
		t.Errorf("%+v", f)
	}
}

const taskSets = `
clusters: [prod]
namespaces: [{name: shop.local, services: [{name: api, records: {SRV: 10s}}]}]
services: [{name: api, controller: EXTERNAL, count: 2, image: "sim/api:v1", port: 8080, registry: api.shop.local, containerCheck: 5s}]
`

func TestTaskSetsCarryTheirExternalID(t *testing.T) {
	for restores, steady := range map[bool]string{false: "STEADY_STATE", true: "STABILIZING"} {
		clock := newHands()
		s := newSim(t, awssim.Options{Clock: clock})
		load(t, s, taskSets+fmt.Sprintf("knobs: {ecsRestoresInstances: %v, schedulerLoop: 5s}\n", restores))
		n := &names{s, t, clock, awsecs.NewFromConfig(s.Config()), awssd.NewFromConfig(s.Config())}
		svc, _ := n.ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"api"}})
		first := svc.Services[0].TaskSets[0]
		if first.StabilityStatus != "STEADY_STATE" || *first.ServiceRegistries[0].Port != 8080 {
			t.Fatalf("%+v", first)
		}
		_, err := n.ecs.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
			Service: aws.String("api"), TaskDefinition: first.TaskDefinition,
			ExternalId: aws.String("canary-1"), LaunchType: "FARGATE", NetworkConfiguration: first.NetworkConfiguration,
			ServiceRegistries: first.ServiceRegistries})
		if err != nil {
			t.Fatal(err)
		}
		n.pass(3 * time.Minute)
		out, err := n.sd.DiscoverInstances(ctx, &awssd.DiscoverInstancesInput{NamespaceName: aws.String("shop.local"),
			ServiceName:  aws.String("api"),
			HealthStatus: "HEALTHY", QueryParameters: map[string]string{"ECS_TASK_SET_EXTERNAL_ID": "canary-1"}})
		if err != nil || len(out.Instances) != 2 || out.Instances[0].Attributes["AWS_INSTANCE_PORT"] != "8080" {
			t.Fatalf("%+v %v", out, err)
		}
		list, _ := n.sd.ListServices(ctx, &awssd.ListServicesInput{})
		if _, err := n.sd.DeregisterInstance(ctx, &awssd.DeregisterInstanceInput{ServiceId: list.Services[0].Id,
			InstanceId: out.Instances[0].InstanceId}); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for range 20 {
			n.pass(time.Second)
			got, _ := n.ecs.DescribeTaskSets(ctx, &awsecs.DescribeTaskSetsInput{Cluster: aws.String("prod"),
				Service: aws.String("api")})
			seen[string(got.TaskSets[1].StabilityStatus)] = true
		}
		if !seen[steady] || !restores && len(seen) > 1 {
			t.Errorf("restores %v: %v", restores, seen)
		}
	}
}

func TestECSRefusesRegistries(t *testing.T) {
	n := newNames(t, awssim.Options{}, "")
	update := func(r ...ecstypes.ServiceRegistry) error {
		_, err := n.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("api"), ServiceRegistries: r})
		return err
	}
	ok := ecstypes.ServiceRegistry{RegistryArn: aws.String(apiARN)}
	for want, err := range map[string]error{
		"at most 1 items": update(ok, ok),
		"not found":       update(ecstypes.ServiceRegistry{RegistryArn: aws.String(apiARN + "0")}),
		"but not both": update(ecstypes.ServiceRegistry{RegistryArn: aws.String(apiARN),
			ContainerName: aws.String("api"), ContainerPort: aws.Int32(8080), Port: aws.Int32(8080)}),
		"does not exist": update(ecstypes.ServiceRegistry{RegistryArn: aws.String(apiARN),
			ContainerName: aws.String("x"), ContainerPort: aws.Int32(8080)}),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := update([]ecstypes.ServiceRegistry{}...); err != nil {
		t.Fatal(err)
	}
	n.pass(5 * time.Minute)
	if got := n.found(); len(got) != 0 || len(n.tasks("RUNNING")) != 4 {
		t.Errorf("after the registry was taken away %v", got)
	}
}

// The name is never without a record through a rolling update, whatever the gap.
func TestARollingUpdateKeepsTheNameFilled(t *testing.T) {
	n := newNames(t, awssim.Options{}, "knobs: {registrationGap: 20s}\n")
	_, _ = n.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("api"),
		TaskDefinition: n.define("shop/api:v2", 5)})
	healthy, fewest := 4, 4
	for range 300 {
		n.pass(time.Second)
		healthy = 0
		for _, h := range n.health() {
			if h == "HEALTHY" {
				healthy++
			}
		}
		fewest = min(fewest, healthy)
		if len(n.found()) == 0 {
			t.Fatal("the name is empty")
		}
	}
	if fewest > 0 || healthy != 4 {
		t.Errorf("the gap leaves %d healthy records, at the end there are %d", fewest, healthy)
	}
}

func TestDiscoveryIsTheSameTwice(t *testing.T) {
	run := func() string {
		n := newNames(t, awssim.Options{Seed: 11}, "")
		_, _ = n.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("api"), TaskDefinition: n.define("shop/api:v2", 5)})
		n.pass(5 * time.Minute)
		var b strings.Builder
		_ = n.World().WriteLog(&b)
		return b.String()
	}
	if a, b := run(), run(); a != b {
		t.Error("the logs differ")
	}
}

// Every instance is as likely as any other to come first in an answer, however
// many there are.
func TestResolvedSharesFollowTheCounts(t *testing.T) {
	for _, n := range []int{4, 10, 20} {
		s := newNames(t, awssim.Options{}, "")
		for i := 4; i < n; i++ {
			if _, err := s.sd.RegisterInstance(ctx,
				&awssd.RegisterInstanceInput{ServiceId: aws.String("srv-0123456789abcdef"),
					InstanceId: aws.String(fmt.Sprint("own-", i)),
					Attributes: map[string]string{"AWS_INSTANCE_IPV4": fmt.Sprint("127.17.0.", i)}}); err != nil {
				t.Fatal(err)
			}
		}
		s.pass(10 * time.Second)
		first := map[string]int{}
		const lookups = 20_000
		for range lookups {
			found, ttl := s.Resolve("api.shop.local.", "A")
			if len(found) != min(n, 8) || ttl != 10*time.Second {
				t.Fatal(found, ttl)
			}
			first[found[0].Addr().String()]++
		}
		want := lookups / float64(n)
		for _, a := range sorted(first) {
			if d := math.Abs(float64(first[a]) - want); d > 5*math.Sqrt(want) {
				t.Errorf("%s of %d came first %d times, expected %.0f", a, n, first[a], want)
			}
		}
		if len(first) != n {
			t.Errorf("%d of %d ever came first", len(first), n)
		}
	}
	if found, _ := newNames(t, awssim.Options{}, "").Resolve("none.shop.local", "A"); len(found) != 0 {
		t.Error(found)
	}
}
