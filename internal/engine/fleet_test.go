package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// fleet is a world with n equal services, each behind a load balancer of its own, and one
// process that deploys them all at once: one virtual clock, one account, one Limits.
type fleet struct {
	testing.TB
	clock *clock.Virtual
	sim   *awssim.Sim
	kind  fleetKind
	boats []*boat
}

// fleetKind is what the services of a fleet are and what is deployed to them.
type fleetKind struct {
	controller string // EXTERNAL: task sets; ECS: a canary service beside a rolling one
	image      string
}

// boat is one service of a fleet and its deployment.
type boat struct {
	*bench
	fleetKind
	number int
	ended  engine.RunResult
	err    error
	took   time.Duration
}

const fleetARN = "arn:aws:elasticloadbalancing:us-east-1:123456789012:"

func (b *boat) name() string { return fmt.Sprintf("web%d", b.number) }

func (b *boat) arn(kind string) string {
	switch kind {
	case "primary", "canary":
		return fmt.Sprintf("%stargetgroup/w%d-%s/%016x", fleetARN, b.number, kind, b.number)
	case "listener":
		return fmt.Sprintf("%slistener/app/lb%d/%016x/%016x", fleetARN, b.number, b.number, b.number)
	}
	return fmt.Sprintf("%sloadbalancer/app/lb%d/%016x", fleetARN, b.number, b.number)
}

// fleetWorld is the world file. AWS's request limits apply in it.
func fleetWorld(controller string, boats []*boat) string {
	var groups, balancers, services strings.Builder
	for _, b := range boats {
		for _, kind := range []string{"primary", "canary"} {
			fmt.Fprintf(&groups, "  - {name: w%d-%s, arn: %q, port: 80, deregistrationDelay: 10s, healthCheck: "+
				"{path: /, interval: 5s, timeout: 2s, healthy: 2, unhealthy: 2}}\n", b.number, kind, b.arn(kind))
		}
		fmt.Fprintf(&balancers, "  - {name: lb%d, arn: %q, listeners: [{port: 80, arn: %q, forward: {w%d-primary: "+
			"100, w%d-canary: 0}}]}\n", b.number, b.arn(""), b.arn("listener"), b.number, b.number)
		fmt.Fprintf(&services, "  - {name: %s, cluster: prod, controller: %s, count: 4, image: \"sim/web:v1\", "+
			"port: 80, targetGroup: w%d-primary}\n", b.name(), controller, b.number)
	}
	return "account: \"123456789012\"\nregion: us-east-1\nknobs: {throttle: true}\nsubnets: " +
		"[subnet-0123456789abcdef0]\nclusters: [prod]\n" +
		"targetGroups:\n" + groups.String() + "loadBalancers:\n" + balancers.String() + "services:\n" +
		services.String()
}

// afloat runs f on a fleet of n services in virtual time.
func afloat(t testing.TB, k fleetKind, n int, f func(*fleet)) {
	t.Helper()
	v := clock.NewVirtual(stagetest.StartTime)
	v.Run(func() {
		l := &fleet{TB: t, clock: v, kind: k}
		for i := range n {
			l.boats = append(l.boats, &boat{fleetKind: k, number: i + 1})
		}
		var err error
		l.sim, err = awssim.New(awssim.Options{Clock: v, Strict: true, Direct: true})
		must(t, err)
		must(t, l.sim.Load("fleet.yaml", []byte(fleetWorld(k.controller, l.boats))))
		limits := account.NewLimits()
		for _, b := range l.boats {
			b.launch(l, limits)
			defer b.Journal.Close()
		}
		f(l)
	})
}

// launch gives a service its sluice and its callers.
func (b *boat) launch(l *fleet, limits *account.Limits) {
	cfg := l.sim.Config()
	b.bench = &bench{&stagetest.Bench{TB: l.TB, Clock: l.clock, Sim: l.sim, ECS: awsecs.NewFromConfig(cfg),
		ELB: awselb.NewFromConfig(cfg), Balancer: b.arn("")}}
	var err error
	b.Journal, err = journal.Open(journal.Memory, l.clock)
	must(l, err)
	b.Account, err = account.Open(context.Background(), account.Config{Region: cfg.Region, Credentials: cfg.Credentials,
		EndpointURL: awssim.Endpoint,
		HTTPClient:  l.sim.HTTPClient(), APIOptions: l.sim.APIOptions(), Clock: l.clock, Limits: limits,
		OnCall: func(c account.Call) { b.Calls = append(b.Calls, c) }})
	must(l, err)
	b.Engine = &engine.Engine{Journal: b.Journal, Account: b.Account, Clock: l.clock, Owner: "test/1",
		NewID:   func() string { return fmt.Sprintf("%s%04d", plan.IDPrefix, b.number) },
		OnEvent: func(e sluice.Envelope) { b.Events = append(b.Events, e) }}
	b.Tally = loadgen.Attach(l.sim.World(), l.sim.Balancer(),
		loadgen.Caller{Key: stagetest.Key, Balancer: b.Balancer, Port: 80,
			Rate: 200})
}

// files are the demo's application, for this service.
func (b *boat) files() fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"sluice.yaml": text(fmt.Sprintf(`
name: %s
region: us-east-1
cluster: prod
input:
  taskDefinitionFile: taskdef.yaml
  serviceDefinitionFile: servicedef.yaml
  targetGroups:
    primary: {targetGroupArn: %q, containerName: %s, containerPort: 80}
    canary: {targetGroupArn: %q, containerName: %s, containerPort: 80}
%s`, b.name(), b.arn("primary"), b.name(), b.arn("canary"), b.name(), canaryPipeline)),
		"taskdef.yaml": text(fmt.Sprintf(`
family: %s
networkMode: awsvpc
requiresCompatibilities: [FARGATE]
cpu: 256
memory: 512
containerDefinitions: [{name: %s, image: %q, portMappings: [{containerPort: 80}]}]
`, b.name(), b.name(), b.image)),
		"servicedef.yaml": text(fmt.Sprintf(`
serviceName: %s
cluster: prod
launchType: FARGATE
deploymentController: {type: %s}
networkConfiguration: {awsvpcConfiguration: {subnets: [subnet-0123456789abcdef0]}}
`, b.name(), b.controller)),
	}
}

// deploy plans and runs the deployment to its end.
func (b *boat) deploy() {
	began := b.Clock.Now()
	b.ended, b.err = b.deployed()
	b.took = b.Clock.Now().Sub(began)
}

func (b *boat) deployed() (engine.RunResult, error) {
	ctx := context.Background()
	p, err := b.Plan(b.files(), mode.Options{})
	if err != nil {
		return engine.RunResult{}, err
	}
	id, err := b.Engine.Start(ctx, p, engine.TriggerManual)
	if err != nil {
		return engine.RunResult{}, err
	}
	return b.Engine.Run(ctx, id, engine.Options{})
}

// sail deploys all services at once and returns how long the slowest took.
func (l *fleet) sail() time.Duration {
	var all []func()
	for _, b := range l.boats {
		all = append(all, b.deploy)
	}
	clock.All(l.clock, all...)
	var slowest time.Duration
	for _, b := range l.boats {
		slowest = max(slowest, b.took)
	}
	return slowest
}

// serves is what runs of the service: task sets or services, and tags.
func (b *boat) serves() string {
	out := got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{b.name(), b.name() + "-canary"},
		Include:  []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	var parts []string
	for _, s := range out.Services {
		if aws.ToString(s.Status) == "INACTIVE" {
			continue
		}
		if b.controller == "ECS" {
			parts = append(parts, fmt.Sprintf("%s %d running", sluice.RevisionOf(aws.ToString(s.TaskDefinition)),
				s.RunningCount))
		}
		for _, ts := range s.TaskSets {
			parts = append(parts, fmt.Sprintf("%s %d running", sluice.RevisionOf(*ts.TaskDefinition), ts.RunningCount))
		}
		for _, tag := range s.Tags {
			parts = append(parts, "tag "+*tag.Key)
		}
	}
	return strings.Join(parts, "; ")
}

// good counts the deployments that ended with the outcome, on the revision alone,
// without a failed request.
func (l *fleet) good(outcome sluice.Outcome, revision int) int {
	good := 0
	for _, b := range l.boats {
		want := fmt.Sprintf("%s:%d 4 running", b.name(), revision)
		r := b.Tally.Report()
		switch serves := b.serves(); {
		case b.err != nil || b.ended.Outcome != outcome:
			b.Errorf("%s after %s: %s: %s %v", b.name(), b.took, b.ended.Outcome, b.ended.Cause, b.err)
		case serves != want:
			b.Errorf("%s: %s, want %s", b.name(), serves, want)
		case r.Failed > 0:
			b.Errorf("%s: %.1f of %.0f requests failed; first: %+v", b.name(), r.Failed, r.Requests, r.First)
		default:
			good++
		}
	}
	return good
}

// Deployments of one process share AWS's request rates. All of them reach their end,
// however many there are: they take longer, and none is superseded by its slowness.
func TestManyDeploymentsAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		fleetKind
		n        int
		outcome  sluice.Outcome
		revision int
	}{
		"50 of task sets": {fleetKind{"EXTERNAL", "sim/web:v2"}, 50, sluice.Succeeded, 2},
		"30 of task sets": {fleetKind{"EXTERNAL", "sim/web:v2"}, 30, sluice.Succeeded, 2},
		"30 of task sets that crash": {fleetKind{"EXTERNAL", "sim/web:v2?crash-after=1s"}, 30, sluice.RolledBack,
			1},
		"30 of canary services":          {fleetKind{"ECS", "sim/web:v2"}, 30, sluice.Succeeded, 2},
		"30 of canary services, crashes": {fleetKind{"ECS", "sim/web:v2?crash-after=1s"}, 30, sluice.RolledBack, 1},
	} {
		t.Run(name, func(t *testing.T) {
			afloat(t, c.fleetKind, c.n, func(l *fleet) {
				slowest := l.sail()
				t.Logf("%d of %d %s, the slowest in %s", l.good(c.outcome, c.revision), c.n, c.outcome, slowest)
			})
		})
	}
}

// The order in which waiting calls get their tokens is the same each time.
func TestManyDeploymentsAreTheSameEachTime(t *testing.T) {
	var logs [2]string
	for i := range logs {
		afloat(t, fleetKind{"EXTERNAL", "sim/web:v2"}, 12, func(l *fleet) {
			l.sail()
			for _, b := range l.boats {
				logs[i] += b.EventLog()
			}
		})
	}
	if logs[0] != logs[1] {
		t.Error("two runs of the same deployments differ")
	}
}

// BenchmarkFiftyAtOnce is fifty deployments of the canary pipeline in one account, all
// begun at once, and how much longer they take than one alone, in virtual time.
func BenchmarkFiftyAtOnce(b *testing.B) {
	var alone, slowest time.Duration
	good := 0
	for b.Loop() {
		afloat(b, fleetKind{"EXTERNAL", "sim/web:v2"}, 1, func(l *fleet) { alone = l.sail() })
		afloat(b, fleetKind{"EXTERNAL", "sim/web:v2"}, 50, func(l *fleet) {
			slowest = l.sail()
			good = l.good(sluice.Succeeded, 2)
		})
	}
	b.ReportMetric(float64(good), "good/op")
	b.ReportMetric(slowest.Minutes(), "virtual-min/op")
	b.ReportMetric(slowest.Seconds()/alone.Seconds(), "times-alone")
}
