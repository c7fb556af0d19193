package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// retire takes a task set away without losing a request: capacity to zero (ECS
// deregisters the targets and stops the tasks once connections have ended),
// wait until the targets are gone, delete, wait until AWS lists it no more.
func (r *Run) retire(ctx context.Context, set sluice.TaskSet, label string) error {
	if set.Status != "DRAINING" {
		if err := r.empty(ctx, set, label); err != nil {
			return err
		}
		if err := r.sets.Delete(ctx, r.act, set, label); err != nil {
			return err
		}
	}
	return r.awaitDeleted(ctx, set.ID, "the "+label)
}

// empty scales a set to zero and waits until its connections have ended.
func (r *Run) empty(ctx context.Context, set sluice.TaskSet, label string) error {
	if set.Scale != 0 {
		if err := r.sets.Scale(ctx, r.act, set, label, 0); err != nil {
			return err
		}
	}
	return r.awaitEmpty(ctx, set.ID, "the "+label)
}

// retireStanding retires the set of that id if it still stands.
func (r *Run) retireStanding(ctx context.Context, id, label string) error {
	if id == "" {
		return nil
	}
	live, err := r.observe(ctx)
	if err != nil {
		return err
	}
	set := live.TaskSet(id)
	if set == nil {
		return nil
	}
	return r.retire(ctx, *set, label)
}

// ensureSet makes the task set or finds it, and tells which.
func (r *Run) ensureSet(ctx context.Context, w ecs.Wanted) (sluice.TaskSet, error) {
	set, found, err := r.sets.EnsureSet(ctx, r.act, w)
	if err == nil && found {
		r.Host.Emit(sluice.Adopted{Action: w.By, Resource: set.ID})
	}
	return set, err
}
