package watch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/sluice-ecs/sluice/awssim"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// dawn is when worlds of tests begin: after real now, which the SDK compares
// credentials with.
var dawn = time.Now().UTC().Truncate(time.Hour).Add(24 * time.Hour)

var here = world.Key{Account: "123456789012", Region: "us-east-1"}

// bench is a world with a cluster "prod" and a load balancer, all in virtual
// time, and a watch on it.
type bench struct {
	testing.TB
	clock *clock.Virtual
	sim   *awssim.Sim
	ecs   *awsecs.Client
	elb   *awselb.Client
	watch *watch.Watch
	calls []account.Call
	seen  []string // what was told
	group string
	other string // ARN of a group of another service
}

type options struct {
	seed  uint64
	knobs *world.Settings
	codec bool
	skew  time.Duration // of our clock
	api   []func(*middleware.Stack) error

	noLogs bool // there is no log group
}

func on(t testing.TB, o options, f func(*bench)) {
	t.Helper()
	v := clock.NewVirtual(dawn)
	v.Run(func() { f(newBench(t, v, o)) })
}

// skewed is a clock that is wrong.
type skewed struct {
	clock.Clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

func newBench(t testing.TB, v *clock.Virtual, o options) *bench {
	t.Helper()
	k := world.DefaultSettings()
	if o.knobs != nil {
		k = *o.knobs
	}
	// A thousand services share one account here, and tasks start without a log group.
	k.FargateStartsPerSecond, k.StartsWithoutLogGroup = 0, true
	sim, err := awssim.New(awssim.Options{Clock: v, Seed: o.seed, Settings: &k, Strict: true, Direct: !o.codec,
		Account: here.Account})
	must(t, err)
	cfg := sim.Config()
	b := &bench{TB: t, clock: v, sim: sim, ecs: awsecs.NewFromConfig(cfg), elb: awselb.NewFromConfig(cfg)}
	ours := skewed{v, o.skew}
	a, err := account.Open(context.Background(), account.Config{
		Region: cfg.Region, Credentials: cfg.Credentials, EndpointURL: awssim.Endpoint, HTTPClient: sim.HTTPClient(),
		APIOptions: append(sim.APIOptions(), o.api...),
		Clock:      ours, OnCall: func(c account.Call) { b.calls = append(b.calls, c) }})
	must(t, err)
	b.watch = watch.New(a, ours)
	got(b.ecs.CreateCluster(context.Background(), &awsecs.CreateClusterInput{ClusterName: aws.String("prod")}))(b)
	if !o.noLogs {
		got(awslogs.NewFromConfig(cfg).CreateLogGroup(context.Background(),
			&awslogs.CreateLogGroupInput{LogGroupName: aws.String("/ecs/web")}))(b)
	}
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

func (b *bench) places() (subnets []string, vpc string) {
	must(b, b.sim.World().Do(here, func(tx *world.Tx) error {
		subnets, vpc = tx.Subnets.Keys(), tx.VPCs.Keys()[0]
		return nil
	}))
	return subnets, vpc
}

// balance makes a load balancer whose target group services are behind.
func (b *bench) balance() {
	ctx := context.Background()
	subnets, vpc := b.places()
	lb := got(b.elb.CreateLoadBalancer(ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("web"),
		Subnets: subnets}))(b)
	g := got(b.elb.CreateTargetGroup(ctx, &awselb.CreateTargetGroupInput{Name: aws.String("web"),
		Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(8080),
		TargetType: elbtypes.TargetTypeEnumIp, VpcId: aws.String(vpc), HealthCheckIntervalSeconds: aws.Int32(5),
		HealthCheckTimeoutSeconds: aws.Int32(2)}))(b)
	b.group = *g.TargetGroups[0].TargetGroupArn
	got(b.elb.ModifyTargetGroupAttributes(ctx,
		&awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: aws.String(b.group),
			Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"),
				Value: aws.String("20")}}}))(b)
	got(b.elb.CreateListener(ctx, &awselb.CreateListenerInput{LoadBalancerArn: lb.LoadBalancers[0].LoadBalancerArn,
		Port: aws.Int32(80), Protocol: elbtypes.ProtocolEnumHttp,
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward,
			TargetGroupArn: aws.String(b.group)}}}))(b)
}

// revision registers a task definition of family web that runs the image, and
// returns family:revision.
func (b *bench) revision(image string) string {
	td := got(b.ecs.RegisterTaskDefinition(context.Background(),
		&awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"), NetworkMode: ecstypes.NetworkModeAwsvpc,
			Cpu: aws.String("256"), Memory: aws.String("512"),
			RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate},
			ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: aws.String(image),
				Essential:    aws.Bool(true),
				PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(8080)}},
				LogConfiguration: &ecstypes.LogConfiguration{LogDriver: ecstypes.LogDriverAwslogs,
					Options: map[string]string{
						"awslogs-group": "/ecs/web", "awslogs-region": "us-east-1",
						"awslogs-stream-prefix": "web"}}}}}))(b)
	return fmt.Sprintf("web:%d", td.TaskDefinition.Revision)
}

// rolling is how a service with controller ECS is made.
type rolling struct {
	desired  int32
	breaker  bool
	rollback bool
	min, max int32
}

// serve makes a rolling service that serves a revision, with everything done.
func (b *bench) serve(name, revision string, r rolling) {
	b.Helper()
	b.create(name, revision, r)
	b.until(name+" serves", func() bool {
		d := b.service(name).Deployments
		return len(d) == 1 && d[0].RolloutState == ecstypes.DeploymentRolloutStateCompleted
	})
}

func (b *bench) create(name, revision string, r rolling) {
	b.Helper()
	subnets, _ := b.places()
	if r.max == 0 {
		r.min, r.max = 100, 200
	}
	in := &awsecs.CreateServiceInput{Cluster: aws.String("prod"), ServiceName: aws.String(name),
		TaskDefinition: aws.String(revision),
		DesiredCount:   aws.Int32(r.desired), LaunchType: ecstypes.LaunchTypeFargate,
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: subnets}},
		DeploymentConfiguration: &ecstypes.DeploymentConfiguration{MinimumHealthyPercent: aws.Int32(r.min),
			MaximumPercent:           aws.Int32(r.max),
			DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: r.breaker, Rollback: r.rollback}}}
	if b.group != "" {
		in.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(b.group),
			ContainerName: aws.String("web"), ContainerPort: aws.Int32(8080)}}
	}
	got(b.ecs.CreateService(context.Background(), in))(b)
}

func (b *bench) service(name string) ecstypes.Service {
	out := got(b.ecs.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{name}}))(b)
	return out.Services[0]
}

// deploy updates a service; an empty revision forces a new deployment of the same.
func (b *bench) deploy(name, revision string) {
	b.Helper()
	in := &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String(name)}
	if revision == "" {
		in.ForceNewDeployment = true
	} else {
		in.TaskDefinition = aws.String(revision)
	}
	got(b.ecs.UpdateService(context.Background(), in))(b)
}

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

func (b *bench) sleep(d time.Duration) { must(b, b.clock.Sleep(context.Background(), d)) }

// wait waits for a service of the cluster and remembers what was told.
func (b *bench) wait(name string, w verdict.Wanted) verdict.Verdict {
	b.Helper()
	seen, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: name, Wanted: w},
		func(s watch.Update) {
			b.seen = append(b.seen, fmt.Sprintf("%s %s [%s] %v", b.clock.Now().Sub(dawn).Round(time.Millisecond),
				s.Verdict.Detail, s.Verdict.Cause.Text, s.Verdict.Logs))
		})
	must(b, err)
	return seen.Verdict
}

func (b *bench) story() string { return strings.Join(b.seen, "\n") }
