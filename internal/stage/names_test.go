package stage_test

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
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

const (
	namedCanary = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 25}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`
	namedBlueGreen = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 100}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 100}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`
)

// named are options of a world whose service callers find by a name.
type named struct {
	controller string // EXTERNAL if not given
	ttl        time.Duration
	count      int
	check      time.Duration // interval of a container health check
	knobs      string
	seed       uint64
	records    string // A if not given
	kind       string // of the namespace; private if not given
	image      string // options of the image that serves
	launch     string // launch type; FARGATE if not given
}

// nameBench is a bench on the service "api", found as api.shop.local.
type nameBench struct {
	*bench
	named
	sd      *awssd.Client
	tallies map[string]*loadgen.NameTally // 300 requests a second each
}

func byName(t testing.TB, o named, f func(*nameBench)) {
	t.Helper()
	if o.controller == "" {
		o.controller = "EXTERNAL"
	}
	if o.ttl == 0 {
		o.ttl = 10 * time.Second
	}
	if o.count == 0 {
		o.count = 4
	}
	if o.records == "" {
		o.records = "A"
	}
	if o.kind == "" {
		o.kind = "private"
	}
	if o.launch == "" {
		o.launch = "FARGATE"
	}
	v := clock.NewVirtual(stagetest.StartTime)
	v.Run(func() {
		b := newNameBench(t, v, o)
		defer b.Journal.Close()
		f(b)
	})
}

func (o named) file() string {
	check := ""
	if o.check > 0 {
		check = fmt.Sprintf(", containerCheck: %s", o.check)
	}
	records := fmt.Sprintf("records: {%s: %s}, ", o.records, o.ttl)
	if o.kind == "http" {
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
`, o.kind, records, o.controller, o.count, o.image, o.launch, check, o.knobs)
}

func newNameBench(t testing.TB, v *clock.Virtual, o named) *nameBench {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: o.seed, Strict: true, Direct: true, Account: "123456789012"})
	must(t, err)
	must(t, sim.Load("world.yaml", []byte(o.file())))
	b := &bench{stagetest.Connect(t, v, sim)}
	n := &nameBench{bench: b, named: o, sd: awssd.NewFromConfig(sim.Config()), tallies: map[string]*loadgen.NameTally{}}
	for name, c := range map[string]loadgen.NameCaller{
		"DNS":                       {Record: o.records},
		"DNS, connections kept":     {Record: o.records, KeepAlive: 30 * time.Second, Retry: true},
		"DiscoverInstances":         {Poll: 20 * time.Second, Query: cloudmap.Query{Health: cloudmap.HealthyOrAny}},
		"DiscoverInstances, healty": {Poll: 5 * time.Second, Query: cloudmap.Query{Health: cloudmap.OnlyHealthy}},
	} {
		if o.kind == "http" && c.Poll == 0 {
			continue // the name has no records
		}
		c.Key, c.Namespace, c.Service, c.Port, c.Rate = stagetest.Key, "shop.local", "api", 8080, 300
		n.tallies[name] = loadgen.AttachByName(sim.World(), sim.Registry(), c)
	}
	return n
}

// files are an application that asks for image, with a pipeline.
func (b *nameBench) files(image, pipeline string) fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	port, check := "", ""
	if b.records == "SRV" {
		port = ", port: 8080"
	}
	if b.check > 0 {
		check = fmt.Sprintf("\n    healthCheck: {command: [CMD, 'true'], interval: %d}", int(b.check.Seconds()))
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
`, b.launch, image, check)),
		"servicedef.yaml": text(fmt.Sprintf(`
serviceName: api
cluster: prod
launchType: %s
deploymentController: {type: %s}
serviceRegistries: [{registryArn: "arn:aws:servicediscovery:us-east-1:123456789012:service/srv-0123456789abcdef"%s}]
networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-0123456789abcdef0]}}
`, b.launch, b.controller, port)),
	}
}

// found tells who is found: how many of ECS's and of ours, in all.
func (b *nameBench) found() string {
	b.Helper()
	out := got(b.sd.ListInstances(context.Background(),
		&awssd.ListInstancesInput{ServiceId: aws.String("srv-0123456789abcdef")}))(b)
	ours := 0
	for _, i := range out.Instances {
		if strings.HasPrefix(*i.Id, plan.IDPrefix) {
			ours++
		}
	}
	return fmt.Sprintf("%d primary, %d canary", len(out.Instances)-ours, ours)
}

// sets are the service's task sets.
func (b *nameBench) sets() string {
	b.Helper()
	out := got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"api"}}))(b)
	var lines []string
	for _, ts := range out.Services[0].TaskSets {
		td := got(b.ECS.DescribeTaskDefinition(context.Background(),
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: ts.TaskDefinition}))(b)
		lines = append(lines, fmt.Sprintf("%s %s %d", *ts.Status, *td.TaskDefinition.ContainerDefinitions[0].Image,
			ts.RunningCount))
	}
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

func (b *nameBench) ends(end engine.RunResult, outcome sluice.Outcome, cause, sets, found string) {
	b.Helper()
	if end.Outcome != outcome || !strings.Contains(end.Cause, cause) {
		b.Fatalf("%s: %s; want %s: …%s…\n%s", end.Outcome, end.Cause, outcome, cause, b.EventLog())
	}
	if b.sets() != sets || b.found() != found {
		b.Errorf("%s; %s; want %s; %s\n%s", b.sets(), b.found(), sets, found, b.EventLog())
	}
}

// nobodyLost: nor do those who keep an address beyond the end.
func (b *nameBench) nobodyLost() {
	b.Helper()
	must(b, b.Clock.Sleep(context.Background(), 2*time.Minute))
	for name, t := range b.tallies {
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

const (
	namedV1 = "PRIMARY sim/api:v1 4"
	namedV2 = "PRIMARY sim/api:v2 4"
)

func TestNamedFlows(t *testing.T) {
	for flow, pipeline := range map[string]string{"canary": namedCanary, "blue/green": namedBlueGreen,
		"quick sync": ""} {
		for _, o := range []named{{}, {ttl: time.Minute}, {check: 5 * time.Second}, {records: "SRV"}} {
			t.Run(fmt.Sprintf("%s %+v", flow, o), func(t *testing.T) {
				byName(t, o, func(b *nameBench) {
					end := got(b.Engine.Run(context.Background(), b.startNamed("sim/api:v2", pipeline),
						engine.Options{}))(b)
					b.ends(end, sluice.Succeeded, "", namedV2, "4 primary, 0 canary")
					b.nobodyLost()
				})
			})
		}
	}
}

func (b *nameBench) startNamed(image, pipeline string) string {
	b.Helper()
	p := got(b.Plan(b.files(image, pipeline), mode.Options{}))(b)
	return got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
}
