package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/watch"
)

// forwardServed is forward to another service, whose target has not failed its health checks yet.
func (b *bench) forwardServed(own, other int32) {
	b.Helper()
	b.forward(own, other)
	ctx := context.Background()
	got(b.elb.ModifyTargetGroup(ctx, &awselb.ModifyTargetGroupInput{TargetGroupArn: aws.String(b.other),
		HealthCheckIntervalSeconds: aws.Int32(300), UnhealthyThresholdCount: aws.Int32(10)}))(b)
	some := got(b.elb.DescribeTargetHealth(ctx, &awselb.DescribeTargetHealthInput{TargetGroupArn: aws.String(b.group)}))(b)
	got(b.elb.RegisterTargets(ctx, &awselb.RegisterTargetsInput{TargetGroupArn: aws.String(b.other),
		Targets: []elbtypes.TargetDescription{{Id: some.TargetHealthDescriptions[0].Target.Id, Port: aws.Int32(9)}}}))(b)
}

// forward makes the listener forward to the group of the service and to another one, which is empty.
func (b *bench) forward(own, other int32) {
	b.Helper()
	ctx := context.Background()
	if b.other == "" {
		_, vpc := b.places()
		g := got(b.elb.CreateTargetGroup(ctx, &awselb.CreateTargetGroupInput{Name: aws.String("other"),
			Protocol: elbtypes.ProtocolEnumHttp, Port: aws.Int32(8080), TargetType: elbtypes.TargetTypeEnumIp,
			VpcId: aws.String(vpc)}))(b)
		b.other = *g.TargetGroups[0].TargetGroupArn
	}
	got(b.elb.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: b.listener(),
		DefaultActions: []elbtypes.Action{{Type: elbtypes.ActionTypeEnumForward,
			ForwardConfig: &elbtypes.ForwardActionConfig{TargetGroups: []elbtypes.TargetGroupTuple{
				{TargetGroupArn: aws.String(b.group), Weight: aws.Int32(own)},
				{TargetGroupArn: aws.String(b.other), Weight: aws.Int32(other)}}}}}}))(b)
}

// waitEnds is wait that also returns the ends that were told.
func (b *bench) waitEnds(name string, w verdict.Wanted) (v verdict.Verdict, ends []sluice.DeploymentEnded) {
	b.Helper()
	var changes watch.Changes
	seen, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: name, Wanted: w},
		func(s watch.Update) {
			b.seen = append(b.seen, s.Verdict.Detail)
			for _, e := range changes.Events(s) {
				if ended, ok := e.(sluice.DeploymentEnded); ok {
					ends = append(ends, ended)
				}
			}
		})
	must(b, err)
	return seen.Verdict, ends
}

// A wait succeeds only if callers get the revision: it reads the rules once AWS reports the end.
func TestSuccessIsAboutCallers(t *testing.T) {
	for _, c := range []struct {
		name    string
		act     func(*bench) // right before AWS reports success
		outcome sluice.Outcome
		callers verdict.Callers
		detail  string
	}{
		{"served", func(*bench) {}, sluice.Succeeded, verdict.CallersServed, "web:2 serves"},
		{"another, empty group has weight too", func(b *bench) { b.forward(50, 50) }, sluice.Failed, verdict.CallersServed,
			"callers do not get it: default rule of port 80 sends 50 % of the requests to other, which has no healthy target"},
		{"another service has weight too", func(b *bench) { b.forwardServed(50, 50) }, sluice.Failed, verdict.CallersServed,
			"sends more of its requests to another service than before: it forwards to web 50, other 50"},
		{"no weight", func(b *bench) { b.forward(0, 0) }, sluice.Failed, verdict.CallersNone,
			"callers do not get it: default rule of port 80 gives weight to no target group: callers get 503"},
		{"no weight for some seconds", func(b *bench) {
			b.forward(0, 0)
			b.clock.Go(func() { b.sleep(60 * time.Second); b.forward(100, 0) })
		}, sluice.Succeeded, verdict.CallersServed, "web:2 serves"},
		{"sent to another service during the wait", func(b *bench) { b.forward(0, 100) }, sluice.Failed, verdict.CallersNone,
			"sends no requests to the service any more: it forwards to web 0, other 100"},
	} {
		t.Run(c.name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.balance()
				b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
				b.deploy("web", b.revision("sim/web:v2"))
				b.clock.Go(func() {
					b.until("only new tasks run", func() bool { return b.isAlone(2) })
					c.act(b)
				})
				v, ends := b.waitEnds("web", verdict.Wanted{Timeout: time.Hour})
				if v.Outcome != c.outcome || v.Callers != c.callers || !strings.Contains(v.Detail, c.detail) {
					t.Errorf("%s, callers %q: %s\n%s", v.Outcome, v.Callers, v.Detail, b.story())
				}
				if len(ends) != 1 || ends[0].Outcome != c.outcome {
					t.Errorf("the ends that were told: %+v", ends)
				}
				if v.Outcome == sluice.Failed && !strings.Contains(v.Next, "aws elbv2 ") {
					t.Errorf("next: %s", v.Next)
				}
			})
		})
	}
}

// A wait that begins after a rule was shared does not know whether that was so before the deployment: its success says
// it.
func TestSharedRuleIsTold(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		b.forwardServed(10, 90)
		v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
		const want = "another service gets requests too: default rule of port 80 forwards to web 10, other 90"
		if v.Outcome != sluice.Succeeded || !strings.Contains(v.Detail, want) {
			t.Errorf("%s: %s, want %s", v.Outcome, v.Detail, want)
		}
	})
}

// What targets show is told until they are read again or the service changes, also at polls that read none. Here the
// last former task goes meanwhile.
func TestUnusedGroupIsToldOn(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		b.deploy("web", b.revision("sim/web:v2"))
		b.clock.Go(func() {
			b.until("only new tasks run", func() bool { return b.isAlone(2) })
			b.deleteListener()
		})
		v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
		begins, told := 0, false
		for _, line := range b.seen {
			now := strings.Contains(line, "is unused: Target group is not configured to receive traffic")
			if now && !told {
				begins++
			}
			told = now
		}
		if v.Outcome != sluice.Failed || begins > 2 {
			t.Errorf("%s: the unused group is told anew %d times, want at most twice\n%s", v.Outcome, begins, b.story())
		}
	})
}

// deleteListener deletes the listener of the load balancer.
func (b *bench) deleteListener() {
	b.Helper()
	got(b.elb.DeleteListener(context.Background(), &awselb.DeleteListenerInput{ListenerArn: b.listener()}))(b)
}

// listener returns the ARN of the listener of the load balancer.
func (b *bench) listener() *string {
	b.Helper()
	ctx := context.Background()
	lbs := got(b.elb.DescribeLoadBalancers(ctx, nil))(b)
	all := got(b.elb.DescribeListeners(ctx,
		&awselb.DescribeListenersInput{LoadBalancerArn: lbs.LoadBalancers[0].LoadBalancerArn}))(b)
	return all.Listeners[0].ListenerArn
}

// A rule that sends requests to another service since before the wait is no failure: the service receives no requests.
// A wait that begins after the end of the deployment knows no earlier rule.
func TestServiceWithoutRequests(t *testing.T) {
	for _, late := range []bool{false, true} {
		on(t, options{}, func(b *bench) {
			b.balance()
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			if !late {
				b.forwardServed(0, 100)
			}
			b.deploy("web", b.revision("sim/web:v2"))
			if late {
				b.until("only new tasks run", func() bool { return b.isAlone(2) && len(b.service("web").Deployments) == 1 })
				b.forwardServed(0, 100)
			}
			v, ends := b.waitEnds("web", verdict.Wanted{Timeout: time.Hour})
			if v.Outcome != sluice.Succeeded || v.Callers != verdict.CallersNone ||
				!strings.Contains(v.Detail, "the service receives no requests") {
				t.Errorf("late %t: %s, callers %q: %s", late, v.Outcome, v.Callers, v.Detail)
			}
			if len(ends) != 1 || !strings.Contains(ends[0].Cause, "the service receives no requests") {
				t.Errorf("late %t: the ends that were told: %+v", late, ends)
			}
		})
	}
}

// A rule that sends requests to another service in the middle of a wait, and back within a minute, is no failure. The
// nodes of the load balancer follow seconds after the rule is back: the success waits for them.
func TestRuleThatComesBack(t *testing.T) {
	for after := 20 * time.Second; after < 60*time.Second; after += 3 * time.Second {
		on(t, options{}, func(b *bench) {
			b.balance()
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			b.deploy("web", b.revision("sim/web:v2"))
			b.clock.Go(func() {
				b.until("only new tasks run", func() bool { return b.isAlone(2) })
				b.forward(0, 100)
				b.until("ECS reports success", func() bool { return len(b.service("web").Deployments) == 1 })
				b.sleep(after)
				b.forward(100, 0)
			})
			b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Succeeded, "", "")
			if gets := b.callersGet(); gets != "v2 200" ||
				!strings.Contains(b.story(), "waiting for callers: default rule of port 80 sends no requests") {
				t.Errorf("after %s callers get %q\n%s", after, gets, b.story())
			}
		})
	}
}

// A rule that does not send requests to the service any more is told while the tasks bake. It sends them again before
// the end, which decides.
func TestLostRuleIsToldDuringTheBake(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.balance()
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
		b.deploy("web", b.revision("sim/web:v2"))
		var lost time.Time
		b.clock.Go(func() {
			b.until("only new tasks run", func() bool { return b.isAlone(2) && len(b.service("web").Deployments) == 1 })
			b.sleep(3 * time.Minute)
			lost = b.clock.Now()
			b.forwardServed(0, 100)
			b.sleep(3 * time.Minute)
			b.forward(100, 0)
		})
		var told []string
		var changes watch.Changes
		end, err := b.watch.Wait(context.Background(), watch.Target{Cluster: "prod", Service: "web",
			Wanted: verdict.Wanted{Timeout: time.Hour, Bake: 20 * time.Minute}}, func(u watch.Update) {
			for _, e := range changes.Events(u) {
				if w, ok := e.(sluice.Waiting); ok && strings.HasPrefix(w.For, "callers") {
					told = append(told, w.For+": "+w.Detail)
					if late := u.At.Sub(lost); late > 145*time.Second {
						t.Errorf("told after %s", late)
					}
				}
			}
		})
		must(t, err)
		b.ends(end.Verdict, sluice.Succeeded, "", "")
		want := "callers to reach web:2: default rule of port 80 sends no requests to the service any more: it forwards to " +
			"web 0, other 100"
		if len(told) != 1 || told[0] != want {
			t.Errorf("told %q, want once %q", told, want)
		}
	})
}
