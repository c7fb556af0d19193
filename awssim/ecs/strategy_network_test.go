package ecs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// newFlow is a crossing behind a Network Load Balancer: the rules are listeners.
func newFlow(t *testing.T, seed uint64) *crossing {
	c := newCrossing(t, seed)
	lb := must(c.elb.CreateLoadBalancer(c.ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("flow"), Type: "network",
		Subnets: worldtest.Subnets}))(t).LoadBalancers[0]
	c.lb = *lb.LoadBalancerArn
	var tuples []elbtypes.TargetGroupTuple
	for i, name := range []string{"flow-a", "flow-b"} {
		g := must(c.elb.CreateTargetGroup(c.ctx, &awselb.CreateTargetGroupInput{Name: &name, Protocol: "TCP",
			Port: aws.Int32(8080), VpcId: aws.String("vpc-1"), TargetType: "ip",
			HealthCheckIntervalSeconds: aws.Int32(10)}))(t).TargetGroups[0].TargetGroupArn
		tuples = append(tuples, elbtypes.TargetGroupTuple{TargetGroupArn: g, Weight: aws.Int32(int32(100 * (1 - i)))})
	}
	c.group, c.other = *tuples[0].TargetGroupArn, *tuples[1].TargetGroupArn
	open := func(port int32) string {
		return *must(c.elb.CreateListener(c.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &c.lb, Port: &port,
			Protocol: "TCP", DefaultActions: []elbtypes.Action{{Type: "forward",
				ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: tuples}}}}))(t).Listeners[0].ListenerArn
	}
	c.production, c.test = open(80), open(81)
	c.pass(3 * time.Minute)
	return c
}

// flows returns the weights of a listener, as "100/0".
func (c *crossing) flows(listener string) string {
	c.Helper()
	ls := must(c.elb.DescribeListeners(c.ctx, &awselb.DescribeListenersInput{ListenerArns: []string{listener}}))(c.T)
	by := map[string]int32{}
	for _, g := range ls.Listeners[0].DefaultActions[0].ForwardConfig.TargetGroups {
		by[*g.TargetGroupArn] = *g.Weight
	}
	return fmt.Sprintf("%d/%d", by[c.group], by[c.other])
}

// Behind a Network Load Balancer ECS writes the listeners, waits about ten minutes after each shift, and
// loses no connection.
func TestBlueGreenBehindANetworkLoadBalancer(t *testing.T) {
	c := newFlow(t, 1)
	c.start(blueGreen(0))
	calls := loadgen.Attach(c.w, c.law, loadgen.Caller{Key: worldtest.Key, Balancer: c.lb, Port: 80, Rate: 50,
		Hold: time.Second})
	arn := c.deploy(good)
	c.reaches(arn, "POST_TEST_TRAFFIC_SHIFT")
	if p, x := c.flows(c.production), c.flows(c.test); p != "100/0" || x != "0/100" {
		t.Errorf("before production: %s, test %s", p, x)
	}
	c.reaches(arn, "PRODUCTION_TRAFFIC_SHIFT")
	began := c.now
	c.reaches(arn, "POST_PRODUCTION_TRAFFIC_SHIFT")
	if took := c.now.Sub(began); took < 10*time.Minute || took > 11*time.Minute || c.flows(c.production) != "0/100" {
		t.Errorf("the shift took %s, %s", took, c.flows(c.production))
	}
	d := c.ends(arn, "SUCCESSFUL")
	if g := c.liveGroup(d.TargetServiceRevision.Arn); g != c.other {
		t.Errorf("live is %s", g)
	}
	c.pass(time.Minute)
	c.lostNone(calls, "v1", "v2")
}

// A rollback behind a Network Load Balancer returns all connections.
func TestCanaryBehindANetworkLoadBalancerGoesBack(t *testing.T) {
	c := newFlow(t, 2)
	c.start(ecstypes.DeploymentConfiguration{Strategy: "CANARY",
		CanaryConfiguration: &ecstypes.CanaryConfiguration{CanaryPercent: aws.Float64(20)}})
	arn := c.deploy(good)
	c.until(arn, "the first shift", time.Hour, func(ecstypes.ServiceDeployment) bool { return c.flows(c.production) == "80/20" })
	c.stop(arn)
	c.ends(arn, "ROLLBACK_SUCCESSFUL")
	if p := c.flows(c.production); p != "100/0" {
		t.Error(p)
	}
}

// The listener of an Application Load Balancer is no rule.
func TestAListenerOfAnApplicationLoadBalancerIsNoRule(t *testing.T) {
	c := newCrossing(t, 3)
	ls := must(c.elb.DescribeListeners(c.ctx, &awselb.DescribeListenersInput{LoadBalancerArn: &c.lb}))(t).Listeners
	c.production = *ls[0].ListenerArn
	conf := blueGreen(0)
	refused(c.api.CreateService(c.ctx, c.input("sim/web:v1", &conf)))(t, invalidParameter,
		"The productionListenerRule "+c.production+" does not exist.")
}

// With Service Connect alone every strategy passes its stages. Its ports need an appProtocol, and its
// services one client alias at most.
func TestStrategiesWithServiceConnect(t *testing.T) {
	c := newCrossing(t, 4)
	_ = c.w.Do(worldtest.Key, func(tx *world.Tx) error {
		tx.AddNamespace(&world.Namespace{ID: "ns-1", ARN: "arn:ns-1", Name: "shop", Kind: world.HTTPNamespace})
		return nil
	})
	register := func(image string, protocol ecstypes.ApplicationProtocol) *string {
		in := fargate("api", image)
		p := &in.ContainerDefinitions[0].PortMappings[0]
		p.Name, p.AppProtocol = aws.String("http"), protocol
		return must(c.api.RegisterTaskDefinition(c.ctx, in))(t).TaskDefinition.TaskDefinitionArn
	}
	conf := ecstypes.DeploymentConfiguration{Strategy: "LINEAR",
		LinearConfiguration: &ecstypes.LinearConfiguration{StepPercent: aws.Float64(50), StepBakeTimeInMinutes: aws.Int32(1)}}
	in := c.input("sim/web:v1", &conf)
	in.LoadBalancers, in.ServiceConnectConfiguration = nil, connect("shop", "http")
	in.TaskDefinition = register("sim/web:v1", "")
	refused(c.api.CreateService(c.ctx, in))(t, invalidParameter,
		"The port mapping http must have the appProtocol http, http2 or grpc with the LINEAR deployment strategy.")
	in.TaskDefinition = register("sim/web:v1", "http")
	aliases := []ecstypes.ServiceConnectClientAlias{{Port: aws.Int32(80)}, {Port: aws.Int32(81)}}
	in.ServiceConnectConfiguration.Services[0].ClientAliases = aliases
	refused(c.api.CreateService(c.ctx, in))(t, invalidParameter,
		"The Service Connect service of port mapping http can have only one client alias with the LINEAR deployment strategy.")
	in.ServiceConnectConfiguration.Services[0].ClientAliases = aliases[:1]
	out := must(c.api.CreateService(c.ctx, in))(t)
	c.ends(*out.Service.CurrentServiceDeployment, "SUCCESSFUL")
	arn := c.update(&awsecs.UpdateServiceInput{TaskDefinition: register("sim/web:v2", "http")})
	c.until(arn, "half", time.Hour, func(d ecstypes.ServiceDeployment) bool {
		return aws.ToFloat64(d.TargetServiceRevision.RequestedProductionTrafficWeight) == 50
	})
	c.ends(arn, "SUCCESSFUL")
}
