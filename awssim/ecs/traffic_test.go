package ecs_test

import (
	"context"
	"fmt"
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
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// street is ECS behind the real law of load balancers, under requests.
type street struct {
	*testing.T
	ctx   context.Context
	now   time.Time
	w     *world.World
	room  *ecs.Service
	law   *loadbalancer.Controller
	elb   *elbv2.Service
	lb    string
	group string
}

func (s *street) Now() time.Time                             { return s.now }
func (s *street) Sleep(context.Context, time.Duration) error { return nil }

func newStreet(t *testing.T, seed uint64) *street {
	s := &street{T: t, ctx: world.WithKey(t.Context(), worldtest.Key), now: worldtest.StartTime()}
	s.w = world.New(world.Options{Clock: s, Seed: seed, Strict: true})
	s.law = loadbalancer.New(s.w)
	s.room = ecs.New(s.w)
	elb := elbv2.New(s.w, s.law)
	s.elb = elb
	s.w.OnNewRegion(func(tx *world.Tx) {
		base := world.DefaultNetwork(tx.Index).Addr().As4()
		tx.VPCs.Put("vpc-1", &world.VPC{ID: "vpc-1", Default: true})
		for i, id := range worldtest.Subnets {
			base[2] = byte(16 * i)
			tx.Subnets.Put(id, &world.Subnet{ID: id, VPC: "vpc-1", Zone: tx.Key.Region + string(rune('a'+i)),
				CIDR: netip.PrefixFrom(netip.AddrFrom4(base), 20), Default: true})
		}
	})
	lb := must(elb.CreateLoadBalancer(s.ctx, &awselb.CreateLoadBalancerInput{Name: aws.String("edge"),
		Subnets: worldtest.Subnets}))(t)
	s.lb = *lb.LoadBalancers[0].LoadBalancerArn
	g := must(elb.CreateTargetGroup(s.ctx, &awselb.CreateTargetGroupInput{Name: aws.String("web"), Protocol: "HTTP",
		Port:  aws.Int32(8080),
		VpcId: aws.String("vpc-1"), TargetType: "ip", HealthCheckIntervalSeconds: aws.Int32(10)}))(t)
	s.group = *g.TargetGroups[0].TargetGroupArn
	must(elb.ModifyTargetGroupAttributes(s.ctx, &awselb.ModifyTargetGroupAttributesInput{TargetGroupArn: &s.group,
		Attributes: []elbtypes.TargetGroupAttribute{{Key: aws.String("deregistration_delay.timeout_seconds"),
			Value: aws.String("30")}}}))(t)
	must(elb.CreateListener(s.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &s.lb, Port: aws.Int32(80),
		Protocol:       "HTTP",
		DefaultActions: []elbtypes.Action{{Type: "forward", TargetGroupArn: &s.group}}}))(t)
	must(s.room.CreateCluster(s.ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("web")}))(t)
	s.pass(3 * time.Minute) // the load balancer is provisioned
	return s
}

// pass lets time go by in steps, as a client that looks now and then.
func (s *street) pass(d time.Duration) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(time.Second)
		s.w.Advance()
	}
}

func (s *street) register(image string) *string {
	s.Helper()
	return must(s.room.RegisterTaskDefinition(s.ctx, fargate("api", image)))(s.T).TaskDefinition.TaskDefinitionArn
}

func (s *street) create(image string, desired int32, c *ecstypes.DeploymentConfiguration) {
	s.Helper()
	in := rollingInput(*s.register(image), desired, s.group)
	in.DeploymentConfiguration = c
	must(s.room.CreateService(s.ctx, in))(s.T)
	s.pass(5 * time.Minute)
}

// roll deploys an image and awaits the end of its service deployment.
func (s *street) roll(image string) string {
	s.Helper()
	out := must(s.room.UpdateService(s.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"),
		Service: aws.String("api"), TaskDefinition: s.register(image)}))(s.T)
	for range 120 {
		s.pass(30 * time.Second)
		d := must(s.room.DescribeServiceDeployments(s.ctx,
			&awsecs.DescribeServiceDeploymentsInput{ServiceDeploymentArns: []string{*out.Service.CurrentServiceDeployment}}))(s.T)
		if x := d.ServiceDeployments[0]; x.FinishedAt != nil {
			return string(x.Status)
		}
	}
	s.Fatalf("no end within an hour; events %v",
		must(s.room.DescribeServices(s.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
			Services: []string{"api"}}))(s.T).Services[0].Events)
	return ""
}

func (s *street) call() *loadgen.Tally {
	return loadgen.Attach(s.w, s.law, loadgen.Caller{Key: worldtest.Key, Balancer: s.lb, Port: 80, Rate: 500,
		Request: loadbalancer.Request{Method: "GET", Path: "/"}})
}

// A rolling update to a good version loses no request of 500 a second, and a bad
// one that never takes traffic loses none on its way there and back.
func TestRollingUpdatesLoseNothing(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := breaker(true)
			lo := []int32{100, 50, 75, 100}[seed%4]
			c.MinimumHealthyPercent, c.MaximumPercent = &lo, aws.Int32([]int32{200, 100, 125, 150}[seed%4])
			s := newStreet(t, seed)
			s.create("sim/web:v1-latency-50ms-term-2s", 4, c)
			calls := s.call()
			if got := s.roll("sim/web:v2-latency-50ms-term-2s-healthy-after-8s"); got != "SUCCESSFUL" {
				t.Errorf("a good version: %s", got)
			}
			bad := []string{"sim/web:v3-never-healthy", "sim/web:v3-noboot", "sim/web:v3-listen-9090"}[seed%3]
			if got := s.roll(bad); got != "ROLLBACK_SUCCESSFUL" {
				t.Errorf("%s: %s", bad, got)
			}
			r := calls.Report()
			if r.Failed != 0 || r.AnsweredBy("v2") == 0 || r.AnsweredBy("v3") != 0 {
				t.Errorf("%v of %v requests failed, %v answered by v2: %+v", r.Failed, r.Requests, r.AnsweredBy("v2"),
					r.First)
			}
		})
	}
}

// What the test above counts can be seen to fail: a version that crashes after it
// was healthy takes requests with it.
func TestACrashingVersionLosesRequests(t *testing.T) {
	s := newStreet(t, 1)
	s.create("sim/web:v1-latency-50ms", 2, nil)
	calls := s.call()
	if got := s.roll("sim/web:v2-crash-after-3m"); got != "SUCCESSFUL" {
		t.Errorf("%s", got)
	}
	s.pass(4 * time.Minute)
	if r := calls.Report(); r.Failed == 0 {
		t.Errorf("nothing of %v was lost", r.Requests)
	}
}

// An alarm during the bake brings the former version back although none of its
// tasks is left, without losing a request.
func TestAnAlarmRollsBackUnderTraffic(t *testing.T) {
	s := newStreet(t, 5)
	_ = s.w.Do(worldtest.Key, func(tx *world.Tx) error {
		tx.AddAlarm(&world.Alarm{Name: "5xx", State: "OK", Period: time.Minute, EvaluationPeriods: 3})
		return nil
	})
	s.create("sim/web:v1-latency-50ms", 3, &ecstypes.DeploymentConfiguration{
		Alarms: &ecstypes.DeploymentAlarms{AlarmNames: []string{"5xx"}, Enable: true, Rollback: true}})
	s.pass(5 * time.Minute)
	calls := s.call()
	must(s.room.UpdateService(s.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		TaskDefinition: s.register("sim/web:v2-latency-50ms")}))(t)
	s.pass(150 * time.Second)
	before := calls.Report()
	_ = s.w.Do(worldtest.Key, func(tx *world.Tx) error {
		a, _ := tx.Alarms.Get("5xx")
		tx.SetAlarm(a, "ALARM", "", "")
		return nil
	})
	s.pass(10 * time.Minute)
	r := calls.Report()
	back := r.AnsweredBy("v1") - before.AnsweredBy("v1")
	if r.Failed != 0 || before.AnsweredBy("v2") == 0 || back < 500*400 {
		t.Errorf("%v failed, v2 had %v, v1 has %v since: %+v", r.Failed, before.AnsweredBy("v2"), back, r.First)
	}
	svc := must(s.room.DescribeServices(s.ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("web"),
		Services: []string{"api"}}))(t).Services[0]
	if !completed(svc) || *svc.TaskDefinition != "arn:aws:ecs:eu-west-1:123456789012:task-definition/api:1" {
		t.Errorf("%+v", svc.Deployments)
	}
}
