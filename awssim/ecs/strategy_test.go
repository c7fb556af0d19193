package ecs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// crossing is a street with a second target group and a test listener. Its service is called
// through the SDK's own client.
type crossing struct {
	*street
	api        *awsecs.Client
	other      string // the second target group
	production string // rules
	test       string
}

func newCrossing(t *testing.T, seed uint64) *crossing {
	c := &crossing{street: newStreet(t, seed)}
	c.api = awsecs.NewFromConfig(aws.Config{
		Region: worldtest.Key.Region, HTTPClient: transport{wire.New(c.w, c.room.API())},
		Credentials:  credentials.NewStaticCredentialsProvider(worldtest.Key.Account, "secret", ""),
		BaseEndpoint: aws.String("http://sim"), Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	})
	g := must(c.elb.CreateTargetGroup(c.ctx, &awselb.CreateTargetGroupInput{Name: aws.String("web-other"),
		Protocol: "HTTP", Port: aws.Int32(8080), VpcId: aws.String("vpc-1"), TargetType: "ip",
		HealthCheckIntervalSeconds: aws.Int32(10)}))(t)
	c.other = *g.TargetGroups[0].TargetGroupArn
	must(c.elb.ModifyTargetGroupAttributes(c.ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: &c.other,
		Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"),
			Value: aws.String("30")}}}))(t)
	both := []elbtypes.Action{{Type: "forward", ForwardConfig: &elbtypes.ForwardActionConfig{
		TargetGroups: []elbtypes.TargetGroupTuple{{TargetGroupArn: &c.group, Weight: aws.Int32(100)},
			{TargetGroupArn: &c.other, Weight: aws.Int32(0)}}}}}
	ls := must(c.elb.DescribeListeners(c.ctx, &awselb.DescribeListenersInput{LoadBalancerArn: &c.lb}))(t).Listeners
	must(c.elb.ModifyListener(c.ctx, &awselb.ModifyListenerInput{ListenerArn: ls[0].ListenerArn,
		DefaultActions: both}))(t)
	tl := must(c.elb.CreateListener(c.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &c.lb, Port: aws.Int32(81),
		Protocol: "HTTP", DefaultActions: both}))(t).Listeners[0].ListenerArn
	c.production, c.test = c.ruleOf(ls[0].ListenerArn), c.ruleOf(tl)
	return c
}

func (c *crossing) ruleOf(listener *string) string {
	c.Helper()
	return *must(c.elb.DescribeRules(c.ctx, &awselb.DescribeRulesInput{ListenerArn: listener}))(c.T).Rules[0].RuleArn
}

// weights returns the weights of both target groups in a rule, as "100/0".
func (c *crossing) weights(rule string) string {
	c.Helper()
	r := must(c.elb.DescribeRules(c.ctx, &awselb.DescribeRulesInput{RuleArns: []string{rule}}))(c.T).Rules[0]
	by := map[string]int32{}
	for _, g := range r.Actions[0].ForwardConfig.TargetGroups {
		by[*g.TargetGroupArn] = *g.Weight
	}
	return fmt.Sprintf("%d/%d", by[c.group], by[c.other])
}

func (c *crossing) balancers() []ecstypes.LoadBalancer {
	lb := behind(c.group)
	lb[0].AdvancedConfiguration = &ecstypes.AdvancedConfiguration{AlternateTargetGroupArn: &c.other,
		ProductionListenerRule: &c.production, TestListenerRule: &c.test,
		RoleArn: aws.String("arn:aws:iam::123456789012:role/infrastructure")}
	return lb
}

func (c *crossing) input(image string, conf *ecstypes.DeploymentConfiguration) *awsecs.CreateServiceInput {
	in := rollingInput(*c.register(image), 3, c.group)
	in.LoadBalancers, in.DeploymentConfiguration = c.balancers(), conf
	return in
}

// start creates the service and awaits its first deployment. Its hooks follow then, so that no test
// must answer them twice.
func (c *crossing) start(conf ecstypes.DeploymentConfiguration) {
	c.Helper()
	hooks := conf.LifecycleHooks
	conf.LifecycleHooks = nil
	out := must(c.api.CreateService(c.ctx, c.input("sim/web:v1-latency-50ms-term-2s", &conf)))(c.T)
	c.ends(*out.Service.CurrentServiceDeployment, "SUCCESSFUL")
	if hooks != nil {
		c.update(&awsecs.UpdateServiceInput{
			DeploymentConfiguration: &ecstypes.DeploymentConfiguration{LifecycleHooks: hooks}})
	}
}

func (c *crossing) update(in *awsecs.UpdateServiceInput) string {
	c.Helper()
	in.Cluster, in.Service = aws.String("web"), aws.String("api")
	return *must(c.api.UpdateService(c.ctx, in))(c.T).Service.CurrentServiceDeployment
}

func (c *crossing) deploy(image string) string {
	c.Helper()
	return c.update(&awsecs.UpdateServiceInput{TaskDefinition: c.register(image)})
}

func (c *crossing) see(arn string) ecstypes.ServiceDeployment {
	c.Helper()
	out := must(c.api.DescribeServiceDeployments(c.ctx,
		&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{arn}}))(c.T)
	if len(out.ServiceDeployments) != 1 {
		c.Fatalf("failures %v", out.Failures)
	}
	return out.ServiceDeployments[0]
}

// until moves time until f holds for a deployment.
func (c *crossing) until(arn, what string, limit time.Duration,
	f func(ecstypes.ServiceDeployment) bool) (d ecstypes.ServiceDeployment) {
	c.Helper()
	for end := c.now.Add(limit); c.now.Before(end); c.pass(2 * time.Second) {
		if d = c.see(arn); f(d) {
			return d
		}
	}
	c.Fatalf("%s: not within %s: %s %s %v", what, limit, d.Status, d.LifecycleStage, aws.ToString(d.StatusReason))
	return d
}

func (c *crossing) ends(arn, status string) ecstypes.ServiceDeployment {
	c.Helper()
	d := c.until(arn, "the end", 3*time.Hour, func(d ecstypes.ServiceDeployment) bool { return d.FinishedAt != nil })
	if string(d.Status) != status {
		c.Fatalf("%s: %s, want %s", d.Status, aws.ToString(d.StatusReason), status)
	}
	return d
}

func (c *crossing) reaches(arn, stage string) ecstypes.ServiceDeployment {
	c.Helper()
	return c.until(arn, stage, 3*time.Hour, func(d ecstypes.ServiceDeployment) bool {
		return string(d.LifecycleStage) == stage
	})
}

func (c *crossing) service() ecstypes.Service {
	c.Helper()
	return must(c.api.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
		Services: []string{"api"}}))(c.T).Services[0]
}

// liveGroup returns the target group of a service revision.
func (c *crossing) liveGroup(revision *string) string {
	c.Helper()
	out := must(c.api.DescribeServiceRevisions(c.ctx,
		&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: []string{*revision}}))(c.T)
	lb := out.ServiceRevisions[0].ResolvedConfiguration.LoadBalancers[0]
	if aws.ToString(lb.ProductionListenerRule) != c.production {
		c.Errorf("production rule %v", lb.ProductionListenerRule)
	}
	return *lb.TargetGroupArn
}

func (c *crossing) lostNone(calls *loadgen.Tally, versions ...string) {
	c.Helper()
	r := calls.Report()
	if r.Failed != 0 {
		c.Errorf("%v of %v requests failed: %+v", r.Failed, r.Requests, r.First)
	}
	for _, v := range []string{"v1", "v2", "v3"} {
		if (r.AnsweredBy(v) > 0) != slices.Contains(versions, v) {
			c.Errorf("%v requests answered by %s, want answers of %v", r.AnsweredBy(v), v, versions)
		}
	}
}

func blueGreen(bake int32, hooks ...ecstypes.DeploymentLifecycleHook) ecstypes.DeploymentConfiguration {
	return ecstypes.DeploymentConfiguration{Strategy: "BLUE_GREEN", BakeTimeInMinutes: aws.Int32(bake),
		LifecycleHooks: hooks}
}

const (
	good  = "sim/web:v2-latency-50ms-term-2s-healthy-after-8s"
	third = "sim/web:v3-latency-50ms-term-2s"
)

// Two deployments in a row go to the other target group each, pass every stage and lose no request.
func TestBlueGreenAlternatesAndLosesNothing(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newCrossing(t, seed)
			c.start(blueGreen(5))
			calls := c.call()
			arn := c.deploy(good)
			c.checkScaleUp(arn)
			c.reaches(arn, "POST_TEST_TRAFFIC_SHIFT")
			if p, x := c.weights(c.production), c.weights(c.test); p != "100/0" || x != "0/100" {
				t.Errorf("before production: %s, test %s", p, x)
			}
			d := c.reaches(arn, "BAKE_TIME")
			to := d.TargetServiceRevision
			if *to.RequestedProductionTrafficWeight != 100 || *to.RequestedTestTrafficWeight != 100 ||
				to.RunningTaskCount != 3 || *d.SourceServiceRevisions[0].RequestedProductionTrafficWeight != 0 ||
				d.SourceServiceRevisions[0].RunningTaskCount != 3 || c.weights(c.production) != "0/100" {
				t.Errorf("%+v from %+v, %s", to, d.SourceServiceRevisions[0], c.weights(c.production))
			}
			began := c.now
			c.reaches(arn, "CLEAN_UP")
			if took := c.now.Sub(began); took < 5*time.Minute || took > 6*time.Minute {
				t.Errorf("the bake took %s", took)
			}
			d = c.ends(arn, "SUCCESSFUL")
			if g := c.liveGroup(d.TargetServiceRevision.Arn); g != c.other {
				t.Errorf("live is %s", g)
			}
			d = c.ends(c.deploy(third), "SUCCESSFUL")
			if g := c.liveGroup(d.TargetServiceRevision.Arn); g != c.group || c.weights(c.production) != "100/0" {
				t.Errorf("live is %s with %s", g, c.weights(c.production))
			}
			if s := c.service(); !completed(s) || s.RunningCount != 3 || *s.LoadBalancers[0].TargetGroupArn != c.group {
				t.Errorf("%+v", s)
			}
			c.lostNone(calls, "v1", "v2", "v3")
		})
	}
}

// checkScaleUp compares what describe calls return while the new revision starts.
func (c *crossing) checkScaleUp(arn string) {
	c.Helper()
	c.reaches(arn, "SCALE_UP")
	d := c.until(arn, "all tasks", 5*time.Minute, func(d ecstypes.ServiceDeployment) bool {
		return d.TargetServiceRevision.PendingTaskCount+d.TargetServiceRevision.RunningTaskCount == 3
	})
	from := d.SourceServiceRevisions[0]
	if d.Status != "IN_PROGRESS" || d.LifecycleStage != "SCALE_UP" || d.TargetServiceRevision.RequestedTaskCount != 3 ||
		*d.TargetServiceRevision.RequestedProductionTrafficWeight != 0 || from.RequestedTaskCount != 3 ||
		*from.RequestedProductionTrafficWeight != 100 || d.DeploymentConfiguration.Strategy != "BLUE_GREEN" ||
		d.DeploymentCircuitBreaker.Status != "DISABLED" {
		c.Errorf("%+v", d)
	}
	s := c.service()
	if len(s.Deployments) != 2 || *s.Deployments[0].Status != "PRIMARY" ||
		s.Deployments[0].RolloutState != "IN_PROGRESS" || *s.Deployments[1].Status != "ACTIVE" ||
		s.Deployments[1].DesiredCount != 3 || len(s.CurrentServiceRevisions) != 2 {
		c.Errorf("%+v", s.Deployments)
	}
}

// A version that is never healthy neither fails nor gets traffic: SCALE_UP goes on, whatever the
// circuit breaker says.
func TestAVersionThatIsNeverHealthyStaysInScaleUp(t *testing.T) {
	c := newCrossing(t, 1)
	conf := blueGreen(0)
	conf.DeploymentCircuitBreaker = breaker(true).DeploymentCircuitBreaker
	c.start(conf)
	calls := c.call()
	arn := c.deploy("sim/web:v2-never-healthy")
	c.pass(40 * time.Minute)
	if d := c.see(arn); d.Status != "IN_PROGRESS" || d.LifecycleStage != "SCALE_UP" {
		t.Errorf("%s %s", d.Status, d.LifecycleStage)
	}
	c.lostNone(calls, "v1")
}

// A stage may last a day. Then ECS rolls back.
func TestAStageEndsAfterADay(t *testing.T) {
	c := newCrossing(t, 2)
	c.start(blueGreen(0))
	arn := c.deploy("sim/web:v2-noboot")
	for range 23*60 + 50 {
		c.now = c.now.Add(time.Minute)
		c.w.Advance()
	}
	if d := c.see(arn); d.LifecycleStage != "SCALE_UP" {
		t.Error(d.LifecycleStage)
	}
	d := c.ends(arn, "ROLLBACK_SUCCESSFUL")
	if !strings.Contains(*d.Rollback.Reason, "stage timed out") || c.weights(c.production) != "100/0" {
		t.Errorf("%+v, %s", d.Rollback, c.weights(c.production))
	}
}
