package balanced

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// ResolveRouteDrift handles changes by other actors to the rules since our last write.
func (b traffic) ResolveRouteDrift(ctx context.Context) error {
	if len(b.step.Snapshot.Rules) == 0 {
		return nil
	}
	live, err := readSharedRules(ctx, b)
	if err != nil {
		return err
	}
	warnOfLostRules(b, live)
	edited, err := editedAmong(ctx, b, live, false)
	if err != nil || len(edited) == 0 {
		return err
	}
	again, err := confirmEdited(ctx, b)
	if err != nil {
		return err
	}
	for _, was := range edited {
		if i := slices.IndexFunc(again, func(e editedRule) bool { return e.original.ARN == was.original.ARN }); i >= 0 {
			if err := applyRulePolicy(ctx, b, again[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirmEdited returns the edited rules of a read that is not older than our last write.
func confirmEdited(ctx context.Context, b traffic) (all []editedRule, err error) {
	for {
		if err := b.step.PauseFor(ctx, step.ReadLag); err != nil {
			return nil, err
		}
		if all, err = editedRules(ctx, b, false); err != nil {
			return nil, err
		}
		var shown []alb.Rule
		for _, e := range all {
			if e.current != nil {
				shown = append(shown, *e.current)
			}
		}
		if old, err := mayBeOld(ctx, b, shown...); err != nil || !old {
			return all, err
		}
	}
}

func (b traffic) HasRouteDrift(ctx context.Context) (bool, error) {
	if len(b.step.Snapshot.Rules) == 0 {
		return false, nil
	}
	live, err := b.rules.Rules(ctx)
	if err != nil {
		return false, err
	}
	warnOfLostRules(b, live)
	edited, err := editedAmong(ctx, b, live, false)
	return len(edited) > 0, err
}

// warnOfLostRules warns, once in a stage, of a rule that the deployment does not steer, if callers reached the service by it
// and do not any more. The end of the deployment fails if that is still so.
func warnOfLostRules(b traffic, live []alb.Rule) {
	for _, lost := range alb.LostRules(b.step.Plan.Scope, b.step.Plan.Callers, b.rules.Listeners, live) {
		if !isManaged(b, lost.Route.ARN) && b.step.IsFirstTime("lost "+lost.Route.ARN) {
			b.step.EmitWarning("external change: %s. sluice does not steer this rule and leaves it: restore it, or the "+
				"deployment ends failed", lost.Why)
		}
	}
}

// editedRule is a rule that another actor edited. current is nil if the rule was deleted. A rule
// with isNewlyForwarding is not in the snapshot, and the plan does not write it.
type editedRule struct {
	original          alb.Rule
	current           *alb.Rule
	isNewlyForwarding bool
}

// editedRules returns the rules whose actions are neither ours nor, with back, those of a stale
// read.
func editedRules(ctx context.Context, b traffic, back bool) (all []editedRule, err error) {
	live, err := readSharedRules(ctx, b)
	if err != nil {
		return nil, err
	}
	return editedAmong(ctx, b, live, back)
}

// editedAmong is editedRules for rules that were just read.
func editedAmong(ctx context.Context, b traffic, live []alb.Rule, back bool) (all []editedRule, err error) {
	marks, err := loadFingerprints(ctx, b)
	if err != nil {
		return nil, err
	}
	for _, was := range b.step.Snapshot.Rules {
		now, shown := alb.FindRule(live, was.ARN)
		switch {
		case !shown:
			all = append(all, editedRule{original: was})
		case !marks[was.ARN].IsOwn(alb.Fingerprint(now.Actions), b.step.Stage.Index, back):
			all = append(all, editedRule{original: was, current: &now})
		}
	}
	if back {
		return all, nil
	}
	return append(all, newlyForwarding(b, live)...), nil
}

// newlyForwarding returns rules that forward to both of our groups and did not when the deployment
// began. Their requests would reach the canary, whatever its share in the plan.
func newlyForwarding(b traffic, live []alb.Rule) (all []editedRule) {
	for _, r := range live {
		if b.rules.IsSteered(r) && !isManaged(b, r.ARN) {
			all = append(all, editedRule{original: r, current: &r, isNewlyForwarding: true})
		}
	}
	return all
}

// applyRulePolicy applies onOutsideChange to a rule. A deleted rule is not recreated: its priority
// and conditions were not set by sluice.
func applyRulePolicy(ctx context.Context, b traffic, e editedRule) error {
	switch {
	case e.isNewlyForwarding:
		return &sluice.Error{Op: "check the " + e.current.Name(), Resource: e.current.ARN, Kind: sluice.OutsideChange,
			Err: fmt.Errorf("another process or person made the rule forward to %s after the deployment began; the "+
				"plan does not manage the rule", e.current.Describe()),
			Next: "remove the canary's target group from the rule, then deploy again"}
	case b.step.Plan.OnOutsideChange == sluice.AdoptChange:
		return adoptRule(ctx, b, e)
	case e.current == nil:
		return &sluice.Error{Op: "check the " + e.original.Name(), Resource: e.original.ARN,
			Kind: sluice.OutsideChange,
			Err:  errors.New("another process or person deleted the rule during the deployment"),
			Next: "restore the rule, then deploy again"}
	case b.step.Plan.OnOutsideChange == sluice.ReassertChange:
		return reassertRule(ctx, b, e)
	}
	return errRuleDiffers(ctx, b, e)
}

// errRuleDiffers is the error for an edited rule. It gives the actual and the expected actions.
func errRuleDiffers(ctx context.Context, b traffic, e editedRule) error {
	ours, known, err := writtenForm(ctx, b, e.original)
	if err != nil {
		return err
	}
	was := ","
	if known {
		was = ", sluice had written " + ours.Describe() + ","
	}
	return &sluice.Error{Op: "check the " + e.original.Name(), Resource: e.original.ARN, Kind: sluice.OutsideChange,
		Err: fmt.Errorf("another process or person edited the rule after the deployment began: it forwards to %s%s and "+
			"sluice does not overwrite it", e.current.Describe(), was),
		Next: "deploy again when no other process edits the rule. To continue despite such changes, set onOutsideChange " +
			"to reassert or adopt"}
}

// resolveRuleEdit handles an edit that was read just before a write. That read may be older than our last write,
// although a read before it was not: it is confirmed by newer ones. With reassert and adopt the write continues.
// resolveRuleEdit returns the fingerprint of the rule as it is now.
func resolveRuleEdit(ctx context.Context, b traffic, arn, name, live string) (string, error) {
	edited, err := confirmEdited(ctx, b)
	if err != nil {
		return live, err
	}
	marks, err := loadFingerprints(ctx, b)
	if err != nil {
		return live, err
	}
	i := slices.IndexFunc(edited, func(e editedRule) bool { return e.original.ARN == arn })
	if ours, known := marks[arn]; i < 0 && known {
		return ours.Written, nil // the read was older
	}
	if p := b.step.Plan.OnOutsideChange; p != sluice.ReassertChange && p != sluice.AdoptChange {
		return live, errRuleEdited(b, arn, name)
	}
	if i < 0 || edited[i].current == nil {
		return live, nil
	}
	live = alb.Fingerprint(edited[i].current.Actions)
	if b.step.Plan.OnOutsideChange == sluice.AdoptChange {
		return live, adoptRule(ctx, b, edited[i])
	}
	b.step.EmitWarning("external change of the %s. sluice writes the rule again (onOutsideChange: reassert)", name)
	return live, nil
}

// reassertRule writes the rule as we wrote it last, once the variant that it sends requests to can
// take them.
func reassertRule(ctx context.Context, b traffic, e editedRule) error {
	ours, known, err := writtenForm(ctx, b, e.original)
	if err != nil {
		return err
	}
	if !known {
		return errRuleEdited(b, e.original.ARN, e.original.Name())
	}
	if b.sendsToCanary(ours) {
		if err := reattachCanary(ctx, b, e); err != nil {
			return err
		}
		if err := capacity.AwaitServing(ctx, b.step, sluice.Canary); err != nil {
			return err
		}
	}
	b.step.EmitWarning("external change of the %s. sluice writes the rule again (onOutsideChange: reassert)",
		e.original.Name())
	if err := writeOver(ctx, b, *e.current, ours); err != nil {
		return err
	}
	return step.SaveShiftTime(ctx, b.step)
}

// reattachCanary adds the canary's group at weight 0 to a rule that lost it. AWS checks the health
// of targets only in groups that a listener forwards to.
func reattachCanary(ctx context.Context, b traffic, e editedRule) error {
	if hasCanaryGroup(b, *e.current) {
		return nil
	}
	return b.rules.WriteRule(ctx, b.step.MakeWrite, *e.current,
		b.rules.WithWeights(e.original, sluice.CanaryShare(0)).Actions)
}

// writtenForm returns a rule of the snapshot as we wrote it last: as it was, or with weights of the plan's stages.
func writtenForm(ctx context.Context, b traffic, rule alb.Rule) (ours alb.Rule, known bool, err error) {
	marks, err := loadFingerprints(ctx, b)
	planned := []sluice.Weights{sluice.CanaryShare(0)}
	for _, s := range b.step.Plan.Stages {
		if s.Weights != nil {
			planned = append(planned, *s.Weights)
		}
	}
	ours, known = b.rules.ReshapeTo(rule, marks[rule.ARN].Written, planned)
	return ours, known, err
}

// adoptRule puts the rule as another actor wrote it into the snapshot. Its share for our canary
// then goes to the primary, because the canary is removed later. A rule that no longer forwards to
// our groups is not managed any more.
func adoptRule(ctx context.Context, b traffic, e editedRule) error {
	f := *b.step.Snapshot
	f.Rules = slices.DeleteFunc(slices.Clone(f.Rules), func(x alb.Rule) bool { return x.ARN == e.original.ARN })
	stays := e.current != nil && b.rules.IsServiceRule(*e.current)
	if stays {
		base := *e.current
		if b.sendsToCanary(base) && !b.sendsToCanary(e.original) {
			base = b.rules.WithWeights(base, sluice.CanaryShare(0))
		}
		f.Rules = append(f.Rules, base)
	}
	if err := updateFingerprints(ctx, b, func(marks map[string]memory.RuleFingerprint) bool {
		delete(marks, e.original.ARN)
		if stays {
			marks[e.original.ARN] = memory.RuleFingerprint{Written: alb.Fingerprint(e.current.Actions), Stage: -1}
		}
		return true
	}); err != nil {
		return err
	}
	if err := saveAdoptedShift(ctx, b); err != nil {
		return err
	}
	if err := b.step.Memory.Snapshot.Save(ctx, f); err != nil {
		return err
	}
	b.step.Snapshot, b.step.Expected = &f, nil
	if !stays {
		b.step.EmitWarning("the %s no longer forwards to this service's target groups; sluice stops managing it "+
			"(onOutsideChange: adopt)", e.original.Name())
		return nil
	}
	b.step.EmitWarning("external change of the %s. sluice keeps the edited rule, and a rollback returns to it "+
		"(onOutsideChange: adopt)", e.original.Name())
	return nil
}

// RerouteEmptyCanary moves the weight that an edited rule gives an empty canary to the primary, if
// the primary serves. With healthy canary targets the rule is kept.
func (b traffic) RerouteEmptyCanary(ctx context.Context) error {
	if b.step.Plan.Canary == nil || len(b.step.Snapshot.Rules) == 0 {
		return nil
	}
	for n := 1; ; n++ {
		edited, err := editedToCanary(ctx, b)
		if err != nil || len(edited) == 0 {
			return err
		}
		if lost, err := canaryHasNoTargets(ctx, b); err != nil || !lost {
			return err
		}
		if n == 2 {
			return rerouteToPrimary(ctx, b, edited)
		}
		if err := b.step.PauseFor(ctx, step.ReadLag); err != nil { // the answers may be older than the healthy targets
			return err
		}
	}
}

// rerouteToPrimary writes the rules so that the canary's share goes to the primary.
func rerouteToPrimary(ctx context.Context, b traffic, edited []editedRule) error {
	for _, e := range edited {
		b.step.EmitWarning("an external change of the %s sends requests to the canary, which has no healthy targets. "+
			"sluice routes them to the primary", e.original.Name())
		if err := writeOver(ctx, b, *e.current, b.rules.WithWeights(*e.current, sluice.CanaryShare(0))); err != nil {
			return err
		}
	}
	return nil
}

// editedToCanary returns the rules of the stage that other actors edited and that send requests to
// the canary.
func editedToCanary(ctx context.Context, b traffic) ([]editedRule, error) {
	edited, err := editedRules(ctx, b, true)
	return slices.DeleteFunc(edited, func(e editedRule) bool {
		return e.current == nil || !b.sendsToCanary(*e.current) || !b.rules.IsServiceRule(*e.current) ||
			!b.step.Stage.MayWrite(alb.WriteOf(*e.current))
	}), err
}

// canaryHasNoTargets reports whether the primary's group has a healthy target and the canary's has
// none.
func canaryHasNoTargets(ctx context.Context, b traffic) (bool, error) {
	takes := func(group string) (bool, error) {
		targets, err := alb.ReadHealth(ctx, b.step.Account.ELB(), group)
		return slices.ContainsFunc(targets, func(t sluice.Target) bool { return t.State == "healthy" }), err
	}
	canary, err := takes(b.step.Plan.Canary.ARN)
	if err != nil || canary {
		return false, err
	}
	return takes(b.step.Plan.Primary.ARN)
}

// WeightOf is the highest weight that a rule gives the variant. watched is false if no rule
// forwards to its target group: AWS does not check the health of its targets then.
func (b traffic) WeightOf(v sluice.Variant) (most int, watched bool) {
	group := b.AttachmentOf(v).TargetGroup
	if group == "" || len(b.step.Snapshot.Rules) == 0 {
		return step.PlannedWeight(b.step, v)
	}
	return b.rules.Weight(group)
}
