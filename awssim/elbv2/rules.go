package elbv2

import (
	"context"
	"strconv"
	"strings"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxRules    = 100 // per load balancer, default rules not counted
	maxPriority = 50000
)

// ruleDoc holds the data of a rule that no controller reads.
type ruleDoc struct {
	transforms []elbtypes.RuleTransform
	tags       tags
}

func ruleOf(r *world.Rule) *ruleDoc { return apiDoc[ruleDoc](&r.Doc) }

func newRuleARN(tx *world.Tx, l *world.Listener) string {
	return strings.Replace(l.ARN, ":listener/", ":listener-rule/", 1) + "/" + tx.NewHex("rule", 16)
}

// CreateRule adds a rule to a listener.
func (s *Service) CreateRule(ctx context.Context, in *awselb.CreateRuleInput) (*awselb.CreateRuleOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.CreateRuleOutput, error) {
		l, err := findListener(tx, in.ListenerArn)
		if err != nil {
			return nil, err
		}
		if err := refuseNetworkRules(l); err != nil {
			return nil, err
		}
		r := &world.Rule{Listener: l}
		if r.Priority, err = checkPriority(in.Priority); err != nil {
			return nil, err
		}
		if ruleAt(l, r.Priority) != nil {
			return nil, priorityInUse(r.Priority)
		}
		if r.Conditions, err = newConditions(in.Conditions); err != nil {
			return nil, err
		}
		if r.Actions, err = newActions(tx, l, in.Actions, nil); err != nil {
			return nil, err
		}
		d := &ruleDoc{transforms: deepCopy(in.Transforms)}
		if d.tags, err = newTags(in.Tags); err != nil {
			return nil, err
		}
		if countRules(l.Balancer) >= maxRules {
			return nil,
				world.Refuse("TooManyRules", "The maximum number of rules has been reached on load balancer '%s'",
					l.Balancer.ARN)
		}
		r.Doc = d
		r.ARN = arnOr(ctx, func() string { return newRuleARN(tx, l) })
		tx.AddRule(r)
		return &awselb.CreateRuleOutput{Rules: []elbtypes.Rule{shapeRule(r)}}, nil
	})
}

func checkPriority(p *int32) (int, error) {
	if p == nil {
		return 0, validationError("A priority must be specified")
	}
	if *p < 1 || *p > maxPriority {
		return 0, validationError("Priority '%d' must be between 1 and %d", *p, maxPriority)
	}
	return int(*p), nil
}

func ruleAt(l *world.Listener, priority int) *world.Rule {
	for _, r := range l.Rules {
		if r.Priority == priority {
			return r
		}
	}
	return nil
}

func priorityInUse(p int) error {
	return world.Refuse("PriorityInUse", "Priority '%d' is currently in use", p)
}

func countRules(lb *world.LoadBalancer) int {
	n := 0
	for _, l := range lb.Listeners {
		n += len(l.Rules) - 1
	}
	return n
}

// DescribeRules lists the rules of a listener, including the default rule, or rules by ARN.
func (s *Service) DescribeRules(ctx context.Context, in *awselb.DescribeRulesInput) (*awselb.DescribeRulesOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeRulesOutput, error) {
		list, err := selectRules(tx, in)
		if err != nil {
			return nil, err
		}
		list, next, err := pageOf(list, in.Marker, in.PageSize, func(r *world.Rule) string { return r.ARN })
		if err != nil {
			return nil, err
		}
		return &awselb.DescribeRulesOutput{Rules: shapeRules(list), NextMarker: next}, nil
	})
}

func selectRules(tx *world.Tx, in *awselb.DescribeRulesInput) ([]*world.Rule, error) {
	switch {
	case in.ListenerArn != nil && len(in.RuleArns) > 0:
		return nil, validationError("You cannot specify both a listener ARN and rule ARNs")
	case len(in.RuleArns) > 0:
		return mapEach(in.RuleArns, func(arn string) (*world.Rule, error) { return findRule(tx, &arn) })
	case in.ListenerArn == nil:
		return nil, validationError("You must specify either a listener ARN or rule ARNs")
	}
	l, err := findListener(tx, in.ListenerArn)
	if err != nil {
		return nil, err
	}
	return l.Rules, refuseNetworkRules(l)
}

func shapeRules(list []*world.Rule) []elbtypes.Rule {
	out := []elbtypes.Rule{}
	for _, r := range list {
		out = append(out, shapeRule(r))
	}
	return out
}

func shapeRule(r *world.Rule) elbtypes.Rule {
	out := elbtypes.Rule{
		RuleArn: ptr(r.ARN), Priority: ptr("default"), IsDefault: ptr(r.Priority == 0),
		Actions:    shapeActions(r.Actions),
		Conditions: shapeConditions(r.Conditions), Transforms: deepCopy(ruleOf(r).transforms),
	}
	if r.Priority != 0 {
		out.Priority = ptr(strconv.Itoa(r.Priority))
	}
	return out
}

// ModifyRule replaces the given lists as a whole and keeps the others unchanged.
func (s *Service) ModifyRule(ctx context.Context, in *awselb.ModifyRuleInput) (*awselb.ModifyRuleOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.ModifyRuleOutput, error) {
		r, err := findRule(tx, in.RuleArn)
		if err != nil {
			return nil, err
		}
		if r.Priority == 0 {
			return nil, world.Refuse("OperationNotPermitted", "Default rule '%s' cannot be modified", r.ARN)
		}
		if val(in.ResetTransforms) && len(in.Transforms) > 0 {
			return nil, validationError("Transforms cannot be specified when ResetTransforms is true")
		}
		if in.Conditions == nil && in.Actions == nil && in.Transforms == nil && in.ResetTransforms == nil {
			return nil, validationError("Either conditions or actions must be specified")
		}
		conditions, actions := r.Conditions, r.Actions
		if in.Conditions != nil {
			if conditions, err = newConditions(in.Conditions); err != nil {
				return nil, err
			}
		}
		if in.Actions != nil {
			if actions, err = newActions(tx, r.Listener, in.Actions, r); err != nil {
				return nil, err
			}
		}
		if in.Conditions != nil {
			tx.SetConditions(r, conditions)
		}
		if in.Actions != nil {
			tx.SetActions(r, actions)
		}
		if val(in.ResetTransforms) || in.Transforms != nil {
			ruleOf(r).transforms = deepCopy(in.Transforms)
		}
		return &awselb.ModifyRuleOutput{Rules: []elbtypes.Rule{shapeRule(r)}}, nil
	})
}

// DeleteRule deletes a rule; the default rule is deleted only with its listener.
func (s *Service) DeleteRule(ctx context.Context, in *awselb.DeleteRuleInput) (*awselb.DeleteRuleOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DeleteRuleOutput, error) {
		r, err := findRule(tx, in.RuleArn)
		if err != nil {
			return nil, err
		}
		if r.Priority == 0 {
			return nil, world.Refuse("OperationNotPermitted", "Default rule '%s' cannot be deleted", r.ARN)
		}
		tx.RemoveRule(r)
		return &awselb.DeleteRuleOutput{}, nil
	})
}

// SetRulePriorities changes the priorities of rules in one step, so that two rules can swap theirs.
func (s *Service) SetRulePriorities(ctx context.Context,
	in *awselb.SetRulePrioritiesInput) (*awselb.SetRulePrioritiesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.SetRulePrioritiesOutput, error) {
		if len(in.RulePriorities) == 0 {
			return nil, validationError("At least one rule priority must be specified")
		}
		rules, places, err := checkMoves(tx, in.RulePriorities)
		if err != nil {
			return nil, err
		}
		for i, r := range rules {
			tx.SetPriority(r, places[i])
		}
		return &awselb.SetRulePrioritiesOutput{Rules: shapeRules(rules)}, nil
	})
}

func checkMoves(tx *world.Tx, in []elbtypes.RulePriorityPair) (rules []*world.Rule, places []int, err error) {
	moving, taken := map[*world.Rule]bool{}, map[string]bool{}
	for _, p := range in {
		r, err := findRule(tx, p.RuleArn)
		if err != nil {
			return nil, nil, err
		}
		if r.Priority == 0 {
			return nil, nil, world.Refuse("OperationNotPermitted", "Priority of default rule '%s' cannot be modified",
				r.ARN)
		}
		place, err := checkPriority(p.Priority)
		if err != nil {
			return nil, nil, err
		}
		spot := r.Listener.ARN + " " + strconv.Itoa(place)
		switch {
		case taken[spot]:
			return nil, nil, validationError("Priority '%d' was provided multiple times", place)
		case moving[r]:
			return nil, nil, validationError("Rule '%s' was provided multiple times", r.ARN)
		}
		taken[spot], moving[r] = true, true
		rules, places = append(rules, r), append(places, place)
	}
	for i, r := range rules {
		if other := ruleAt(r.Listener, places[i]); other != nil && !moving[other] {
			return nil, nil, priorityInUse(places[i])
		}
	}
	return rules, places, nil
}
