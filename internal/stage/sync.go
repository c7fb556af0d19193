package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// sync brings the whole service to the new revision at once and removes every
// other task set of ours, a canary included.
func (r *Run) sync(ctx context.Context) error {
	live, rev, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	if err := r.updateService(ctx, live); err != nil {
		return err
	}
	if r.Stage.Recreate {
		if err := r.stopOld(ctx, live); err != nil {
			return err
		}
	}
	set, err := r.newPrimary(ctx, rev)
	if err != nil {
		return err
	}
	if r.Plan.Canary != nil && len(r.Plan.Listeners) > 0 {
		if err := r.takeTraffic(ctx); err != nil {
			return err
		}
	}
	if err := r.retireOthers(ctx, set); err != nil {
		return err
	}
	return r.awaitHealthy(ctx, sluice.Primary, set, 0)
}

// stopOld empties the old primary before the new one starts (recreate).
func (r *Run) stopOld(ctx context.Context, live *ecs.Live) error {
	old := live.TaskSet(r.oldPrimary())
	if old == nil || live.Made(r.newPrimaryID()) != nil {
		return nil
	}
	return r.empty(ctx, *old, plan.OldPrimarySet)
}

// retireOthers retires the old primary and every other task set of ours.
func (r *Run) retireOthers(ctx context.Context, keep string) error {
	live, err := r.observe(ctx)
	if err != nil {
		return err
	}
	canary, err := r.canarySet(ctx, live)
	if err != nil {
		return err
	}
	for _, set := range live.TaskSets {
		label := plan.OtherSets
		switch {
		case set.ID == keep:
			continue
		case set.ID == r.oldPrimary():
			label = plan.OldPrimarySet
		case canary != nil && set.ID == canary.ID:
			label = plan.CanarySet
		case !plan.Ours(set.ExternalID) && (r.Ours == nil || !r.Ours(set.ID)):
			continue
		}
		if err := r.retire(ctx, set, label); err != nil {
			return err
		}
	}
	return nil
}
