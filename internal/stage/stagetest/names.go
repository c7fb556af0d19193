package stagetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// Pipelines of a service that callers find by a name.
const (
	NamedCanary = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 25}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`
	NamedBlueGreen = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 100}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 100}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`
)

// Named has the options of a world whose service callers find by a name.
type Named struct {
	Controller string // EXTERNAL if not given
	TTL        time.Duration
	Count      int
	Check      time.Duration // interval of a container health check
	Knobs      string
	Seed       uint64
	Records    string // A if not given
	Kind       string // of the namespace; private if not given
	Image      string // options of the image that serves
	Launch     string // launch type; FARGATE if not given
}

// NameBench is a bench on the service "api", found as api.shop.local.
type NameBench struct {
	*Bench
	Named
	Discovery *awssd.Client
	Tallies   map[string]*loadgen.NameTally // 300 requests a second each
}

// RunByName runs f in a new world whose service callers find by a name.
func RunByName(t testing.TB, o Named, f func(*NameBench)) {
	t.Helper()
	if o.Controller == "" {
		o.Controller = "EXTERNAL"
	}
	if o.TTL == 0 {
		o.TTL = 10 * time.Second
	}
	if o.Count == 0 {
		o.Count = 4
	}
	if o.Records == "" {
		o.Records = "A"
	}
	if o.Kind == "" {
		o.Kind = "private"
	}
	if o.Launch == "" {
		o.Launch = "FARGATE"
	}
	v := clock.NewVirtual(StartTime)
	v.Run(func() {
		b := newNameBench(t, v, o)
		defer b.Journal.Close()
		f(b)
	})
}

func (o Named) file() string {
	check := ""
	if o.Check > 0 {
		check = fmt.Sprintf(", containerCheck: %s", o.Check)
	}
	records := fmt.Sprintf("records: {%s: %s}, ", o.Records, o.TTL)
	if o.Kind == "http" {
		records = ""
	}
	return fmt.Sprintf(`
account: "123456789012"
region: us-east-1
subnets: [subnet-0123456789abcdef0]
clusters: [prod]
namespaces: [{name: shop.local, kind: %s, services: [{name: api, id: srv-0123456789abcdef, %shealth: custom}]}]
services: [{name: api, cluster: prod, controller: %s, count: %d, image: "sim/api:v1%s", port: 8080, registry: api.shop.local, launchType: %s, stopTimeout: 90s%s}]
knobs: {%s}
`, o.Kind, records, o.Controller, o.Count, o.Image, o.Launch, check, o.Knobs)
}

func newNameBench(t testing.TB, v *clock.Virtual, o Named) *NameBench {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: o.Seed, Strict: true, Direct: true, Account: "123456789012"})
	Must(t, err)
	Must(t, sim.Load("world.yaml", []byte(o.file())))
	b := Connect(t, v, sim)
	n := &NameBench{
		Bench:     b,
		Named:     o,
		Discovery: awssd.NewFromConfig(sim.Config()),
		Tallies:   map[string]*loadgen.NameTally{},
	}
	for name, c := range map[string]loadgen.NameCaller{
		"DNS":                       {Record: o.Records},
		"DNS, connections kept":     {Record: o.Records, KeepAlive: 30 * time.Second, Retry: true},
		"DiscoverInstances":         {Poll: 20 * time.Second, Query: cloudmap.Query{Health: cloudmap.HealthyOrAny}},
		"DiscoverInstances, healty": {Poll: 5 * time.Second, Query: cloudmap.Query{Health: cloudmap.OnlyHealthy}},
	} {
		if o.Kind == "http" && c.Poll == 0 {
			continue // the name has no records
		}
		c.Key, c.Namespace, c.Service, c.Port, c.Rate = Key, "shop.local", "api", 8080, 300
		n.Tallies[name] = loadgen.AttachByName(sim.World(), sim.Registry(), c)
	}
	return n
}

// NamedFiles returns an application with that image and pipeline.
func (b *NameBench) NamedFiles(image, pipeline string) fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	port, check := "", ""
	if b.Records == "SRV" {
		port = ", port: 8080"
	}
	if b.Check > 0 {
		check = fmt.Sprintf("\n    healthCheck: {command: [CMD, 'true'], interval: %d}", int(b.Check.Seconds()))
	}
	return fstest.MapFS{
		"sluice.yaml": text(`
name: api
region: us-east-1
cluster: prod
input:
  taskDefinitionFile: taskdef.yaml
  serviceDefinitionFile: servicedef.yaml
  accessType: SERVICE_DISCOVERY
` + pipeline),
		"taskdef.yaml": text(fmt.Sprintf(`
family: api
networkMode: awsvpc
requiresCompatibilities: [%s]
cpu: 256
memory: 512
containerDefinitions:
  - name: api
    image: %s
    stopTimeout: 90
    portMappings: [{containerPort: 8080}]%s
`, b.Launch, image, check)),
		"servicedef.yaml": text(fmt.Sprintf(`
serviceName: api
cluster: prod
launchType: %s
deploymentController: {type: %s}
serviceRegistries: [{registryArn: "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef"%s}]
networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-0123456789abcdef0]}}
`, b.Launch, b.Controller, port)),
	}
}

// Found returns how many instances are registered by ECS and by sluice, as text.
func (b *NameBench) Found() string {
	b.Helper()
	out := Got(b.Discovery.ListInstances(context.Background(),
		&awssd.ListInstancesInput{ServiceId: aws.String("srv-0123456789abcdef")}))(b)
	ours := 0
	for _, i := range out.Instances {
		if strings.HasPrefix(*i.Id, plan.IDPrefix) {
			ours++
		}
	}
	return fmt.Sprintf("%d primary, %d canary", len(out.Instances)-ours, ours)
}

// TaskSets returns the service's task sets as text.
func (b *NameBench) TaskSets() string {
	b.Helper()
	out := Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"api"}}))(b)
	var lines []string
	for _, ts := range out.Services[0].TaskSets {
		td := Got(b.ECS.DescribeTaskDefinition(context.Background(),
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: ts.TaskDefinition}))(b)
		lines = append(lines, fmt.Sprintf("%s %s %d", *ts.Status, *td.TaskDefinition.ContainerDefinitions[0].Image,
			ts.RunningCount))
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// ExpectNamed compares the outcome, its cause, the task sets and the instances.
func (b *NameBench) ExpectNamed(end engine.RunResult, outcome sluice.Outcome, cause, sets, found string) {
	b.Helper()
	if end.Outcome != outcome || !strings.Contains(end.Cause, cause) {
		b.Fatalf("%s: %s; want %s: …%s…\n%s", end.Outcome, end.Cause, outcome, cause, b.EventLog())
	}
	if b.TaskSets() != sets || b.Found() != found {
		b.Errorf("%s; %s; want %s; %s\n%s", b.TaskSets(), b.Found(), sets, found, b.EventLog())
	}
}

// ExpectNobodyLost fails the test if a request failed, also of callers that keep an address.
func (b *NameBench) ExpectNobodyLost() {
	b.Helper()
	Must(b, b.Clock.Sleep(context.Background(), 2*time.Minute))
	for name, t := range b.Tallies {
		r := t.Report()
		if r.Failed > 0 || len(r.Outages) > 0 {
			b.Errorf("%s: %.1f of %.0f requests failed: %+v; the name was no use %v", name, r.Failed, r.Requests,
				r.First, r.Outages)
		}
	}
	if b.Failed() {
		b.Log(b.EventLog())
	}
}

// Task sets of a service that callers find by a name.
const (
	NamedV1 = "PRIMARY sim/api:v1 4"
	NamedV2 = "PRIMARY sim/api:v2 4"
)

// StartNamed starts a deployment of that image and returns its ID.
func (b *NameBench) StartNamed(image, pipeline string) string {
	b.Helper()
	p := Got(b.Plan(b.NamedFiles(image, pipeline), mode.Options{}))(b)
	return Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
}

// RoutedPipeline returns a canary of that scale that gets that percentage, up to an approval. It
// appends more to the options of the routing.
func RoutedPipeline(scale, percent int, more string) string {
	return fmt.Sprintf(`
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: %d}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: %d%s}}
    - {name: WAIT_APPROVAL}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`, scale, percent, more)
}
