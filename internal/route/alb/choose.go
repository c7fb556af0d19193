package alb

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/view"
)

// TargetGroups are the two target groups of a service, and the rules that the file names.
type TargetGroups struct {
	Primary, Canary string   // ARNs; Canary may be empty
	RuleARNs        []string // ARNs of the only rules to write; empty: sluice selects them
}

// RuleChoice is the selection of rules that a deployment may write.
type RuleChoice struct {
	Steered []Rule // forward to exactly the two groups: the deployment sets their weights
	Extend  []Rule // forward to the primary alone: the canary is added with weight 0
}

// Rules returns the selected rules of both kinds.
func (c RuleChoice) Rules() []Rule { return append(slices.Clone(c.Steered), c.Extend...) }

// ChooseRules selects the rules that a deployment may write: the rules named in the file, otherwise
// those that forward to exactly the two groups. If there are none, it selects the rules that
// forward to the primary alone. It never selects a rule that forwards to the canary alone (a test
// listener). An empty selection is an error.
func ChooseRules(rules []Rule, p TargetGroups) (RuleChoice, error) {
	if len(p.RuleARNs) > 0 {
		return chooseNamed(rules, p)
	}
	var c RuleChoice
	for _, r := range rules {
		switch {
		case r.forwardsToBoth(p.Primary, p.Canary):
			c.Steered = append(c.Steered, r)
		case r.forwardsOnlyTo(p.Primary):
			c.Extend = append(c.Extend, r)
		}
	}
	if len(c.Steered) > 0 {
		c.Extend = nil
	}
	if len(c.Steered)+len(c.Extend) == 0 {
		if err := otherGroupsError(rules, p); err != nil {
			return c, err
		}
		return c, &sluice.Error{
			Op: "find the listener rules of the service", Resource: p.Primary, Kind: sluice.NotFound,
			Err: errors.New(
				"no listener rule forwards to the primary target group alone or to exactly the primary and the canary"),
			Next: "add both target groups to the forward action of the rule that serves the service, or name the " +
				"rule under listenerRules",
		}
	}
	return c, nil
}

// otherGroupsError returns the error of the first rule that forwards to the primary or to both groups of the service,
// and also to others; nil if there is none.
func otherGroupsError(rules []Rule, p TargetGroups) error {
	for _, r := range rules {
		if next := p.withoutOthers(r); next != "" {
			return &sluice.Error{Op: "use the " + r.Name(), Resource: r.ARN, Kind: sluice.Conflict, Err: p.describeOthers(r), Next: next}
		}
	}
	return nil
}

// describeOthers says which groups of a rule are not of the service, and how much each gets.
func (p TargetGroups) describeOthers(r Rule) error {
	_, others := p.split(r)
	return fmt.Errorf("the rule forwards to %s, not to the primary alone or to exactly the primary and the canary: its requests "+
		"also go to %s", sluice.Plural(len(r.Forward), "target group"), view.DescribeShares(others))
}

// withoutOthers returns the command that removes the groups from a rule that are not of the service, and says which
// requests they lose. The weights of the service's groups stay, and a canary that the rule lacks is added without
// weight. It is empty if there is none to remove, if no group with weight would be left, or if the rule lacks the
// primary: the files may name the wrong group.
func (p TargetGroups) withoutOthers(r Rule) string {
	ours, others := p.split(r)
	serves := slices.ContainsFunc(ours, func(s sluice.Share) bool { return s.Weight > 0 })
	hasPrimary := slices.ContainsFunc(ours, func(s sluice.Share) bool { return s.Group == p.Primary })
	if !hasPrimary || len(others) == 0 || !serves {
		return ""
	}
	if len(ours) == 1 && p.Canary != "" {
		ours = append(ours, sluice.Share{Group: p.Canary})
	}
	command := RepairCommand(r, forwardTo(r.Actions, ours))
	if lost := describeParts(r, others); lost != "" {
		return "name another rule under listenerRules. Or take from " + lost + " of its requests: " + command
	}
	return "remove the other groups from the rule: " + command
}

// describeParts describes the part of a rule's requests that some of its groups get: "other 20 %"; empty: none.
func describeParts(r Rule, some []sluice.Share) string {
	all := 0
	for _, s := range r.Forward {
		all += s.Weight
	}
	var texts []string
	for _, s := range some {
		if s.Weight > 0 {
			texts = append(texts, fmt.Sprintf("%s %.3g %%", sluice.TargetGroupName(s.Group), float64(s.Weight)*100/float64(all)))
		}
	}
	return strings.Join(texts, ", ")
}

// split returns the shares of the two groups of the service, and those of others.
func (p TargetGroups) split(r Rule) (ours, others []sluice.Share) {
	for _, s := range r.Forward {
		if s.Group == p.Primary || s.Group == p.Canary && p.Canary != "" {
			ours = append(ours, s)
		} else {
			others = append(others, s)
		}
	}
	return ours, others
}

// MarkedRules returns the rules that give weight to the canary group and are not selected, such as
// a header rule for tests or a test listener. No deployment writes them.
func MarkedRules(rules []Rule, c RuleChoice, p TargetGroups) []Rule {
	return otherRules(rules, c, p.Canary)
}

// UnsteeredRules returns the rules that give weight to the primary group and are not selected: their
// requests stay with the primary. No deployment writes them.
func UnsteeredRules(rules []Rule, c RuleChoice, p TargetGroups) []Rule {
	return otherRules(rules, c, p.Primary)
}

func otherRules(rules []Rule, c RuleChoice, group string) (others []Rule) {
	for _, r := range rules {
		w, _ := r.Weight(group)
		chosen := slices.ContainsFunc(c.Rules(), func(x Rule) bool { return x.ARN == r.ARN })
		if group != "" && w > 0 && !chosen {
			others = append(others, r)
		}
	}
	return others
}

// listenerOf returns the ARN of the listener of the first rule, for a command.
func listenerOf(rules []Rule) string {
	if len(rules) == 0 {
		return "LISTENER"
	}
	return rules[0].Listener
}

// listenerError returns the error if the files name a listener instead of a rule; nil: they name none of these.
func listenerError(rules []Rule, arn string) error {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.IsDefault() && r.Listener == arn })
	if i < 0 {
		return nil
	}
	return &sluice.Error{Op: "find the listener rule named under listenerRules", Resource: arn, Kind: sluice.Conflict,
		Err: errors.New("this is a listener, not a rule: its default action is its default rule, which has an ARN of " +
			"its own"),
		Next: "name the default rule of the listener under listenerRules: " + rules[i].ARN}
}

func chooseNamed(rules []Rule, p TargetGroups) (RuleChoice, error) {
	var c RuleChoice
	for _, arn := range p.RuleARNs {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ARN == arn })
		if err := listenerError(rules, arn); i < 0 && err != nil {
			return c, err
		}
		if i < 0 {
			return c, &sluice.Error{
				Op: "find the listener rule named under listenerRules", Resource: arn, Kind: sluice.NotFound,
				Err:  errors.New("no listener of the load balancer behind the primary target group has this rule"),
				Next: "name one of these: aws elbv2 describe-rules --listener-arn " + listenerOf(rules),
			}
		}
		switch r := rules[i]; {
		case r.forwardsToBoth(p.Primary, p.Canary):
			c.Steered = append(c.Steered, r)
		case r.forwardsOnlyTo(p.Primary):
			c.Extend = append(c.Extend, r)
		default:
			return c, &sluice.Error{
				Op: "use the listener rule named under listenerRules", Resource: arn, Kind: sluice.Conflict, Err: p.describeOthers(r),
				Next: cmp.Or(p.withoutOthers(r), "make the rule forward to the primary and the canary target group, or name another rule"),
			}
		}
	}
	return c, nil
}
