package alb

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/view"
)

// ReadTraffic reads where callers of a service are sent: the production rules, and the targets of the groups that they
// give weight to. If callers do not reach one of those, it reads the other groups too. The result contains every rule
// of before, an earlier read or the zero value. It makes one call for each kind of resource, one for each listener and
// one for each group that it reads. If AWS answers so slowly that others may have changed a rule since it was read, it
// reads everything again.
func ReadTraffic(ctx context.Context, api *awselb.Client, c clock.Clock, s view.Scope,
	before view.Traffic) (view.Traffic, error) {
	for attempt := 1; ; attempt++ {
		t, err := readTraffic(ctx, api, c, s, before)
		if err != nil || c.Now().Sub(t.SentAt) <= freshFor || attempt == maxReads {
			return t, err
		}
	}
}

const (
	freshFor = 15 * time.Second // how long a read may take
	maxReads = 3                // while AWS answers slowly
)

// readTraffic looks the groups up, unless before shows their load balancers, and no caller has lost the service since:
// another process or person may have moved a group to another load balancer.
func readTraffic(ctx context.Context, api *awselb.Client, c clock.Clock, s view.Scope,
	before view.Traffic) (view.Traffic, error) {
	t := view.Traffic{SentAt: c.Now()}
	if s.IsEmpty() {
		return t, nil
	}
	if groups, ok := before.Placed(s); ok {
		t.Groups = groups
		if err := readRoutes(ctx, api, s, before, nil, &t); err != nil || len(t.Problems(before)) == 0 {
			return t, err
		}
		t = view.Traffic{SentAt: c.Now()}
	}
	balancers, err := readTrafficGroups(ctx, api, s, &t)
	if err != nil {
		return t, err
	}
	return t, readRoutes(ctx, api, s, before, balancers, &t)
}

// readRoutes adds the production rules of the load balancers to the groups, and the targets of those groups.
func readRoutes(ctx context.Context, api *awselb.Client, s view.Scope, before view.Traffic, balancers []string,
	t *view.Traffic) error {
	for _, arn := range append(before.Balancers(), s.Balancers()...) {
		balancers = view.WithGroup(balancers, arn)
	}
	var listeners, deleted []string
	var rules []Rule
	for _, arn := range balancers {
		some, of, err := readBalancerRules(ctx, api, arn)
		switch {
		case sluice.KindOf(err) == sluice.NotFound:
			deleted = append(deleted, arn)
		case err != nil:
			return err
		}
		listeners, rules = append(listeners, some...), append(rules, of...)
	}
	t.AddRoutes(s, before, routesOf(rules), listeners)
	t.AddDeletedRules(s, routesOf(rules), listeners)
	for i, r := range t.Routes {
		if r.Gone == view.ListenerDeleted && slices.Contains(deleted, r.Balancer) {
			t.Routes[i].Gone = view.BalancerDeleted
		}
	}
	addTestRepairs(t, s, rules)
	if err := readTrafficTargets(ctx, api, t, func(arn string) bool { return t.NeedsTargets(arn, before) }); err != nil {
		return err
	}
	err := t.ReadOthers(func(arn string) (view.Group, error) { return readGroup(ctx, api, arn) })
	if err != nil || len(t.Problems(before)) == 0 {
		return err
	}
	if err := readTrafficTargets(ctx, api, t, func(string) bool { return true }); err != nil {
		return err
	}
	addRepairs(t, s, rules)
	return nil
}

// NewTraffic returns what [ReadTraffic] would, from groups, targets and rules that were read already.
func NewTraffic(c clock.Clock, s view.Scope, groups []GroupPlace, targets map[string][]sluice.Target,
	rules []Rule) view.Traffic {
	t := view.Traffic{SentAt: c.Now()}
	for _, arn := range s.Groups {
		g := countTargets(arn, targets[arn])
		if i := slices.IndexFunc(groups, func(p GroupPlace) bool { return p.Group == arn }); i >= 0 {
			g.Check = view.NewHealthCheck(groups[i].Settings)
		}
		t.Groups = append(t.Groups, g)
	}
	t.AddRoutes(s, view.Traffic{}, routesOf(rules), nil)
	addRepairs(&t, s, rules)
	addTestRepairs(&t, s, rules)
	return t
}

// LostRules returns the rules of the listeners by which callers reached the service before, and do not any more, as a
// read of all rules of the listeners shows.
func LostRules(s view.Scope, before view.Traffic, listeners []string, rules []Rule) []view.Problem {
	before.Routes = slices.DeleteFunc(slices.Clone(before.Routes), func(r view.Route) bool {
		return !slices.Contains(listeners, r.Listener)
	})
	now := view.Traffic{Groups: before.Groups}
	now.AddRoutes(s, before, routesOf(rules), listeners)
	return now.LostSince(before)
}

// readTrafficGroups adds the groups without their targets, and returns their load balancers. It asks by ARN for those
// only that no name has returned.
func readTrafficGroups(ctx context.Context, api *awselb.Client, s view.Scope,
	t *view.Traffic) (balancers []string, err error) {
	add := func(in *awselb.DescribeTargetGroupsInput) error {
		if len(in.TargetGroupArns)+len(in.Names) == 0 {
			return nil
		}
		found, err := describeGroups(ctx, api, in)
		for _, g := range found {
			if !t.AddGroup(view.Group{ARN: aws.ToString(g.TargetGroupArn), Check: view.NewHealthCheck(settingsOf(g))}) {
				continue
			}
			for _, b := range g.LoadBalancerArns {
				if !slices.Contains(balancers, b) {
					balancers = append(balancers, b)
				}
			}
		}
		return err
	}
	if err := add(&awselb.DescribeTargetGroupsInput{Names: s.Names}); err != nil {
		return nil, err
	}
	unnamed := slices.DeleteFunc(slices.Clone(s.Groups), func(arn string) bool {
		return slices.ContainsFunc(t.Groups, func(g view.Group) bool { return g.ARN == arn })
	})
	if err := add(&awselb.DescribeTargetGroupsInput{TargetGroupArns: unnamed}); err != nil {
		return nil, err
	}
	for _, arn := range s.Groups {
		t.AddGroup(view.Group{ARN: arn, Deleted: true})
	}
	return balancers, nil
}

// readTrafficTargets reads the targets of the groups for which wanted is true, and that were not read.
func readTrafficTargets(ctx context.Context, api *awselb.Client, t *view.Traffic, wanted func(arn string) bool) error {
	for i, g := range t.Groups {
		if g.Deleted || g.Read || !wanted(g.ARN) {
			continue
		}
		read, err := readGroup(ctx, api, g.ARN)
		if err != nil {
			return err
		}
		read.Check = g.Check
		t.Groups[i] = read
	}
	return nil
}

// readGroup reads the targets of a group. One that does not exist has none.
func readGroup(ctx context.Context, api *awselb.Client, arn string) (view.Group, error) {
	targets, err := ReadHealth(ctx, api, arn)
	if err != nil && sluice.KindOf(err) != sluice.NotFound {
		return view.Group{}, err
	}
	return countTargets(arn, targets), nil
}

// describeGroups reads target groups. AWS refuses a request that names a missing one, so then it reads them one by one.
func describeGroups(ctx context.Context, api *awselb.Client,
	in *awselb.DescribeTargetGroupsInput) (found []elbtypes.TargetGroup, err error) {
	out, err := api.DescribeTargetGroups(ctx, in)
	switch n := len(in.TargetGroupArns) + len(in.Names); {
	case err == nil:
		return out.TargetGroups, nil
	case sluice.KindOf(err) != sluice.NotFound:
		return nil, fmt.Errorf("look up target groups: %w", sluice.Inner(err))
	case n == 1:
		return nil, nil
	}
	for _, arn := range in.TargetGroupArns {
		some, err := describeGroups(ctx, api, &awselb.DescribeTargetGroupsInput{TargetGroupArns: []string{arn}})
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	for _, name := range in.Names {
		some, err := describeGroups(ctx, api, &awselb.DescribeTargetGroupsInput{Names: []string{name}})
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

func countTargets(arn string, targets []sluice.Target) view.Group {
	g := view.Group{ARN: arn, Read: true}
	for _, t := range targets {
		if t.State != "draining" {
			g.Targets++
		}
		switch t.State {
		case "draining":
			g.Draining++
		case "healthy":
			g.Healthy++
		case "unhealthy":
			g.Unhealthy++
		case "unused":
			if t.Reason == "Target.NotInUse" {
				g.Unused++
			} else {
				g.Untried++
			}
		case "initial":
			if t.Reason == "Elb.RegistrationInProgress" {
				g.Untried++
			}
		}
	}
	return g
}

// readBalancerRules reads the rules of a load balancer, and returns its listeners too.
func readBalancerRules(ctx context.Context, api *awselb.Client, balancer string) (listeners []string, all []Rule,
	err error) {
	found, err := describeListeners(ctx, api, balancer)
	for _, l := range found {
		listeners = append(listeners, aws.ToString(l.ListenerArn))
		rules, err := readActions(ctx, api, l)
		if err != nil && sluice.KindOf(err) != sluice.NotFound {
			return nil, nil, err
		}
		all = append(all, rules...)
	}
	return listeners, all, err
}

// readActions returns the rules of a listener; of a listener without rules its default action.
func readActions(ctx context.Context, api *awselb.Client, l elbtypes.Listener) ([]Rule, error) {
	if !hasRules(aws.ToString(l.ListenerArn)) {
		return []Rule{newDefaultAction(l)}, nil
	}
	rules, err := describeRules(ctx, api, &awselb.DescribeRulesInput{ListenerArn: l.ListenerArn,
		PageSize: aws.Int32(400)})
	var all []Rule
	for _, r := range rules {
		all = append(all, newRule(l, r))
	}
	return all, err
}

func routesOf(rules []Rule) (all []view.Route) {
	for _, r := range rules {
		out := view.Route{Rule: r.Rule, Conditions: r.conditions, ListenerProtocol: r.protocol}
		if n := len(r.Actions); len(r.Forward) == 0 && n > 0 {
			out.Action = string(r.Actions[n-1].Type)
			out.ToPort = portOf(r.Actions[n-1].RedirectConfig, r.Port)
		}
		all = append(all, out)
	}
	return all
}

// portOf returns the port of the load balancer to which a redirect of a listener leads callers with the same request;
// 0: it leads them elsewhere.
func portOf(c *elbtypes.RedirectActionConfig, own int) int {
	const sameHost, samePath, samePort = "#{host}", "/#{path}", "#{port}"
	if c == nil || cmp.Or(aws.ToString(c.Host), sameHost) != sameHost ||
		cmp.Or(aws.ToString(c.Path), samePath) != samePath {
		return 0
	}
	text := cmp.Or(aws.ToString(c.Port), samePort)
	if text == samePort {
		return own
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return port
}

// addRepairs adds the commands that move weight from groups that cannot serve, and those that lead a rule back that
// forwards to other services only.
func addRepairs(t *view.Traffic, s view.Scope, rules []Rule) {
	prefer := ""
	if len(s.Groups) > 0 {
		prefer = s.Groups[0]
	}
	for i := range t.Routes {
		n := slices.IndexFunc(rules, func(r Rule) bool { return r.ARN == t.Routes[i].ARN })
		if n < 0 {
			continue
		}
		to, ok := t.Repaired(rules[n].Forward, prefer)
		if !ok {
			to, ok = t.Rerouted(rules[n].Forward)
		}
		if ok {
			t.Routes[i].Repair = RepairCommand(rules[n], forwardTo(rules[n].Actions, to))
			continue
		}
		t.Routes[i].Returns = map[string]string{}
		for _, g := range t.Groups {
			if g.ARN != s.TestGroup && t.LeadsAway(t.Routes[i]) {
				t.Routes[i].Returns[g.ARN] = RepairCommand(rules[n], forwardTo(rules[n].Actions,
					[]sluice.Share{{Group: g.ARN, Weight: 100}}))
			}
		}
	}
}

// addTestRepairs adds the commands that move the weight of the canary's group to the first other group of the service:
// in test rules, and in the rules by which callers get a canary that no file names.
func addTestRepairs(t *view.Traffic, s view.Scope, rules []Rule) {
	main := slices.IndexFunc(s.Groups, func(arn string) bool { return arn != s.TestGroup })
	if main < 0 {
		return
	}
	add := func(all []view.Route) {
		for i, r := range all {
			n := slices.IndexFunc(rules, func(x Rule) bool { return x.ARN == r.ARN })
			if w, _ := r.Weight(s.TestGroup); n >= 0 && w > 0 {
				to := moveWeight(rules[n].Forward, s.TestGroup, s.Groups[main])
				all[i].Repair = RepairCommand(rules[n], forwardTo(rules[n].Actions, to))
			}
		}
	}
	if add(t.Tests); s.IsGuess {
		add(t.Routes)
	}
}

// moveWeight returns the shares of a rule with the weight of one group moved to another. A group that got all requests
// alone is replaced.
func moveWeight(all []sluice.Share, from, to string) (out []sluice.Share) {
	moved := sluice.Share{Group: to}
	for _, s := range all {
		if s.Group == from || s.Group == to {
			moved.Weight, s.Weight = moved.Weight+s.Weight, 0
		}
		if s.Group != to && len(all) > 1 {
			out = append(out, s)
		}
	}
	return append([]sluice.Share{moved}, out...)
}

// RepairCommand returns the command that writes actions to a rule.
func RepairCommand(r Rule, actions []elbtypes.Action) string {
	list := make([]map[string]any, 0, len(actions))
	for _, a := range withoutOffStickiness(writableActions(actions)) {
		if len(actions) == 1 {
			a.Order = nil
		}
		list = append(list, members(a))
	}
	text, _ := json.Marshal(list) // plain values: cannot fail
	quoted := "'" + strings.ReplaceAll(string(text), "'", `'\''`) + "'"
	if r.IsDefault() {
		return "aws elbv2 modify-listener --listener-arn " + r.Listener + " --default-actions " + quoted
	}
	return "aws elbv2 modify-rule --rule-arn " + r.ARN + " --actions " + quoted
}
