package mode

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// balancerRules are what the making of a plan asks a type of load balancer.
// TestEveryBalancerTypeHasRules fails for a field that one leaves empty.
type balancerRules struct {
	kind plan.BalancerType
	// refuse rejects target groups and listeners that AWS does not accept together.
	refuse func(*appfile.Application, plan.AWSState) error
	warn   func(*plan.Plan, plan.AWSState)
	// withoutTarget says what happens to requests to a group without targets.
	withoutTarget string
}

func allBalancerRules() []balancerRules {
	return []balancerRules{
		{plan.ApplicationBalancer, refuseStickyTargets, warnApplicationGroups, "get 503"},
		{plan.NetworkBalancer, refuseNetworkGroups, warnNetworkGroups, "are refused"},
	}
}

// balancerRulesOf returns the rules of a type; of an unknown one those of an Application Load
// Balancer, because plans of earlier versions name no type.
func balancerRulesOf(t plan.BalancerType) balancerRules {
	all := allBalancerRules()
	return all[max(0, slices.IndexFunc(all, func(r balancerRules) bool { return r.kind == t }))]
}

// refuseStickyTargets rejects a target group with stickiness in a rule without: AWS refuses to forward to two groups
// then.
func refuseStickyTargets(_ *appfile.Application, live plan.AWSState) error {
	i := slices.IndexFunc(live.WritableRules(), func(r sluice.Rule) bool { return r.Sticky == 0 })
	for _, g := range []*plan.GroupAttachment{live.Primary, live.Canary} {
		if i < 0 || g == nil || !g.Sticky {
			continue
		}
		r := live.WritableRules()[i]
		return &sluice.Error{Op: "plan", Resource: r.ARN, Kind: sluice.Conflict,
			Err: fmt.Errorf("target group %s has stickiness and the %s has none: AWS refuses a rule with two target groups "+
				"then", g.Name, r.Name()),
			Next: "set stickiness in the forward action of the rule, or set stickiness.enabled to false on the target group"}
	}
	return nil
}

// warnApplicationGroups warns about rules with stickiness and about groups that cut connections.
func warnApplicationGroups(p *plan.Plan, live plan.AWSState) {
	warnStickyRules(p, live)
	var undrained []string
	if live.Primary != nil && live.Primary.Drain == 0 {
		undrained = append(undrained, p.Primary.ARN)
	}
	if live.Canary != nil && p.Canary != nil && live.Canary.Drain == 0 {
		undrained = append(undrained, p.Canary.ARN)
	}
	WarnUndrained(p, undrained)
}

// WarnUndrained warns about target groups of an Application Load Balancer whose deregistration delay is 0: it closes the
// connections of a task that stops, and the requests in them get 502.
func WarnUndrained(p *plan.Plan, groups []string) {
	if len(groups) == 0 {
		return
	}
	var names, commands []string
	for _, arn := range groups {
		names = append(names, sluice.TargetGroupName(arn))
		commands = append(commands, "aws elbv2 modify-target-group-attributes --target-group-arn "+arn+
			" --attributes Key=deregistration_delay.timeout_seconds,Value=30")
	}
	noun, verb := "target group", "has"
	if len(groups) > 1 {
		noun, verb = "target groups", "have"
	}
	addWarning(p, "%s %s %s a deregistration delay of 0: requests that a stopping task still answers get errors. "+
		"Raise it: %s", noun, strings.Join(names, " and "), verb, strings.Join(commands, " && "))
}

// warnStickyRules warns that clients of a rule with stickiness keep their target group.
func warnStickyRules(p *plan.Plan, live plan.AWSState) {
	if !slices.ContainsFunc(p.Stages, plan.Stage.ShiftsTraffic) {
		return
	}
	for _, r := range live.WritableRules() {
		if r.Sticky > 0 {
			addWarning(p, "the %s has stickiness: a client stays with its target group for %s, so known clients do not reach "+
				"the canary, and the shares differ from the weights", r.Name(), plan.FormatDuration(r.Sticky))
		}
	}
}

// networkProtocols are the protocols of listeners and target groups whose weights sluice sets.
var networkProtocols = []string{"TCP", "TLS", "UDP", "TCP_UDP"}

// refuseNetworkGroups rejects target groups and listeners between which a Network Load Balancer
// cannot shift weights.
func refuseNetworkGroups(app *appfile.Application, live plan.AWSState) error {
	problem := func(resource, next, format string, args ...any) error {
		return &sluice.Error{Op: "plan", Resource: resource, Kind: sluice.Conflict, Err: fmt.Errorf(format, args...),
			Next: next}
	}
	p, c := live.Primary, live.Canary
	for _, arn := range app.ListenerRules {
		if strings.Contains(arn, ":listener-rule/") {
			return problem(arn, "name the ARN of the listener under listenerRules, or remove listenerRules",
				"a Network Load Balancer has no listener rules: its weights are in the default action of a listener")
		}
	}
	for _, g := range []*plan.GroupAttachment{p, c} {
		switch {
		case g == nil:
		case !slices.Contains(networkProtocols, g.Protocol):
			return problem(g.Name, "use target groups with protocol "+strings.Join(networkProtocols, ", "),
				"the target group has protocol %s, whose weights sluice does not set", g.Protocol)
		case g.Target != "ip":
			return problem(g.Name, "create target groups with target type ip",
				"the target group has target type %s; tasks with an address of their own need type ip", g.Target)
		}
	}
	if c != nil && c.Protocol != p.Protocol {
		return problem(app.Canary.ARN, "create a canary target group with protocol "+p.Protocol,
			"the canary target group has protocol %s and the primary has %s: a listener cannot forward to both",
			c.Protocol, p.Protocol)
	}
	return refuseStickyTLS(live)
}

// refuseStickyTLS rejects target groups with stickiness behind a TLS listener.
func refuseStickyTLS(live plan.AWSState) error {
	i := slices.IndexFunc(live.WritableRules(), isTLS)
	if i < 0 {
		return nil
	}
	for _, g := range []*plan.GroupAttachment{live.Primary, live.Canary} {
		if g != nil && g.Sticky {
			return &sluice.Error{Op: "plan", Resource: g.Name, Kind: sluice.Conflict,
				Err: fmt.Errorf("the target group has stickiness, which the TLS listener of port %d does not support",
					live.WritableRules()[i].Port),
				Next: "set stickiness.enabled to false on the target group"}
		}
	}
	return nil
}

// warnNetworkGroups warns about connections that a Network Load Balancer cuts or misroutes.
func warnNetworkGroups(p *plan.Plan, live plan.AWSState) {
	if slices.ContainsFunc(p.Stages, plan.Stage.ShiftsTraffic) {
		addWarning(p, "weights move new connections only: a Network Load Balancer closes open connections to a target "+
			"group of weight 0 after some time, and those to a stopping task after %s",
			plan.FormatDuration(p.Drain))
	}
	for _, g := range []*plan.GroupAttachment{live.Primary, live.Canary} {
		if g == nil {
			continue
		}
		if g.Drain < plan.NetworkDrain {
			addWarning(p, "target group %s drains for %s: nodes of a Network Load Balancer may send new connections to "+
				"a stopping task for longer; raise deregistration_delay.timeout_seconds to %d or more", g.Name,
				plan.FormatDuration(g.Drain), int(plan.NetworkDrain.Seconds()))
		}
		if g.Check == "TCP" {
			addWarning(p, "the health checks of target group %s only connect (TCP): a task counts as healthy as soon as "+
				"it accepts connections, even if it cannot serve them; use HTTP checks if the task has a health page",
				g.Name)
		}
		if g.Sticky {
			addWarning(p, "target group %s has stickiness: a client keeps its target, so the shares differ from the "+
				"weights", g.Name)
		}
	}
}

func isTLS(r sluice.Rule) bool { return r.Protocol == "TLS" }
