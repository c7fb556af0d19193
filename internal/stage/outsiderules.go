package stage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// resolveRouteDrift handles changes by other actors to the rules since our last write.
func (b balanced) heed(ctx context.Context) error {
	if len(b.former.Rules) == 0 {
		return nil
	}
	edited, err := b.editedRules(ctx, false)
	if err != nil || len(edited) == 0 {
		return err
	}
	again, err := b.editedStill(ctx)
	if err != nil {
		return err
	}
	for _, was := range edited {
		if i := slices.IndexFunc(again, func(e editedRule) bool { return e.was.ARN == was.was.ARN }); i >= 0 {
			if err := b.answerRule(ctx, again[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirmEdited returns the edited rules of a read that is not older than our last write.
func (b balanced) editedStill(ctx context.Context) (all []editedRule, err error) {
	for old := true; old; {
		if err := b.pause(ctx, lag); err != nil {
			return nil, err
		}
		if all, err = b.editedRules(ctx, false); err != nil {
			return nil, err
		}
		old = false
		for _, e := range all {
			if e.now == nil || old {
				continue
			}
			if old, err = b.mayBeOld(ctx, *e.now); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func (b balanced) differs(ctx context.Context) (bool, error) {
	if len(b.former.Rules) == 0 {
		return false, nil
	}
	edited, err := b.editedRules(ctx, false)
	return len(edited) > 0, err
}

// editedRule is a rule that another actor edited. current is nil if the rule was deleted. A rule
// with isNewlyForwarding is not in the snapshot, and the plan does not write it.
type editedRule struct {
	was    alb.Rule
	now    *alb.Rule
	joined bool
}

// editedRules returns the rules whose actions are neither ours nor, with back, those of a stale
// read.
func (b balanced) editedRules(ctx context.Context, back bool) (all []editedRule, err error) {
	marks, err := b.marks(ctx)
	if err != nil {
		return nil, err
	}
	live, err := b.rules.Rules(ctx)
	if err != nil {
		return nil, err
	}
	for _, was := range b.former.Rules {
		i := slices.IndexFunc(live, func(x alb.Rule) bool { return x.ARN == was.ARN })
		switch {
		case i < 0:
			all = append(all, editedRule{was: was})
		case !marks[was.ARN].ours(alb.Print(live[i].Actions), b.Stage.Index, back):
			all = append(all, editedRule{was: was, now: &live[i]})
		}
	}
	if back {
		return all, nil
	}
	return append(all, b.joined(live)...), nil
}

// newlyForwarding returns rules that forward to both of our groups and did not when the deployment
// began. Their requests would reach the canary, whatever its share in the plan.
func (b balanced) joined(live []alb.Rule) (all []editedRule) {
	for i, r := range live {
		if b.rules.Steers(r) && !slices.ContainsFunc(b.former.Rules, func(x alb.Rule) bool { return x.ARN == r.ARN }) {
			all = append(all, editedRule{was: r, now: &live[i], joined: true})
		}
	}
	return all
}

// applyRulePolicy applies onOutsideChange to a rule. A deleted rule is not recreated: its priority
// and conditions were not set by sluice.
func (b balanced) answerRule(ctx context.Context, e editedRule) error {
	switch {
	case e.joined:
		return &sluice.Error{Op: "look at the " + e.now.Name(), Resource: e.now.ARN, Kind: sluice.OutsideChange,
			Err:  fmt.Errorf("somebody else made it forward to %s since the deployment began; the plan does not steer it", e.now.Says()),
			Next: "find out who, and take the canary's target group off it; then deploy again"}
	case b.Plan.OnOutsideChange == sluice.AdoptChange:
		return b.adoptRule(ctx, e)
	case e.now == nil:
		return &sluice.Error{Op: "look at the " + e.was.Name(), Resource: e.was.ARN, Kind: sluice.OutsideChange,
			Err: errors.New("somebody else deleted it during the deployment"), Next: "put it back, then deploy again"}
	case b.Plan.OnOutsideChange == sluice.ReassertChange:
		return b.reassertRule(ctx, e)
	}
	return b.stopped(ctx, e)
}

// errRuleDiffers is the error for an edited rule. It gives the actual and the expected actions.
func (b balanced) stopped(ctx context.Context, e editedRule) error {
	marks, err := b.marks(ctx)
	if err != nil {
		return err
	}
	was := ""
	if ours, known := b.rules.Shaped(e.was, marks[e.was.ARN].Is, b.weights()); known {
		was = ", where we had left " + ours.Says()
	}
	return &sluice.Error{Op: "look at the " + e.was.Name(), Resource: e.was.ARN, Kind: sluice.OutsideChange,
		Err:  fmt.Errorf("somebody else edited it since the deployment began: it forwards to %s%s; it is not overwritten", e.now.Says(), was),
		Next: "find out who, and put it back. onOutsideChange: reassert or adopt goes on in spite of it"}
}

// resolveRuleEdit handles an edit that was read just before a write. With reassert and adopt the
// write continues.
func (b balanced) ruleEdited(ctx context.Context, arn, name string) error {
	if p := b.Plan.OnOutsideChange; p != sluice.ReassertChange && p != sluice.AdoptChange {
		return b.edited(arn, name)
	}
	edited, err := b.editedRules(ctx, false)
	if err != nil {
		return err
	}
	for _, e := range edited {
		if e.was.ARN != arn || e.now == nil {
			continue
		}
		if b.Plan.OnOutsideChange == sluice.AdoptChange {
			return b.adoptRule(ctx, e)
		}
		b.warn("the %s was edited by somebody else; it is written again (onOutsideChange: reassert)", name)
	}
	return nil
}

// reassertRule writes the rule as we wrote it last, once the variant that it sends requests to can
// take them.
func (b balanced) reassertRule(ctx context.Context, e editedRule) error {
	marks, err := b.marks(ctx)
	if err != nil {
		return err
	}
	ours, known := b.rules.Shaped(e.was, marks[e.was.ARN].Is, b.weights())
	if !known {
		return b.edited(e.was.ARN, e.was.Name())
	}
	if b.sendsToCanary(ours) {
		if err := b.rewire(ctx, e); err != nil {
			return err
		}
		if err := b.awaitServing(ctx, sluice.Canary); err != nil {
			return err
		}
	}
	b.warn("the %s was edited by somebody else; it is written again (onOutsideChange: reassert)", e.was.Name())
	if err := b.shifting(ctx); err != nil {
		return err
	}
	if err := b.rules.Write(ctx, b.act, *e.now, ours.Actions); err != nil {
		return err
	}
	return b.shifting(ctx)
}

// reattachCanary adds the canary's group at weight 0 to a rule that lost it. AWS checks the health
// of targets only in groups that a listener forwards to.
func (b balanced) rewire(ctx context.Context, e editedRule) error {
	if _, has := e.now.Weight(b.Plan.Canary.ARN); has {
		return nil
	}
	return b.rules.Write(ctx, b.act, *e.now, b.rules.Weighted(e.was, sluice.CanaryShare(0)).Actions)
}

// plannedWeights are all weights that the plan's stages give a rule.
func (b balanced) weights() []sluice.Weights {
	all := []sluice.Weights{sluice.CanaryShare(0)}
	for _, s := range b.Plan.Stages {
		if s.Weights != nil {
			all = append(all, *s.Weights)
		}
	}
	return all
}

// adoptRule puts the rule as another actor wrote it into the snapshot. Its share for our canary
// then goes to the primary, because the canary is removed later. A rule that no longer forwards to
// our groups is not managed any more.
func (b balanced) adoptRule(ctx context.Context, e editedRule) error {
	marks, err := b.marks(ctx)
	if err != nil {
		return err
	}
	f := *b.former
	f.Rules = slices.DeleteFunc(slices.Clone(f.Rules), func(x alb.Rule) bool { return x.ARN == e.was.ARN })
	delete(marks, e.was.ARN)
	stays := e.now != nil && b.rules.Ours(*e.now)
	if stays {
		base := *e.now
		if b.sendsToCanary(base) && !b.sendsToCanary(e.was) {
			base = b.rules.Weighted(base, sluice.CanaryShare(0))
		}
		f.Rules = append(f.Rules, base)
		marks[e.was.ARN] = mark{Is: alb.Print(e.now.Actions), Stage: -1}
	}
	if err := save(ctx, b.Host, keyPrints, marks); err != nil {
		return err
	}
	if err := save(ctx, b.Host, keyFormer, f); err != nil {
		return err
	}
	b.former, b.expected = &f, nil
	if !stays {
		b.warn("the %s is not ours any more: somebody else took it (onOutsideChange: adopt)", e.was.Name())
		return nil
	}
	b.warn("the %s was edited by somebody else; it stays so, and a rollback returns to it (onOutsideChange: adopt)", e.was.Name())
	return nil
}

// rerouteEmptyCanary moves the weight that an edited rule gives an empty canary to the primary, if
// the primary serves. With healthy canary targets the rule is kept.
func (b balanced) spare(ctx context.Context) error {
	if b.Plan.Canary == nil || len(b.former.Rules) == 0 {
		return nil
	}
	for n := 1; ; n++ {
		edited, err := b.leadingToCanary(ctx)
		if err != nil || len(edited) == 0 {
			return err
		}
		if lost, err := b.leadsNowhere(ctx); err != nil || !lost {
			return err
		}
		if n == 2 {
			return b.toPrimary(ctx, edited)
		}
		if err := b.pause(ctx, lag); err != nil { // the answers may be older than the healthy targets
			return err
		}
	}
}

// rerouteToPrimary writes the rules so that the canary's share goes to the primary.
func (b balanced) toPrimary(ctx context.Context, edited []editedRule) error {
	for _, e := range edited {
		b.warn("the %s was edited by somebody else and sends requests to the canary, which is empty: they go to the primary now", e.was.Name())
		if err := b.shifting(ctx); err != nil {
			return err
		}
		if err := b.rules.Write(ctx, b.act, *e.now, b.rules.Weighted(*e.now, sluice.CanaryShare(0)).Actions); err != nil {
			return err
		}
	}
	return nil
}

// editedToCanary returns the rules of the stage that other actors edited and that send requests to
// the canary.
func (b balanced) leadingToCanary(ctx context.Context) ([]editedRule, error) {
	edited, err := b.editedRules(ctx, true)
	return slices.DeleteFunc(edited, func(e editedRule) bool {
		return e.now == nil || !b.sendsToCanary(*e.now) || !b.rules.Ours(*e.now) || !b.Stage.Lists(alb.WriteOf(*e.now))
	}), err
}

// canaryHasNoTargets reports whether the primary's group has a healthy target and the canary's has
// none.
func (b balanced) leadsNowhere(ctx context.Context) (bool, error) {
	takes := func(group string) (bool, error) {
		targets, err := alb.Health(ctx, b.Account.ELB(), group)
		return slices.ContainsFunc(targets, func(t sluice.Target) bool { return t.State == "healthy" }), err
	}
	canary, err := takes(b.Plan.Canary.ARN)
	if err != nil || canary {
		return false, err
	}
	return takes(b.Plan.Primary.ARN)
}

// weightOf is the highest weight that a rule gives the variant. watched is false if no rule
// forwards to its target group: AWS does not check the health of its targets then.
func (b balanced) weight(v sluice.Variant) (most int, watched bool) {
	group := b.attach(v).TargetGroup
	if group == "" || len(b.former.Rules) == 0 {
		return b.Run.weight(v)
	}
	return b.rules.Weight(group)
}
