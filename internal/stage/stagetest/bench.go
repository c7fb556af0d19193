package stagetest

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

	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
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

// StartTime is when worlds of tests begin: after the machine's time, which the SDK compares
// credentials with.
var StartTime = time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour)

// Key is the account and Region of the tests.
var Key = world.Key{Account: "123456789012", Region: "us-east-1"}

// Bench is a world with a service "web" in cluster "prod" behind a load
// balancer, and a sluice on it, all in virtual time.
type Bench struct {
	testing.TB
	Clock   *clock.Virtual
	Sim     *awssim.Sim
	ECS     *awsecs.Client
	ELB     *awselb.Client
	Account *account.Account
	Journal *journal.Journal
	Engine  *engine.Engine
	Events  []sluice.Envelope
	Calls   []account.Call
	Tally   *loadgen.Tally // 200 requests a second through the load balancer

	Balancer, Listener, Primary, Canary string // ARNs
	Rule                                string // ARN of the rule that serves the service
	Deployments                         int
}

// Options change the world of a test.
type Options struct {
	Settings    *world.Settings
	Seed        uint64
	Codec       bool // through the wire's codec, six times slower
	Desired     int32
	V1          string // image; "" is sim/web:v1
	PrimaryOnly bool   // the rule forwards to the primary group alone
	NoService   bool
}

// Run runs f in a new world in virtual time.
func Run(t testing.TB, o Options, f func(*Bench)) {
	t.Helper()
	v := clock.NewVirtual(StartTime)
	v.Run(func() {
		b := New(t, v, o)
		defer b.Journal.Close()
		f(b)
	})
}

// RunPlain runs f in a new world without options.
func RunPlain(t testing.TB, f func(*Bench)) {
	t.Helper()
	Run(t, Options{}, f)
}

// New builds the world, its service and a sluice for it.
func New(t testing.TB, v *clock.Virtual, o Options) *Bench {
	t.Helper()
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: o.Seed, Settings: o.Settings, Strict: true, Direct: !o.Codec,
		Account: "123456789012"})
	Must(t, err)
	b := Connect(t, v, sim)
	b.Build(o)
	return b
}

// Connect returns a bench on the simulated AWS: its account, an empty journal and an engine.
func Connect(t testing.TB, v *clock.Virtual, sim *awssim.Sim) *Bench {
	t.Helper()
	cfg := sim.Config()
	b := &Bench{TB: t, Clock: v, Sim: sim, ECS: awsecs.NewFromConfig(cfg), ELB: awselb.NewFromConfig(cfg)}
	var err error
	b.Journal, err = journal.Open(journal.Memory, v)
	Must(t, err)
	b.Account = b.OpenAccount()
	b.Engine = &engine.Engine{Journal: b.Journal, Account: b.Account, Clock: v, Owner: "test/1",
		NewID:   func() string { b.Deployments++; return fmt.Sprintf("%s%04d", plan.IDPrefix, b.Deployments) },
		OnEvent: func(e sluice.Envelope) { b.Events = append(b.Events, e); b.checkEvent(e) }}
	return b
}

// OpenAccount returns an account whose calls pass the middleware before AWS gets them.
func (b *Bench) OpenAccount(more ...func(*middleware.Stack) error) *account.Account {
	b.Helper()
	cfg := b.Sim.Config()
	return Got(account.Open(context.Background(), account.Config{
		Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint,
		HTTPClient: b.Sim.HTTPClient(), APIOptions: append(b.Sim.APIOptions(), more...),
		Clock: b.Clock, OnCall: func(c account.Call) { b.Calls = append(b.Calls, c) }}))(b)
}

// Must fails the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Got returns out and fails the test on an error.
func Got[T any](out T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		Must(t, err)
		return out
	}
}

// Build creates the resources of the world by its APIs, as a person would.
func (b *Bench) Build(o Options) {
	b.Helper()
	ctx := context.Background()
	Got(b.ECS.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("prod")}))(b)
	lb := Got(b.ELB.CreateLoadBalancer(ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("web"),
		Subnets: b.Subnets()}))(b)
	b.Balancer = *lb.LoadBalancers[0].LoadBalancerArn
	b.Primary, b.Canary = b.CreateTargetGroup("web-primary"), b.CreateTargetGroup("web-canary")
	l := Got(b.ELB.CreateListener(ctx, &awselb.CreateListenerInput{LoadBalancerArn: aws.String(b.Balancer),
		Port: aws.Int32(80), Protocol: elbtypes.ProtocolEnumHttp,
		DefaultActions: b.Forward(o.PrimaryOnly)}))(b)
	b.Listener = *l.Listeners[0].ListenerArn
	b.Rule = *Got(b.ELB.DescribeRules(ctx,
		&awselb.DescribeRulesInput{ListenerArn: aws.String(b.Listener)}))(b).Rules[0].RuleArn
	if o.NoService {
		return
	}
	b.StartService(o)
	b.AttachCallers()
}

// AttachCallers starts the callers' requests.
func (b *Bench) AttachCallers() { b.attachCallers(80, "/") }

func (b *Bench) attachCallers(port int32, path string) {
	b.Tally = loadgen.Attach(b.Sim.World(), b.Sim.Balancer(), loadgen.Caller{Key: Key, Balancer: b.Balancer, Port: port,
		Request: loadbalancer.Request{Path: path}, Rate: 200})
}

// Subnets returns the IDs of the subnets.
func (b *Bench) Subnets() []string {
	var ids []string
	Must(b, b.Sim.World().Do(Key, func(tx *world.Tx) error {
		ids = tx.Subnets.Keys()
		return nil
	}))
	return ids
}

// CreateTargetGroup returns the ARN of a new target group.
func (b *Bench) CreateTargetGroup(name string) string {
	g := Got(b.ELB.CreateTargetGroup(context.Background(), &awselb.CreateTargetGroupInput{Name: aws.String(name),
		Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(8080),
		TargetType: elbtypes.TargetTypeEnumIp, VpcId: aws.String(b.VPC()), HealthCheckIntervalSeconds: aws.Int32(5),
		HealthCheckTimeoutSeconds: aws.Int32(2)}))(b)
	arn := *g.TargetGroups[0].TargetGroupArn
	Got(b.ELB.ModifyTargetGroupAttributes(context.Background(),
		&awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: aws.String(arn),
			Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"),
				Value: aws.String("20")}}}))(b)
	return arn
}

// VPC returns the ID of the VPC.
func (b *Bench) VPC() string {
	var id string
	Must(b, b.Sim.World().Do(Key, func(tx *world.Tx) error {
		id = tx.VPCs.Keys()[0]
		return nil
	}))
	return id
}

// Forward returns the actions of the rule: to both target groups, or to the primary's alone.
func (b *Bench) Forward(alone bool) []elbtypes.Action {
	groups := []elbtypes.TargetGroupTuple{{TargetGroupArn: aws.String(b.Primary), Weight: aws.Int32(100)},
		{TargetGroupArn: aws.String(b.Canary), Weight: aws.Int32(0)}}
	if alone {
		groups = groups[:1]
	}
	return []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward,
		ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: groups}}}
}

// StartService creates the service with a healthy primary task set at v1.
func (b *Bench) StartService(o Options) {
	ctx := context.Background()
	if o.Desired == 0 {
		o.Desired = 4
	}
	if o.V1 == "" {
		o.V1 = "sim/web:v1"
	}
	td := Got(b.ECS.RegisterTaskDefinition(ctx, TaskDefinition(b, o.V1)))(b)
	Got(b.ECS.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"), ServiceName: aws.String("web"),
		DesiredCount:         aws.Int32(o.Desired),
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeExternal}}))(b)
	ts := Got(b.ECS.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn,
		LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: b.Network(),
		Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 100},
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(b.Primary), ContainerName: aws.String("web"),
			ContainerPort: aws.Int32(8080)}}}))(b)
	Got(b.ECS.UpdateServicePrimaryTaskSet(ctx, &awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), PrimaryTaskSet: ts.TaskSet.Id}))(b)
	b.Until("v1 is healthy", func() bool { return b.Healthy(b.Primary) == int(o.Desired) })
}

// Network returns the network configuration of the service.
func (b *Bench) Network() *ecstypes.NetworkConfiguration {
	return &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: b.Subnets()}}
}

// TaskDefinition returns a task definition with that image.
func TaskDefinition(t testing.TB, image string) *awsecs.RegisterTaskDefinitionInput {
	return &awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"), NetworkMode: ecstypes.NetworkModeAwsvpc,
		Cpu: aws.String("256"), Memory: aws.String("512"),
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: aws.String(image),
			Essential:    aws.Bool(true),
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080)}}}}}
}

// Until lets virtual time pass until so returns true. It fails the test after an hour.
func (b *Bench) Until(what string, so func() bool) {
	b.Helper()
	for range 3600 {
		if so() {
			return
		}
		Must(b, b.Clock.Sleep(context.Background(), time.Second))
	}
	b.Fatalf("an hour passed and not: %s", what)
}

// Healthy returns the number of healthy targets of a target group.
func (b *Bench) Healthy(group string) int {
	n := 0
	for _, t := range Got(b.ELB.DescribeTargetHealth(context.Background(),
		&awselb.DescribeTargetHealthInput{TargetGroupArn: aws.String(group)}))(b).TargetHealthDescriptions {
		if t.TargetHealth.State == elbtypes.TargetHealthStateEnumHealthy {
			n++
		}
	}
	return n
}

// Files returns an application with that image and pipeline.
func (b *Bench) Files(image, pipeline string) fstest.MapFS {
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
%s`, b.Primary, b.Canary, pipeline)),
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
`, strings.Join(b.Subnets(), ", "))),
	}
}

// CanaryPipeline is a canary on two task sets, in two steps.
const CanaryPipeline = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 10}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 50}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`

// Plan makes the plan of an application.
func (b *Bench) Plan(files fstest.MapFS, o mode.Options) (*plan.Plan, error) {
	app, err := appfile.Load(files, "sluice.yaml", nil)
	if err != nil {
		return nil, err
	}
	app.Scaling = app.Scaling.With(o.Scaling)
	live, err := survey.ReadInputs(context.Background(), b.Account, b.Clock, app)
	if err != nil {
		return nil, err
	}
	return mode.Make(app, live, o)
}

// Deploy plans and runs an application to its end.
func (b *Bench) Deploy(files fstest.MapFS) engine.RunResult {
	b.Helper()
	id := b.Start(files)
	return Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
}

// Start plans an application and starts its deployment. It returns the ID.
func (b *Bench) Start(files fstest.MapFS) string {
	b.Helper()
	p := Got(b.Plan(files, mode.Options{}))(b)
	return Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
}

// State returns the task sets, the tags and the weights as text.
func (b *Bench) State() string {
	b.Helper()
	if sets := b.TaskSets(); sets != "" {
		return sets + "; " + b.Weights()
	}
	return b.Weights()
}

// TaskSets returns the task sets and the tags of the service as text.
func (b *Bench) TaskSets() string {
	b.Helper()
	var lines []string
	out := Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	for _, s := range out.Services {
		for _, ts := range s.TaskSets {
			td := Got(b.ECS.DescribeTaskDefinition(context.Background(),
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

// Weights returns the weights of the rule as text.
func (b *Bench) Weights() string {
	out := Got(b.ELB.DescribeRules(context.Background(), &awselb.DescribeRulesInput{RuleArns: []string{b.Rule}}))(b)
	var parts []string
	for _, t := range out.Rules[0].Actions[0].ForwardConfig.TargetGroups {
		name := "primary"
		if *t.TargetGroupArn == b.Canary {
			name = "canary"
		}
		parts = append(parts, fmt.Sprintf("%s %d", name, aws.ToInt32(t.Weight)))
	}
	return strings.Join(parts, " ")
}

// ExpectNoneLost fails the test if a request failed since the service started.
func (b *Bench) ExpectNoneLost() {
	b.Helper()
	r := b.Tally.Report()
	if r.Failed > 0 {
		b.Errorf("%.1f of %.0f requests failed; first: %+v\n%s", r.Failed, r.Requests, r.First, b.EventLog())
	}
}

// EventLog returns every event as a line, for a test that failed.
func (b *Bench) EventLog() string {
	var s strings.Builder
	for _, e := range b.Events {
		fmt.Fprintf(&s, "%s [%s] %s %s\n", e.At.Sub(StartTime).Round(time.Second), e.Stage, e.Kind, e.Data)
	}
	return s.String()
}

// Registered returns the newest revision as JSON.
func (b *Bench) Registered() ([]byte, error) {
	out, err := b.ECS.DescribeTaskDefinition(context.Background(),
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("web")})
	if err != nil {
		return nil, err
	}
	return json.Marshal(out.TaskDefinition)
}
