package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// rollback returns to what was: rules, task sets, service attributes, exactly as
// remembered. If the old primary still stands, traffic goes back at once; else
// the old revision is started first and traffic stays where it is until that is
// healthy.
func (r *Run) rollback(ctx context.Context) error {
	former, ok, err := saved[Former](ctx, r.Host, keyFormer)
	if err == nil && !ok && r.Plan.Adopts() {
		return r.adopt(ctx) // nothing else was written, and that is the safe side
	}
	if err != nil || !ok {
		return err // nothing was written
	}
	live, err := r.standing(ctx)
	if err != nil {
		return err
	}
	if live == nil && !former.Service {
		return nil // as it was before
	}
	if live == nil {
		return r.deleted()
	}
	if err := r.remember(ctx, live); err != nil {
		return err
	}
	if err := r.hold(ctx, live); err != nil {
		return err
	}
	if r.Plan.Controller == controllerECS {
		return r.rollBack(ctx, live)
	}
	if err := r.restoreAttributes(ctx, live); err != nil {
		return err
	}
	if err := r.restorePrimary(ctx, live); err != nil {
		return err
	}
	return r.backOut(ctx)
}

func (r *Run) restoreAttributes(ctx context.Context, live *ecs.Live) error {
	if len(r.former.Attributes.Members) == 0 || !r.former.Service {
		return nil
	}
	return r.hand.Update(ctx, r.act, "restore service", r.former.Attributes)
}

// restorePrimary makes what served before serve again.
func (r *Run) restorePrimary(ctx context.Context, live *ecs.Live) error {
	old := r.former.Primary
	if old == nil {
		_, err := r.restoreRules(ctx)
		return err
	}
	if set := live.TaskSet(old.ID); set != nil && set.Status != "DRAINING" {
		return r.reviveOld(ctx, *set, *old)
	}
	return r.restartOld(ctx, *old)
}

// reviveOld returns to the old primary, which still stands. It may have been
// scaled down already.
func (r *Run) reviveOld(ctx context.Context, set, was sluice.TaskSet) error {
	if set.Scale != was.Scale {
		if err := r.sets.Scale(ctx, r.act, set, plan.OldPrimarySet, int(was.Scale)); err != nil {
			return err
		}
		if err := r.awaitBack(ctx, set.ID); err != nil {
			return err
		}
	}
	if _, err := r.restoreRules(ctx); err != nil {
		return err
	}
	return r.promote(ctx, set.ID, plan.OldPrimarySet)
}

// restartOld starts the old revision again, since its task set is gone.
func (r *Run) restartOld(ctx context.Context, was sluice.TaskSet) error {
	r.note("the old primary %s is gone: starting %s again", was.ID, was.Revision)
	attachment := attach(r.Plan.Primary)
	if was.TargetGroup != "" {
		attachment.TargetGroup = was.TargetGroup
	}
	w := ecs.Wanted{By: r.restoredID(), Label: plan.RestoredSet, Scale: int(was.Scale), Attach: attachment,
		Revision: ecs.Revision{ARN: was.Revision, Name: was.Revision}}
	set, err := r.ensureSet(ctx, w)
	if err != nil {
		return err
	}
	if err := r.awaitBack(ctx, set.ID); err != nil {
		return err
	}
	if err := r.promote(ctx, set.ID, plan.RestoredSet); err != nil {
		return err
	}
	_, err = r.restoreRules(ctx)
	return err
}

// backOut takes away what the deployment made, once no rule sends to it.
func (r *Run) backOut(ctx context.Context) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	if err := r.current(ctx); err != nil {
		return err
	}
	live, err := r.observe(ctx)
	if err != nil {
		return err
	}
	if set := live.Made(r.newPrimaryID()); set != nil && set.Status != "PRIMARY" {
		if err := r.retire(ctx, *set, plan.NewPrimarySet); err != nil {
			return err
		}
	}
	canary, err := r.canarySet(ctx, live)
	if err != nil || canary == nil {
		return err
	}
	if err := r.noneSends(ctx, canary.ID); err != nil {
		return err
	}
	return r.retire(ctx, *canary, plan.CanarySet)
}

// noneSends refuses to take the canary away while a rule still sends to it:
// somebody else edited that rule, and it was not overwritten.
func (r *Run) noneSends(ctx context.Context, canary string) error {
	if len(r.former.Rules) == 0 {
		return nil
	}
	live, err := r.rules.Rules(ctx)
	if err != nil {
		return err
	}
	for _, rule := range live {
		if w, ok := rule.Weight(r.Plan.Canary.ARN); ok && w > 0 {
			return &sluice.Error{Op: "take the canary away", Resource: canary, Kind: sluice.OutsideChange,
				Err:  fmt.Errorf("the %s, edited by somebody else, sends requests to it (weight %d): %w", rule.Name(), w, errors.New("the canary is left running")),
				Next: "set the canary's weight on that rule to 0, then run sluice rollback again"}
		}
	}
	return nil
}
