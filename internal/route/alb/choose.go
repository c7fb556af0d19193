package alb

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
)

// Pair is the two target groups of a service, and the rules that the file names.
type Pair struct {
	Primary, Canary string   // ARNs; Canary may be empty
	Named           []string // ARNs of the only rules to touch; empty: found by themselves
}

// Choice is which rules of a load balancer are ours.
type Choice struct {
	Steered []Rule // forward to exactly our two groups: their weights are ours
	Extend  []Rule // forward to the primary alone: the canary joins them at weight 0
}

// Rules are the chosen rules of both kinds.
func (c Choice) Rules() []Rule { return append(slices.Clone(c.Steered), c.Extend...) }

// Choose picks the rules that a deployment may write: those named in the file,
// else those whose forward holds exactly our two groups, and only if there are
// none, those that forward to the primary alone. A rule that holds the canary
// alone (a test listener) is never ours. None at all is an error.
func Choose(rules []Rule, p Pair) (Choice, error) {
	if len(p.Named) > 0 {
		return named(rules, p)
	}
	var c Choice
	for _, r := range rules {
		switch {
		case r.pairs(p.Primary, p.Canary):
			c.Steered = append(c.Steered, r)
		case r.alone(p.Primary):
			c.Extend = append(c.Extend, r)
		}
	}
	if len(c.Steered) > 0 {
		c.Extend = nil
	}
	if len(c.Steered)+len(c.Extend) == 0 {
		return c, &sluice.Error{
			Op: "find the listener rules of the service", Resource: p.Primary, Kind: sluice.NotFound,
			Err:  errors.New("no listener rule forwards to the primary target group alone or to exactly the primary and the canary"),
			Next: "add both target groups to the forward action of the rule that serves the service, or name the rule under listenerRules",
		}
	}
	return c, nil
}

// Marked are the rules that give the canary group weight and are not among the chosen
// ones: a header rule for tests, or a test listener. No deployment writes them.
func Marked(rules []Rule, c Choice, p Pair) (marked []Rule) {
	for _, r := range rules {
		w, _ := r.Weight(p.Canary)
		chosen := slices.ContainsFunc(c.Rules(), func(x Rule) bool { return x.ARN == r.ARN })
		if p.Canary != "" && w > 0 && !chosen {
			marked = append(marked, r)
		}
	}
	return marked
}

func named(rules []Rule, p Pair) (Choice, error) {
	var c Choice
	for _, arn := range p.Named {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.ARN == arn })
		if i < 0 {
			return c, &sluice.Error{
				Op: "find the listener rule named under listenerRules", Resource: arn, Kind: sluice.NotFound,
				Err:  errors.New("no listener of the load balancer behind the primary target group has it"),
				Next: "check the ARN with: aws elbv2 describe-rules --listener-arn <listener>",
			}
		}
		switch r := rules[i]; {
		case r.pairs(p.Primary, p.Canary):
			c.Steered = append(c.Steered, r)
		case r.alone(p.Primary):
			c.Extend = append(c.Extend, r)
		default:
			return c, &sluice.Error{
				Op: "use the listener rule named under listenerRules", Resource: arn, Kind: sluice.Conflict,
				Err:  fmt.Errorf("it forwards to %s, not to the primary alone or to exactly our two", sluice.Plural(len(r.Forward), "target group")),
				Next: "make the rule forward to the primary and the canary target group, or name another rule",
			}
		}
	}
	return c, nil
}
