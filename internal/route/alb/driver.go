package alb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/view"
)

// Driver sets the weights of the rules of two target groups. It implements [route.Driver].
type Driver struct {
	API       *awselb.Client
	Groups    TargetGroups
	Listeners []string // ARNs of the listeners to read
	// Deleted is called with each listener that does not exist according to AWS. Its rules are
	// omitted. If Deleted is nil, such a listener is an error.
	Deleted func(arn string)
	// Confirm waits before a second read, which confirms that a resource does not exist. If Confirm
	// is nil, one read is enough.
	Confirm func(context.Context) error
	// Cache has listeners that other drivers read, and gets those that this one reads. It is not
	// used if Deleted is set.
	Cache *ListenerCache

	lastRules        []Rule              // of the last read
	foundListeners   []elbtypes.Listener // the listeners as read; read once, because their port does not change
	missingListeners []string            // listeners that do not exist
}

// IsMissing reports whether the listener does not exist.
func (d *Driver) IsMissing(listener string) bool {
	return slices.Contains(d.missingListeners, listener)
}

// HasNoListener reports whether none of the listeners exists.
func (d *Driver) HasNoListener() bool {
	return len(d.Listeners) > 0 && len(d.missingListeners) == len(d.Listeners)
}

// Rules reads every rule of the listeners, in the order of listeners and
// priorities.
func (d *Driver) Rules(ctx context.Context) ([]Rule, error) {
	if err := d.readListeners(ctx); err != nil {
		return nil, err
	}
	var all []Rule
	for _, l := range d.foundListeners {
		rules, err := d.readRules(ctx, l)
		if d.noteMissing(aws.ToString(l.ListenerArn), err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, rules...)
	}
	d.lastRules = all
	return all, nil
}

// LastRules returns the rules of the last read.
func (d *Driver) LastRules() []Rule { return d.lastRules }

// readListeners reads the listeners once, in one call. If one does not exist, it reads them one by
// one.
func (d *Driver) readListeners(ctx context.Context) error {
	if len(d.foundListeners)+len(d.missingListeners) > 0 || len(d.Listeners) == 0 {
		return nil
	}
	if cached, ok := d.Cache.find(d.Listeners); ok && d.Deleted == nil {
		d.foundListeners = cached
		return nil
	}
	known, err := d.describeListeners(ctx, d.Listeners)
	d.Cache.keep(known)
	if err == nil || d.Deleted == nil || sluice.KindOf(err) != sluice.NotFound {
		d.foundListeners = known
		return err
	}
	for _, arn := range d.Listeners {
		one, err := d.describeListeners(ctx, []string{arn})
		if d.noteMissing(arn, err) {
			continue
		}
		if err != nil {
			return err
		}
		d.foundListeners = append(d.foundListeners, one...)
	}
	return nil
}

// noteMissing records that a listener does not exist, if err says so and Deleted is set. It reports
// whether it did.
func (d *Driver) noteMissing(arn string, err error) bool {
	if d.Deleted == nil || sluice.KindOf(err) != sluice.NotFound {
		return false
	}
	if !d.IsMissing(arn) {
		d.missingListeners = append(d.missingListeners, arn)
		d.Deleted(arn)
	}
	return true
}

// describeListeners reads listeners. Two reads must agree that a listener does not exist.
func (d *Driver) describeListeners(ctx context.Context, arns []string) ([]elbtypes.Listener, error) {
	return route.ReadTwice(ctx, d.Confirm, func() ([]elbtypes.Listener, error) { return d.describeOnce(ctx, arns) })
}

func (d *Driver) describeOnce(ctx context.Context, arns []string) ([]elbtypes.Listener, error) {
	out, err := d.API.DescribeListeners(ctx, &awselb.DescribeListenersInput{ListenerArns: arns})
	if err != nil {
		return nil, fmt.Errorf("read listeners: %w", sluice.Inner(err))
	}
	var all []elbtypes.Listener
	for _, arn := range arns {
		i := slices.IndexFunc(out.Listeners,
			func(l elbtypes.Listener) bool { return aws.ToString(l.ListenerArn) == arn })
		if i < 0 {
			return nil, &sluice.Error{Op: "read listener", Resource: arn, Kind: sluice.NotFound,
				Err: errors.New("the listener no longer exists")}
		}
		all = append(all, out.Listeners[i])
	}
	return all, nil
}

// readRules reads the rules of a listener. Two reads must agree that the listener does not exist,
// unless it is known to be missing.
func (d *Driver) readRules(ctx context.Context, l elbtypes.Listener) ([]Rule, error) {
	confirm := d.Confirm
	if d.IsMissing(aws.ToString(l.ListenerArn)) {
		confirm = nil
	}
	return route.ReadTwice(ctx, confirm, func() ([]Rule, error) { return d.readRulesOnce(ctx, l) })
}

// readRulesOnce reads the rules of a listener. A listener without rules is read again, because its actions change.
func (d *Driver) readRulesOnce(ctx context.Context, l elbtypes.Listener) ([]Rule, error) {
	if arn := aws.ToString(l.ListenerArn); !hasRules(arn) {
		now, err := d.describeOnce(ctx, []string{arn})
		if err != nil {
			return nil, err
		}
		l = now[0]
	}
	return readActions(ctx, d.API, l)
}

func newRule(l elbtypes.Listener, r elbtypes.Rule) Rule {
	return Rule{
		Rule: sluice.Rule{
			ARN: aws.ToString(r.RuleArn), Listener: aws.ToString(l.ListenerArn),
			Balancer: aws.ToString(l.LoadBalancerArn),
			Port:     int(aws.ToInt32(l.Port)), Priority: aws.ToString(r.Priority), Forward: forwardShares(r.Actions),
			Sticky: stickiness(r.Actions),
		},
		Actions:    r.Actions,
		conditions: conditionsOf(r.Conditions),
		protocol:   string(l.Protocol),
	}
}

// ReadChoice reads the rules and selects those of the service. Two reads must agree that there is
// none.
func (d *Driver) ReadChoice(ctx context.Context) (RuleChoice, error) {
	for n := 1; ; n++ {
		rules, err := d.Rules(ctx)
		if err != nil {
			return RuleChoice{}, err
		}
		c, err := ChooseRules(rules, d.Groups)
		if sluice.KindOf(err) != sluice.NotFound || d.Confirm == nil || n == 2 {
			return c, err
		}
		if err := d.Confirm(ctx); err != nil {
			return c, err
		}
	}
}

// Routes returns the rules of the service. A rule that forwards to the primary alone has its
// weights, and cannot get others.
func (d *Driver) Routes(ctx context.Context) ([]route.Route, error) {
	c, err := d.ReadChoice(ctx)
	if err != nil {
		return nil, err
	}
	var paths []route.Route
	for _, r := range c.Rules() {
		p := route.Route{ID: r.ARN, Name: r.Name(), Weights: d.WeightsOf(r), Fingerprint: Fingerprint(r.Actions)}
		if r.forwardsOnlyTo(d.Groups.Primary) {
			p.Fixed = &sluice.Error{
				Op: "read the weights", Resource: r.ARN, Kind: sluice.OutsideChange,
				Err: fmt.Errorf("the %s no longer forwards to the canary target group: another process or person edited it",
					r.Name()),
				Next: "deploy again when no other process edits the rule",
			}
		}
		paths = append(paths, p)
	}
	return paths, nil
}

// SetWeights writes the weights to one rule.
func (d *Driver) SetWeights(ctx context.Context, act sluice.Act, p route.Route, to sluice.Weights) error {
	r, err := d.findRule(p.ID)
	if err != nil {
		return err
	}
	return d.WriteRule(ctx, act, r, d.weightedActions(r, to))
}

// FingerprintAfter returns the fingerprint of the rule with the weights.
func (d *Driver) FingerprintAfter(p route.Route, to sluice.Weights) string {
	r, err := d.findRule(p.ID)
	if err != nil {
		return ""
	}
	return Fingerprint(d.weightedActions(r, to))
}

func (d *Driver) findRule(arn string) (Rule, error) {
	r, ok := FindRule(d.lastRules, arn)
	if !ok {
		return r, fmt.Errorf("rule %s was not read", arn)
	}
	return r, nil
}

// weightedActions returns the rule's actions with the weights, and the groups in their order.
func (d *Driver) weightedActions(r Rule, to sluice.Weights) []elbtypes.Action {
	groups := slices.Clone(r.Forward)
	for i, g := range groups {
		groups[i].Weight = to.Primary()
		if g.Group == d.Groups.Canary {
			groups[i].Weight = to.Canary()
		}
	}
	return forwardTo(r.Actions, groups)
}

// WithWeights returns the rule with the weights. A rule that forwards to the primary alone also
// gets the canary.
func (d *Driver) WithWeights(r Rule, to sluice.Weights) Rule {
	if r.forwardsOnlyTo(d.Groups.Primary) {
		r.Forward = []sluice.Share{{Group: d.Groups.Primary}, {Group: d.Groups.Canary}}
	}
	r.Actions = d.weightedActions(r, to)
	r.Forward = forwardShares(r.Actions)
	return r
}

// WithShares returns the rule with other weights of its groups.
func (d *Driver) WithShares(r Rule, to []sluice.Share) Rule {
	r.Actions = forwardTo(r.Actions, to)
	r.Forward = forwardShares(r.Actions)
	return r
}

// ReshapeTo returns the form of a rule that has the fingerprint print: the rule itself, or the rule
// with one of the weights.
func (d *Driver) ReshapeTo(r Rule, print string, weights []sluice.Weights) (Rule, bool) {
	if Fingerprint(r.Actions) == print {
		return r, true
	}
	for _, w := range weights {
		if x := d.WithWeights(r, w); Fingerprint(x.Actions) == print {
			return x, true
		}
	}
	return r, false
}

// Weight returns the highest weight of a target group in the last read, and whether any rule
// forwards to it.
func (d *Driver) Weight(group string) (most int, wired bool) {
	for _, r := range d.lastRules {
		if w, ok := r.Weight(group); ok {
			most, wired = max(most, w), true
		}
	}
	return most, wired
}

// IsServiceRule reports whether a rule forwards to the primary alone, or to exactly the two groups.
func (d *Driver) IsServiceRule(r Rule) bool {
	return r.forwardsOnlyTo(d.Groups.Primary) || r.forwardsToBoth(d.Groups.Primary, d.Groups.Canary)
}

// IsSteered reports whether a rule gets weights because it forwards to exactly the two groups. It
// is false if the file names the rules.
func (d *Driver) IsSteered(r Rule) bool {
	return len(d.Groups.RuleARNs) == 0 && r.forwardsToBoth(d.Groups.Primary, d.Groups.Canary)
}

// WeightsOf returns how a rule splits requests between the two groups. The result is not Valid if the split is no whole
// percentage.
func (d *Driver) WeightsOf(r Rule) sluice.Weights {
	return r.percentWeights(d.Groups.Primary, d.Groups.Canary)
}

// WriteRule replaces the actions of a rule. It writes the default rule through its listener.
func (d *Driver) WriteRule(ctx context.Context, act sluice.Act, r Rule, actions []elbtypes.Action) error {
	w := WriteOf(r)
	return act(ctx, sluice.Attempt{Action: "route " + sluice.ARNName(r.ARN), Name: "set the weights of " + r.Name(),
		Planned: w, Actual: w}, func(ctx context.Context) (string, error) {
		return view.DescribeShares(forwardShares(actions)), d.modifyRule(ctx, r, actions)
	})
}

func (d *Driver) modifyRule(ctx context.Context, r Rule, actions []elbtypes.Action) error {
	actions = writableActions(actions)
	if r.Protocol != "" {
		actions = withoutOffStickiness(actions)
	}
	if r.IsDefault() {
		_, err := d.API.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: aws.String(r.Listener),
			DefaultActions: actions})
		return err
	}
	_, err := d.API.ModifyRule(ctx, &awselb.ModifyRuleInput{RuleArn: aws.String(r.ARN), Actions: actions})
	return err
}

// WriteOf returns the write that changes the rule.
func WriteOf(r Rule) sluice.Write {
	if r.IsDefault() {
		return sluice.Write{Operation: "elasticloadbalancing:ModifyListener", Resource: r.Listener}
	}
	return sluice.Write{Operation: "elasticloadbalancing:ModifyRule", Resource: r.ARN}
}

// Describe says where a rule forwards to: "web-primary 90, web-canary 10".
func (r Rule) Describe() string {
	if s := view.DescribeShares(r.Forward); s != "" {
		return s
	}
	return "no target group"
}
