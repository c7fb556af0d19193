package loadgen_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/elbv2"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// account is a whole small AWS: ECS and its load balancer, with AWS's delays.
type account struct {
	*testing.T
	ctx      context.Context
	now      time.Time
	w        *world.World
	law      *loadbalancer.Controller
	ecs      *ecs.Service
	elb      *elbv2.Service
	lb, rule string
	groups   []string
}

func (a *account) Now() time.Time                             { return a.now }
func (a *account) Sleep(context.Context, time.Duration) error { return nil }

// pass lets time go by in steps, as a client that looks now and then.
func (a *account) pass(d time.Duration) {
	for end := a.now.Add(d); a.now.Before(end); {
		a.now = a.now.Add(time.Second)
		a.w.Advance()
	}
}

func must[T any](a *account, v T, err error) T {
	a.Helper()
	if err != nil {
		a.Fatal(err)
	}
	return v
}

func newAccount(t *testing.T) *account {
	a := &account{T: t, ctx: world.WithKey(t.Context(), key), now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)}
	a.w = world.New(world.Options{Clock: a, Seed: 11, Strict: true})
	a.law = loadbalancer.New(a.w)
	a.ecs, a.elb = ecs.New(a.w), elbv2.New(a.w, a.law)
	a.w.OnNewRegion(func(tx *world.Tx) {
		base := world.DefaultNetwork(tx.Index).Addr().As4()
		tx.VPCs.Put("vpc-1", &world.VPC{ID: "vpc-1", Default: true})
		for i, zone := range []string{"a", "b"} {
			base[2] = byte(16 * i)
			id := "subnet-" + zone
			tx.Subnets.Put(id, &world.Subnet{ID: id, VPC: "vpc-1", Zone: key.Region + zone,
				CIDR: netip.PrefixFrom(netip.AddrFrom4(base), 20), Default: true})
		}
	})
	lb := sure(a.elb.CreateLoadBalancer(a.ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("edge"),
		Subnets: []string{"subnet-a", "subnet-b"}}))
	a.lb = *lb.LoadBalancers[0].LoadBalancerArn
	for _, name := range []string{"web", "canary"} {
		g, err := a.elb.CreateTargetGroup(a.ctx, &awselb.CreateTargetGroupInput{Name: &name, Protocol: "HTTP",
			Port: aws.Int32(80), VpcId: aws.String("vpc-1"), TargetType: "ip"})
		a.groups = append(a.groups, *must(a, g, err).TargetGroups[0].TargetGroupArn)
	}
	l, err := a.elb.CreateListener(a.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &a.lb, Port: aws.Int32(80),
		Protocol:       "HTTP",
		DefaultActions: []elbtypes.Action{{Type: "forward", TargetGroupArn: &a.groups[0]}}})
	listener := must(a, l, err).Listeners[0].ListenerArn
	r, err := a.elb.CreateRule(a.ctx, &awselb.CreateRuleInput{ListenerArn: listener, Priority: aws.Int32(1),
		Actions:    a.actions(100, 0),
		Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/*"}}}})
	a.rule = *must(a, r, err).Rules[0].RuleArn
	sure(a.ecs.CreateCluster(a.ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("main")}))
	s, err := a.ecs.CreateService(a.ctx, &awsecs.CreateServiceInput{Cluster: aws.String("main"),
		ServiceName: aws.String("web"), DesiredCount: aws.Int32(2),
		DeploymentController: &ecstypes.DeploymentController{Type: ecstypes.DeploymentControllerTypeExternal}})
	must(a, s, err)
	a.pass(3 * time.Minute) // the load balancer is provisioned
	return a
}

// sure is a value that laying the account cannot fail to make.
func sure[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (a *account) actions(web, canary int32) []elbtypes.Action {
	return []elbtypes.Action{{Type: "forward",
		ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{
			{TargetGroupArn: &a.groups[0], Weight: &web}, {TargetGroupArn: &a.groups[1], Weight: &canary}}}}}
}

func (a *account) weigh(web, canary int32) {
	a.Helper()
	out, err := a.elb.ModifyRule(a.ctx, &awselb.ModifyRuleInput{RuleArn: &a.rule, Actions: a.actions(web, canary)})
	must(a, out, err)
}

// set makes a task set of an image behind a group.
func (a *account) set(group int, img string) string {
	a.Helper()
	td, err := a.ecs.RegisterTaskDefinition(a.ctx, &awsecs.RegisterTaskDefinitionInput{Family: aws.String("web"),
		NetworkMode:             ecstypes.NetworkModeAwsvpc,
		RequiresCompatibilities: []ecstypes.Compatibility{ecstypes.CompatibilityFargate}, Cpu: aws.String("256"),
		Memory: aws.String("512"),
		ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: aws.String("web"), Image: &img,
			Essential:    aws.Bool(true),
			PortMappings: []ecstypes.PortMapping{{ContainerPort: aws.Int32(80)}}}}})
	def := must(a, td, err).TaskDefinition.TaskDefinitionArn
	ts, err := a.ecs.CreateTaskSet(a.ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("main"),
		Service: aws.String("web"), TaskDefinition: def,
		LaunchType: ecstypes.LaunchTypeFargate, Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 100},
		NetworkConfiguration: &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-a", "subnet-b"}}},
		LoadBalancers: []ecstypes.LoadBalancer{{TargetGroupArn: &a.groups[group],
			ContainerName: aws.String("web"), ContainerPort: aws.Int32(80)}}})
	return *must(a, ts, err).TaskSet.TaskSetArn
}

func (a *account) scale(set string, percent float64) {
	a.Helper()
	out, err := a.ecs.UpdateTaskSet(a.ctx, &awsecs.UpdateTaskSetInput{Cluster: aws.String("main"),
		Service: aws.String("web"), TaskSet: &set,
		Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: percent}})
	must(a, out, err)
}

func (a *account) call() *loadgen.Tally {
	return loadgen.Attach(a.w, a.law, loadgen.Caller{Key: key, Balancer: a.lb, Port: 80, Rate: 200,
		Request: loadbalancer.Request{Method: "GET", Path: "/"}})
}

// A canary in the right order loses nothing; each step out of order is seen.
func TestCanaryWithoutSluice(t *testing.T) {
	run := func(wait time.Duration, drain bool) loadgen.Report {
		a := newAccount(t)
		a.set(0, "sim/web:v1?latency=50ms")
		a.pass(3 * time.Minute)
		calls := a.call()
		canary := a.set(1, "sim/web:v2?latency=50ms")
		a.pass(wait)
		a.weigh(75, 25)
		a.pass(4 * time.Minute)
		if drain {
			a.weigh(100, 0)
			a.pass(10 * time.Second)
		}
		a.scale(canary, 0)
		a.pass(10 * time.Minute)
		if !drain {
			a.weigh(100, 0)
		}
		a.pass(time.Minute)
		return calls.Report()
	}
	if r := run(3*time.Minute, true); r.Failed != 0 || r.AnsweredBy("v2") < 0.24*240*200 || len(r.First) != 0 {
		t.Errorf("in the right order: %v of %v failed, v2 answered %v: %+v", r.Failed, r.Requests, r.AnsweredBy("v2"),
			r.First)
	}
	if r := run(10*time.Second, true); r.Failed == 0 {
		t.Error("traffic before the canary is healthy loses nothing")
	}
	if r := run(3*time.Minute, false); r.Failed == 0 {
		t.Error("the canary is taken away under traffic and nothing is lost")
	}
}
