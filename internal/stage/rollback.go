package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// isRollback reports whether the stage is the rollback. Its index is after the other stages.
func (r *Run) returns() bool { return r.Stage.Index >= len(r.Plan.Stages) }

// runRollback restores the snapshot. It succeeds only if the former version serves.
func (r *Run) rollback(ctx context.Context) error {
	if err := r.returnToFormer(ctx); err != nil {
		return r.deregistered(ctx, err)
	}
	return r.Confirm(ctx, sluice.RolledBack)
}

// restoreSnapshot restores shares, capacity and service attributes of the snapshot. If the former
// primary still runs, traffic moves back immediately. Otherwise it is started first, and traffic
// moves when it is healthy.
func (r *Run) returnToFormer(ctx context.Context) error {
	former, ok, err := saved[Former](ctx, r.Host, keyFormer)
	if err == nil && !ok && r.Plan.Adopts() {
		return r.adopt(ctx) // no other write was made, and adopting is the safe choice
	}
	if err != nil || !ok {
		return err // no write was made
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
	if err := r.withoutName(ctx); err != nil {
		return err
	}
	if err := r.remember(ctx, live); err != nil {
		return err
	}
	if err := r.scalesBack(ctx); err != nil {
		return err
	}
	if r.Plan.ByCodeDeploy() && r.Plan.Stages[0].Name != plan.StageScaling {
		return r.shiftBack(ctx, live)
	}
	if err := r.hold(ctx, live); err != nil || r.Plan.Stages[0].Name == plan.StageScaling {
		return err
	}
	if r.Plan.Rolls() && !r.Plan.Beside() {
		return r.rollBack(ctx)
	}
	if err := r.access.spare(ctx); err != nil {
		return err
	}
	if err := r.hosting.restore(ctx, live); err != nil {
		return r.unrestored(ctx, err)
	}
	if err := r.backOut(ctx); err != nil {
		return err
	}
	return r.reportRest(ctx)
}

// removeCreated removes what the deployment created, once no caller is sent to it.
func (r *Run) backOut(ctx context.Context) error {
	if err := r.access.settle(ctx); err != nil {
		return err
	}
	if err := r.current(ctx); err != nil {
		return err
	}
	if err := r.hosting.stays(ctx); err != nil {
		return err
	}
	made, err := r.hosting.made(ctx)
	if err != nil {
		return err
	}
	for _, m := range made {
		if m.variant != sluice.Canary {
			continue
		}
		switch err := r.access.released(ctx, m); {
		case sluice.KindOf(err) == sluice.OutsideChange:
			return r.retireBut(ctx, made, m, err)
		case err != nil:
			return err
		}
	}
	if len(made) == 0 {
		return nil
	}
	if err := r.retire(ctx, made...); err != nil {
		return err
	}
	return r.hosting.stays(ctx) // the removal took minutes
}

// retireExcept retires what the deployment created, except the member that must stay. It returns
// the reason why that member stays.
func (r *Run) retireBut(ctx context.Context, made []member, stays member, why error) error {
	rest := slices.DeleteFunc(slices.Clone(made), func(m member) bool { return m.ID == stays.ID })
	if err := r.retire(ctx, rest...); err != nil {
		return err
	}
	return why
}
