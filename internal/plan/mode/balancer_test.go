package mode

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

const networkListener = elb + "listener/net/web/0123456789abcdef/0123456789abcdef"

// networkLive is a healthy service behind a Network Load Balancer; each change alters it.
func networkLive(changes ...func(*plan.AWSState)) plan.AWSState {
	l := live()
	for _, g := range []*plan.GroupAttachment{l.Primary, l.Canary} {
		g.Type, g.Protocol, g.Target, g.Check, g.Drain = plan.NetworkBalancer, "TCP", "ip", "HTTP", plan.NetworkDrain
	}
	r := &l.Steered[0]
	r.ARN, r.Listener, r.Priority, r.Protocol = networkListener, networkListener, "default", "TCP"
	for _, c := range changes {
		c(&l)
	}
	return l
}

func TestNetworkPlan(t *testing.T) {
	p, err := Make(app(t, threeSteps, awsvpc), networkLive(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := sluice.Write{Operation: "elasticloadbalancing:ModifyListener", Resource: networkListener}
	shift := p.Stages[1]
	if p.Balancer != plan.NetworkBalancer || !p.WaitsAfterShift() || !shift.MayWrite(write) ||
		shift.Routes[0].Name != "default action of port 80" || !p.Rollback.MayWrite(write) {
		t.Errorf("%s, shift %+v", p.Balancer, shift)
	}
	f := NewForecast(p, forecast.Timings{})
	if f.Stages[1] != p.ShiftPropagation() || f.Stages[3] != p.ShiftPropagation() ||
		f.Stages[4] >= p.ShiftPropagation() || f.Took < 20*time.Minute {
		t.Errorf("forecast %s in all: %v", f.Took, f.Stages)
	}
	if !slices.ContainsFunc(f.Assumes, func(s string) bool { return strings.Contains(s, "each change of weights") }) {
		t.Errorf("the forecast assumes %q", f.Assumes)
	}
}

// A stage that removes the canary while it gets connections shifts them first, and waits.
func TestNetworkForecastOfACleanThatShifts(t *testing.T) {
	p, err := Make(app(t, strings.Replace(threeSteps, "    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}\n", "",
		1), awsvpc), networkLive(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := NewForecast(p, forecast.Timings{}); f.Stages[3] < p.ShiftPropagation() {
		t.Errorf("the clean stage takes %s", f.Stages[3])
	}
}

func TestRefusedBehindANetworkLoadBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		edits     []string
		live      plan.AWSState
		err, next string
	}{
		"a rule": {edits: []string{"input:|input:\n  listenerRules: [" + elb + "listener-rule/net/web/1/2/3]"},
			live: networkLive(), err: "has no listener rules", next: "name the ARN of the listener"},
		"HTTP": {live: networkLive(func(l *plan.AWSState) { l.Canary.Protocol = "HTTP" }), err: "has protocol HTTP",
			next: "TCP, TLS, UDP, TCP_UDP"},
		"instances": {live: networkLive(func(l *plan.AWSState) { l.Primary.Target = "instance" }),
			err: "has target type instance", next: "target type ip"},
		"an Application Load Balancer as target": {live: networkLive(func(l *plan.AWSState) { l.Canary.Target = "alb" }),
			err: "has target type alb", next: "target type ip"},
		"mixed protocols": {live: networkLive(func(l *plan.AWSState) { l.Canary.Protocol = "TLS" }),
			err: "cannot forward to both", next: "protocol TCP"},
		"stickiness behind TLS": {live: networkLive(func(l *plan.AWSState) {
			l.Steered[0].Protocol, l.Canary.Sticky = "TLS", true
		}), err: "the TLS listener of port 80 does not support", next: "stickiness.enabled to false"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Make(app(t, threeSteps, append(c.edits, awsvpc)...), c.live, Options{})
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(sluice.NextStep(err), c.next) {
				t.Errorf("error %v\nnext %q\nwant %q, next %q", err, sluice.NextStep(err), c.err, c.next)
			}
		})
	}
}

func TestWarningsBehindANetworkLoadBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		live plan.AWSState
		want string
	}{
		"every plan": {networkLive(), "weights move new connections only"},
		"a short drain": {networkLive(func(l *plan.AWSState) { l.Canary.Drain = 20 * time.Second }),
			"web-canary drains for 20s: nodes of a Network Load Balancer may send new connections"},
		"checks that connect": {networkLive(func(l *plan.AWSState) { l.Primary.Check = "TCP" }),
			"health checks of target group web-primary only connect"},
		"stickiness": {networkLive(func(l *plan.AWSState) { l.Primary.Sticky = true }), "web-primary has stickiness"},
		"a listener of the canary": {networkLive(func(l *plan.AWSState) {
			l.Marked = []sluice.Rule{{Port: 81, Priority: "default", Protocol: "TCP"}}
		}), "default action of port 81 always forwards to the canary target group: its connections reach a running " +
			"canary, and are refused without one"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(app(t, threeSteps, awsvpc), c.live, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, c.want) }) {
				t.Errorf("warnings %q, want %q", p.Warnings, c.want)
			}
		})
	}
}
