package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// returns reports whether the stage is the rollback, which comes after the others.
func (r *Run) returns() bool { return r.Stage.Index >= len(r.Plan.Stages) }

// rollback returns to what was, and ends well only if what was serves.
func (r *Run) rollback(ctx context.Context) error {
	if err := r.returnToFormer(ctx); err != nil {
		return r.deregistered(ctx, err)
	}
	return r.Confirm(ctx, sluice.RolledBack)
}

// returnToFormer returns to what was: shares, capacity, service attributes, exactly as
// remembered. If what served before still stands, traffic goes back at once; else
// it is started first and traffic stays where it is until that is healthy.
func (r *Run) returnToFormer(ctx context.Context) error {
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

// backOut takes away what the deployment made, once nobody is sent to it.
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
	return r.hosting.stays(ctx) // it took minutes to take away what was made
}

// retireBut retires what the deployment made, but not the member that must stay. It
// returns why that one stays.
func (r *Run) retireBut(ctx context.Context, made []member, stays member, why error) error {
	rest := slices.DeleteFunc(slices.Clone(made), func(m member) bool { return m.ID == stays.ID })
	if err := r.retire(ctx, rest...); err != nil {
		return err
	}
	return why
}
