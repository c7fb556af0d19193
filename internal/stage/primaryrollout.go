package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// primaryRollout makes the new revision the primary: create, wait healthy,
// promote, drain, delete only the old primary, wait stable. The canary stays.
func (r *Run) primaryRollout(ctx context.Context) error {
	live, rev, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	if err := r.updateService(ctx, live); err != nil {
		return err
	}
	set, err := r.newPrimary(ctx, rev)
	if err != nil {
		return err
	}
	if r.Stage.KeepOld {
		r.note("the old primary %s stays until the canary is cleaned", r.oldPrimary())
		return save(ctx, r.Host, keyKeptOld, r.oldPrimary())
	}
	if old := r.oldPrimary(); old != set {
		if err := r.retireStanding(ctx, old, plan.OldPrimarySet); err != nil {
			return err
		}
	}
	return r.awaitHealthy(ctx, sluice.Primary, set, 0)
}

// newPrimary creates the new primary, waits until it is healthy and promotes
// it. It returns the set's id.
func (r *Run) newPrimary(ctx context.Context, rev ecs.Revision) (string, error) {
	w := r.wantNewPrimary(rev)
	set, err := r.ensureSet(ctx, w)
	if err != nil {
		return "", err
	}
	if err := r.awaitNew(ctx, sluice.Primary, set.ID, 0); err != nil {
		return "", err
	}
	return set.ID, r.promote(ctx, set.ID, w.Label)
}

// promote makes the set PRIMARY unless it is already. That it is must be seen
// twice: the first answer may be of the time before another one was promoted.
func (r *Run) promote(ctx context.Context, id, label string) error {
	set, err := r.find(ctx, id)
	if err == nil && set.Status == "PRIMARY" {
		if err = r.current(ctx); err == nil {
			set, err = r.find(ctx, id)
		}
	}
	if err != nil || set.Status == "PRIMARY" {
		return err
	}
	return r.sets.Promote(ctx, r.act, set, label)
}
