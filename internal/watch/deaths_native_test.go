package watch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// strategies are ECS's own strategies, with a bake time of three minutes.
var strategies = map[string]ecstypes.DeploymentConfiguration{
	"BLUE_GREEN": {Strategy: "BLUE_GREEN", BakeTimeInMinutes: aws.Int32(3)},
	"LINEAR": {Strategy: "LINEAR", BakeTimeInMinutes: aws.Int32(3), LinearConfiguration: &ecstypes.LinearConfiguration{
		StepPercent: aws.Float64(50), StepBakeTimeInMinutes: aws.Int32(2)}},
	"CANARY": {Strategy: "CANARY", BakeTimeInMinutes: aws.Int32(3), CanaryConfiguration: &ecstypes.CanaryConfiguration{
		CanaryPercent: aws.Float64(20), CanaryBakeTimeInMinutes: aws.Int32(2)}},
}

// serveNative makes a service of four tasks that serves web:1, and whose requests ECS shifts itself.
func (b *bench) serveNative(kind string) {
	b.Helper()
	ctx := context.Background()
	b.balance()
	b.forward(100, 0)
	lbs := got(b.elb.DescribeLoadBalancers(ctx, nil))(b)
	listeners := got(b.elb.DescribeListeners(ctx,
		&awselb.DescribeListenersInput{LoadBalancerArn: lbs.LoadBalancers[0].LoadBalancerArn}))(b)
	rules := got(b.elb.DescribeRules(ctx,
		&awselb.DescribeRulesInput{ListenerArn: listeners.Listeners[0].ListenerArn}))(b)
	b.revision("sim/web:v1")
	subnets, _ := b.places()
	configuration := strategies[kind]
	got(b.ecs.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"), ServiceName: aws.String("web"),
		TaskDefinition: aws.String("web:1"), DesiredCount: aws.Int32(4), LaunchType: ecstypes.LaunchTypeFargate,
		NetworkConfiguration: &ecstypes.NetworkConfiguration{
			AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: subnets}},
		DeploymentConfiguration: &configuration,
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(b.group), ContainerName: aws.String("web"),
			ContainerPort: aws.Int32(8080), AdvancedConfiguration: &ecstypes.AdvancedConfiguration{
				AlternateTargetGroupArn: aws.String(b.other), ProductionListenerRule: rules.Rules[0].RuleArn,
				RoleArn: aws.String("arn:aws:iam::123456789012:role/infrastructure")}}}}))(b)
	b.until("web serves", func() bool { return b.newest().Status == "SUCCESSFUL" })
}

// newest returns the newest service deployment of web.
func (b *bench) newest() ecstypes.ServiceDeployment {
	ctx := context.Background()
	all := got(b.ecs.ListServiceDeployments(ctx, &awsecs.ListServiceDeploymentsInput{Cluster: aws.String("prod"),
		Service: aws.String("web")}))(b)
	return got(b.ecs.DescribeServiceDeployments(ctx, &awsecs.DescribeServiceDeploymentsInput{
		ServiceDeploymentArns: []string{*all.ServiceDeployments[0].ServiceDeploymentArn}}))(b).ServiceDeployments[0]
}

// callersGet lets a minute pass, and returns what callers get in it: "v2 200".
func (b *bench) callersGet() string {
	b.Helper()
	lbs := got(b.elb.DescribeLoadBalancers(context.Background(), nil))(b)
	calls := loadgen.Attach(b.sim.World(), b.sim.Balancer(), loadgen.Caller{Key: here,
		Balancer: *lbs.LoadBalancers[0].LoadBalancerArn, Port: 80, Rate: 50})
	b.sleep(time.Minute)
	var parts []string
	for _, l := range calls.Report().Lines {
		parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %d", l.Version, l.Status)))
	}
	return strings.Join(parts, ", ")
}

// A version whose tasks die again and again in ECS's own strategies is a failure of its wait: while traffic shifts, in
// the bake time, and if the wait begins later.
func TestDeathsInNativeStrategies(t *testing.T) {
	for _, c := range []struct {
		kind, image string
		after       time.Duration
	}{
		{"BLUE_GREEN", "sim/web:v2-crash-after-80s", 0},
		{"LINEAR", "sim/web:v2-oom-after-100s", 0},
		{"CANARY", "sim/web:v2-unhealthy-after-130s", 0},
		{"BLUE_GREEN", "sim/web:v2-crash-after-130s", 4 * time.Minute},
		{"LINEAR", "sim/web:v2-crash-after-80s", 20 * time.Minute},
	} {
		t.Run(fmt.Sprint(c.kind, " ", c.image, " ", c.after), func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.serveNative(c.kind)
				b.deploy("web", b.revision(c.image))
				b.sleep(c.after)
				v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
				if v.Outcome != sluice.Failed || v.Cause.Count < diagnosis.FailAfter {
					t.Errorf("%s: %s\n%s", v.Outcome, v.Detail, b.story())
				}
			})
		})
	}
}

// Tasks that die once or twice in the bake time withhold the success until the others have been stable. A version
// without a death is a success as soon as ECS reports it.
func TestOneDeathInTheBakeTime(t *testing.T) {
	for kind := range strategies {
		for deaths := range 3 {
			t.Run(fmt.Sprint(kind, " ", deaths), func(t *testing.T) {
				on(t, options{}, func(b *bench) {
					b.serveNative(kind)
					b.deploy("web", b.revision("sim/web:v2"))
					var died time.Time
					b.clock.Go(func() {
						b.until("the bake time", func() bool { return b.newest().LifecycleStage == "BAKE_TIME" })
						b.sleep(2 * time.Minute)
						for range deaths {
							must(b, b.sim.Inject("task-crash web revision=2 exit=137"))
							died = b.clock.Now()
							b.sleep(20 * time.Second)
						}
					})
					v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
					now, ended := b.clock.Now(), aws.ToTime(b.newest().FinishedAt)
					b.ends(v, sluice.Succeeded, "", "")
					if d := now.Sub(died); deaths > 0 && (d < time.Minute || d > 7*time.Minute ||
						!strings.Contains(b.story(), ": success needs 6m5s without another")) {
						t.Errorf("succeeded %s after the death\n%s", d, b.story())
					}
					if d := now.Sub(ended); deaths == 0 && d > 5*time.Second {
						t.Errorf("succeeded %s after ECS\n%s", d, b.story())
					}
					if gets := b.callersGet(); gets != "v2 200" {
						t.Errorf("callers get %q", gets)
					}
				})
			})
		}
	}
}
