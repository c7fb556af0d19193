package elbv2_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	smithy "github.com/aws/smithy-go"
	"net/http"

	"github.com/sluice-ecs/sluice/awssim/elbv2"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// bench is a world with an unmodified SDK client before it.
type bench struct {
	*testing.T
	*awselb.Client
	ctx context.Context
	now time.Time
	w   *world.World
	law *loadbalancer.Controller
	n   byte
}

var key = world.Key{Account: "123456789012", Region: "eu-west-1"}

func (b *bench) Now() time.Time                             { return b.now }
func (b *bench) Sleep(context.Context, time.Duration) error { return nil }
func (b *bench) pass(d time.Duration)                       { b.now = b.now.Add(d); b.w.Advance() }

func newBench(t *testing.T) *bench {
	b := &bench{T: t, now: time.Now().UTC().Truncate(time.Second), ctx: t.Context()}
	k := world.NoDelays()
	b.w = world.New(world.Options{Clock: b, Seed: 1, Settings: &k, Strict: true})
	b.law = loadbalancer.New(b.w)
	b.w.OnNewRegion(func(tx *world.Tx) {
		base := world.DefaultNetwork(tx.Index).Addr().As4()
		tx.VPCs.Put("vpc-1", &world.VPC{ID: "vpc-1", CIDR: world.DefaultNetwork(tx.Index)})
		for i, zone := range []string{"a", "b", "c"} {
			base[2] = byte(16 * i)
			id := "subnet-" + zone
			tx.Subnets.Put(id, &world.Subnet{ID: id, VPC: "vpc-1", Zone: "eu-west-1" + zone,
				CIDR: netip.PrefixFrom(netip.AddrFrom4(base), 20)})
		}
	})
	server := wire.New(b.w, elbv2.NewAPI(b.w, b.law))
	b.Client = awselb.NewFromConfig(aws.Config{
		Region: key.Region, Credentials: credentials.NewStaticCredentialsProvider(key.Account, "x", ""),
		HTTPClient: &http.Client{Transport: server}, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
	})
	return b
}

func (b *bench) balancer(name string) string {
	b.Helper()
	out, err := b.CreateLoadBalancer(b.ctx, &awselb.CreateLoadBalancerInput{Name: &name,
		Subnets: []string{"subnet-a", "subnet-b"}})
	b.ok(err)
	return *out.LoadBalancers[0].LoadBalancerArn
}

func (b *bench) group(name string) string {
	b.Helper()
	out, err := b.CreateTargetGroup(b.ctx, &awselb.CreateTargetGroupInput{Name: &name, Protocol: "HTTP",
		Port:  aws.Int32(80),
		VpcId: aws.String("vpc-1"), TargetType: "ip"})
	b.ok(err)
	return *out.TargetGroups[0].TargetGroupArn
}

func (b *bench) listen(lb string, port int32, actions ...elbtypes.Action) string {
	b.Helper()
	out, err := b.CreateListener(b.ctx, &awselb.CreateListenerInput{LoadBalancerArn: &lb, Port: &port, Protocol: "HTTP",
		DefaultActions: actions})
	b.ok(err)
	return *out.Listeners[0].ListenerArn
}

func (b *bench) rule(listener string, priority int32, actions ...elbtypes.Action) string {
	b.Helper()
	out, err := b.CreateRule(b.ctx, &awselb.CreateRuleInput{ListenerArn: &listener, Priority: &priority,
		Conditions: path("/*"), Actions: actions})
	b.ok(err)
	return *out.Rules[0].RuleArn
}

func path(p string) []elbtypes.RuleCondition {
	return []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{p}}}
}

// to forwards to a single group; weighted to groups and weights in turn.
func to(group string) elbtypes.Action {
	return elbtypes.Action{Type: "forward", TargetGroupArn: &group}
}

func weighted(groups []string, weights ...int32) elbtypes.Action {
	c := &elbtypes.ForwardActionConfig{}
	for i, g := range groups {
		c.TargetGroups = append(c.TargetGroups, elbtypes.TargetGroupTuple{TargetGroupArn: aws.String(g),
			Weight: aws.Int32(weights[i])})
	}
	return elbtypes.Action{Type: "forward", ForwardConfig: c}
}

// task is a running task of an image; its address is the result.
func (b *bench) task(img string) string {
	b.Helper()
	does, err := image.Parse(img)
	b.ok(err)
	b.n++
	t := &world.Task{ARN: "arn:task/" + img, ID: img, LastStatus: "RUNNING",
		Containers: []*world.Container{{Behaviour: does, Status: "RUNNING",
			Spec: world.ContainerSpec{Name: "web", Ports: []world.Port{{Container: 80}}}}}}
	b.ok(b.w.Do(key, func(tx *world.Tx) error {
		base := world.DefaultNetwork(tx.Index).Addr().As4()
		base[3] = 4 + b.n
		t.Address, t.StartedAt = netip.AddrFrom4(base), tx.Now()
		if tx.TasksByAddress == nil {
			tx.TasksByAddress = map[netip.Addr]*world.Task{}
		}
		tx.TasksByAddress[t.Address] = t
		return nil
	}))
	return t.Address.String()
}

func (b *bench) register(group string, ids ...string) {
	b.Helper()
	in := &awselb.RegisterTargetsInput{TargetGroupArn: &group}
	for _, id := range ids {
		in.Targets = append(in.Targets, elbtypes.TargetDescription{Id: aws.String(id)})
	}
	_, err := b.RegisterTargets(b.ctx, in)
	b.ok(err)
}

// health is "state reason" of each target of a group.
func (b *bench) health(group string, ids ...string) string {
	b.Helper()
	in := &awselb.DescribeTargetHealthInput{TargetGroupArn: &group}
	for _, id := range ids {
		in.Targets = append(in.Targets, elbtypes.TargetDescription{Id: aws.String(id)})
	}
	out, err := b.DescribeTargetHealth(b.ctx, in)
	b.ok(err)
	var parts []string
	for _, d := range out.TargetHealthDescriptions {
		parts = append(parts, strings.TrimSpace(string(d.TargetHealth.State)+" "+string(d.TargetHealth.Reason)))
	}
	return strings.Join(parts, ", ")
}

func (b *bench) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// refused wants an error with that code and with text in its message.
func (b *bench) refused(err error, code, text string) {
	b.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) {
		b.Errorf("got %v, want %s", err, code)
		return
	}
	if api.ErrorCode() != code || !strings.Contains(api.ErrorMessage(), text) {
		b.Errorf("got %s %q, want %s %q", api.ErrorCode(), api.ErrorMessage(), code, text)
	}
}

func (b *bench) groupNamed(name string) elbtypes.TargetGroup {
	b.Helper()
	out, err := b.DescribeTargetGroups(b.ctx, &awselb.DescribeTargetGroupsInput{Names: []string{name}})
	b.ok(err)
	return out.TargetGroups[0]
}
