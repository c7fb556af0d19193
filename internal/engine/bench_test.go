package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// dawn is when worlds of tests begin: after real now, which the SDK compares
// credentials with.
var dawn = time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour)

// here is whose state the tests are about.
var here = world.Key{Account: "123456789012", Region: "us-east-1"}

// bench is a world with a service "web" in cluster "prod" behind a load
// balancer, and a sluice on it, all in virtual time.
type bench struct {
	testing.TB
	clock   *clock.Virtual
	sim     *awssim.Sim
	ecs     *awsecs.Client
	elb     *awselb.Client
	account *account.Account
	journal *journal.Journal
	engine  *engine.Engine
	events  []sluice.Envelope
	calls   []account.Call
	tally   *loadgen.Tally // 200 requests a second through the load balancer

	balancer, listener, primary, canary string // ARNs
	rule                                string // ARN of the rule that serves the service
	deployments                         int
}

// options change the world of a test.
type options struct {
	knobs     *world.Settings
	seed      uint64
	codec     bool // through the wire's codec, six times slower
	desired   int32
	v1        string // image; "" is sim/web:v1
	alone     bool   // the rule forwards to the primary group alone
	noService bool
}

// on runs f in a fresh world in virtual time.
func on(t testing.TB, o options, f func(*bench)) {
	t.Helper()
	v := clock.NewVirtual(dawn)
	v.Run(func() {
		b := newBench(t, v, o)
		defer b.journal.Close()
		f(b)
	})
}

func newBench(t testing.TB, v *clock.Virtual, o options) *bench {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: o.seed, Settings: o.knobs, Strict: true, Direct: !o.codec,
		Account: "123456789012"})
	must(t, err)
	cfg := sim.Config()
	b := &bench{TB: t, clock: v, sim: sim, ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg)}
	b.journal, err = journal.Open(journal.Memory, v)
	must(t, err)
	b.account, err = account.Open(context.Background(), account.Config{
		Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint, HTTPClient: sim.HTTPClient(),
		APIOptions: sim.APIOptions(),
		Clock:      v, OnCall: func(c account.Call) { b.calls = append(b.calls, c) }})
	must(t, err)
	b.engine = &engine.Engine{Journal: b.journal, Account: b.account, Clock: v, Owner: "test/1",
		NewID:   func() string { b.deployments++; return fmt.Sprintf("%s%04d", plan.IDPrefix, b.deployments) },
		OnEvent: func(e sluice.Envelope) { b.events = append(b.events, e) }}
	b.lay(o)
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func got[T any](out T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return out
	}
}

// lay builds the world by its APIs, as somebody would by hand.
func (b *bench) lay(o options) {
	b.Helper()
	ctx := context.Background()
	got(b.ecs.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("prod")}))(b)
	lb := got(b.elb.CreateLoadBalancer(ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("web"),
		Subnets: b.subnets()}))(b)
	b.balancer = *lb.LoadBalancers[0].LoadBalancerArn
	b.primary, b.canary = b.group("web-primary"), b.group("web-canary")
	l := got(b.elb.CreateListener(ctx, &awselb.CreateListenerInput{LoadBalancerArn: aws.String(b.balancer),
		Port: aws.Int32(80), Protocol: elbtypes.ProtocolEnumHttp,
		DefaultActions: b.forward(o.alone)}))(b)
	b.listener = *l.Listeners[0].ListenerArn
	b.rule = *got(b.elb.DescribeRules(ctx,
		&awselb.DescribeRulesInput{ListenerArn: aws.String(b.listener)}))(b).Rules[0].RuleArn
	if o.noService {
		return
	}
	b.serve(o)
	b.attach()
}

// attach lets callers call from now on.
func (b *bench) attach() {
	b.tally = loadgen.Attach(b.sim.World(), b.sim.Balancer(), loadgen.Caller{Key: here, Balancer: b.balancer, Port: 80,
		Rate: 200})
}

func (b *bench) subnets() []string {
	var ids []string
	must(b, b.sim.World().Do(here, func(tx *world.Tx) error {
		ids = tx.Subnets.Keys()
		return nil
	}))
	return ids
}

func (b *bench) group(name string) string {
	g := got(b.elb.CreateTargetGroup(context.Background(), &awselb.CreateTargetGroupInput{Name: aws.String(name),
		Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(8080),
		TargetType: elbtypes.TargetTypeEnumIp, VpcId: aws.String(b.vpc()), HealthCheckIntervalSeconds: aws.Int32(5),
		HealthCheckTimeoutSeconds: aws.Int32(2)}))(b)
	arn := *g.TargetGroups[0].TargetGroupArn
	got(b.elb.ModifyTargetGroupAttributes(context.Background(),
		&awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: aws.String(arn),
			Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"),
				Value: aws.String("20")}}}))(b)
	return arn
}

func (b *bench) vpc() string {
	var id string
	must(b, b.sim.World().Do(here, func(tx *world.Tx) error {
		id = tx.VPCs.Keys()[0]
		return nil
	}))
	return id
}

func (b *bench) forward(alone bool) []elbtypes.Action {
	groups := []elbtypes.TargetGroupTuple{{TargetGroupArn: aws.String(b.primary), Weight: aws.Int32(100)},
		{TargetGroupArn: aws.String(b.canary), Weight: aws.Int32(0)}}
	if alone {
		groups = groups[:1]
	}
	return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward,
		ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: groups}}}
}

// serve makes the service with its primary task set at v1, healthy.
func (b *bench) serve(o options) {
	ctx := context.Background()
	if o.desired == 0 {
		o.desired = 4
	}
	if o.v1 == "" {
		o.v1 = "sim/web:v1"
	}
	td := got(b.ecs.RegisterTaskDefinition(ctx, taskDefinition(b, o.v1)))(b)
	got(b.ecs.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"), ServiceName: aws.String("web"),
		DesiredCount:         aws.Int32(o.desired),
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeExternal}}))(b)
	ts := got(b.ecs.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn,
		LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: b.network(),
		Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 100},
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(b.primary), ContainerName: aws.String("web"),
			ContainerPort: aws.Int32(8080)}}}))(b)
	got(b.ecs.UpdateServicePrimaryTaskSet(ctx, &awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), PrimaryTaskSet: ts.TaskSet.Id}))(b)
	b.until("v1 is healthy", func() bool { return b.healthy(b.primary) == int(o.desired) })
}

func (b *bench) network() *ecstypes.NetworkConfiguration {
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: b.subnets()}}
}

func taskDefinition(t testing.TB, image string) *awsecs.RegisterTaskDefinitionInput {
	return &awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"), NetworkMode: ecstypes.NetworkModeAwsvpc,
		Cpu: aws.String("256"), Memory: aws.String("512"),
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: aws.String(image),
			Essential:    aws.Bool(true),
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080)}}}}}
}

// until lets virtual time pass until what is so.
func (b *bench) until(what string, so func() bool) {
	b.Helper()
	for range 3600 {
		if so() {
			return
		}
		must(b, b.clock.Sleep(context.Background(), time.Second))
	}
	b.Fatalf("an hour passed and not: %s", what)
}

func (b *bench) healthy(group string) int {
	n := 0
	for _, t := range got(b.elb.DescribeTargetHealth(context.Background(),
		&awselb.DescribeTargetHealthInput{TargetGroupArn: aws.String(group)}))(b).TargetHealthDescriptions {
		if t.TargetHealth.State == elbtypes.TargetHealthStateEnumHealthy {
			n++
		}
	}
	return n
}

// files are an application that asks for image, with a pipeline.
func (b *bench) files(image, pipeline string) fstest.MapFS {
	text := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"sluice.yaml": text(fmt.Sprintf(`
name: web
region: us-east-1
cluster: prod
input:
  taskDefinitionFile: taskdef.yaml
  serviceDefinitionFile: servicedef.yaml
  targetGroups:
    primary: {targetGroupArn: %q, containerName: web, containerPort: 8080}
    canary: {targetGroupArn: %q, containerName: web, containerPort: 8080}
%s`, b.primary, b.canary, pipeline)),
		"taskdef.yaml": text(fmt.Sprintf(`
family: web
networkMode: awsvpc
requiresCompatibilities: [FARGATE]
cpu: 256
memory: 512
containerDefinitions:
  - name: web
    image: %s
    portMappings: [{containerPort: 8080}]
`, image)),
		"servicedef.yaml": text(fmt.Sprintf(`
serviceName: web
cluster: prod
launchType: FARGATE
deploymentController: {type: EXTERNAL}
networkConfiguration: {awsvpcConfiguration: {subnets: [%s]}}
`, strings.Join(b.subnets(), ", "))),
	}
}

const canaryPipeline = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 10}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 50}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`

// plan makes the plan of an application.
func (b *bench) plan(files fstest.MapFS, o mode.Options) (*plan.Plan, error) {
	app, err := appfile.Load(files, "sluice.yaml", func(string) (string, bool) { return "", false })
	if err != nil {
		return nil, err
	}
	live, err := survey.ReadInputs(context.Background(), b.account, b.clock, app)
	if err != nil {
		return nil, err
	}
	return mode.Make(app, live, o)
}

// deploy plans and runs an application to its end.
func (b *bench) deploy(files fstest.MapFS) engine.RunResult {
	b.Helper()
	id := b.start(files)
	return got(b.engine.Run(context.Background(), id, engine.Options{}))(b)
}

func (b *bench) start(files fstest.MapFS) string {
	b.Helper()
	p := got(b.plan(files, mode.Options{}))(b)
	return got(b.engine.Start(context.Background(), p, engine.TriggerManual))(b)
}

// state is the world as somebody would tell it: task sets and weights.
func (b *bench) state() string {
	b.Helper()
	if sets := b.sets(); sets != "" {
		return sets + "; " + b.weights()
	}
	return b.weights()
}

// sets are the task sets and the tags of the service.
func (b *bench) sets() string {
	b.Helper()
	var lines []string
	out := got(b.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	for _, s := range out.Services {
		for _, ts := range s.TaskSets {
			td := got(b.ecs.DescribeTaskDefinition(context.Background(),
				&awsecs.DescribeTaskDefinitionInput{TaskDefinition: ts.TaskDefinition}))(b)
			lines = append(lines, fmt.Sprintf("%s %s %g%% %d running", *ts.Status,
				*td.TaskDefinition.ContainerDefinitions[0].Image, ts.Scale.Value, ts.RunningCount))
		}
		for _, tag := range s.Tags {
			lines = append(lines, "tag "+*tag.Key)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

func (b *bench) weights() string {
	out := got(b.elb.DescribeRules(context.Background(), &awselb.DescribeRulesInput{RuleArns: []string{b.rule}}))(b)
	var parts []string
	for _, t := range out.Rules[0].Actions[0].ForwardConfig.TargetGroups {
		name := "primary"
		if *t.TargetGroupArn == b.canary {
			name = "canary"
		}
		parts = append(parts, fmt.Sprintf("%s %d", name, aws.ToInt32(t.Weight)))
	}
	return strings.Join(parts, " ")
}

// noneLost fails the test if a request failed since the service was there.
func (b *bench) noneLost() {
	b.Helper()
	r := b.tally.Report()
	if r.Failed > 0 {
		b.Errorf("%.1f of %.0f requests failed; first: %+v\n%s", r.Failed, r.Requests, r.First, b.log())
	}
}

// log is every event as a line, for a test that failed.
func (b *bench) log() string {
	var s strings.Builder
	for _, e := range b.events {
		fmt.Fprintf(&s, "%s [%s] %s %s\n", e.At.Sub(dawn).Round(time.Second), e.Stage, e.Kind, e.Data)
	}
	return s.String()
}

// registered is the newest revision, as JSON.
func (b *bench) registered() ([]byte, error) {
	out, err := b.ecs.DescribeTaskDefinition(context.Background(),
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("web")})
	if err != nil {
		return nil, err
	}
	return json.Marshal(out.TaskDefinition)
}
