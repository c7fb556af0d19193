package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
)

// canaryClean takes the canary away: no share, every caller knows, drained,
// deleted, the way back in its former shape. An old primary that was kept warm
// goes too. Without a canary there is nothing to do.
func (r *Run) canaryClean(ctx context.Context) error {
	if _, err := r.begin(ctx); err != nil {
		return err
	}
	if err := r.takeTraffic(ctx); err != nil {
		return err
	}
	r.leaving = true
	canary, err := r.hosting.standing(ctx, sluice.Canary)
	if err != nil {
		return err
	}
	if canary != nil {
		if err := r.retire(ctx, *canary); err != nil {
			return err
		}
	}
	if err := r.hosting.retireKept(ctx); err != nil {
		return err
	}
	if err := r.access.reshape(ctx); err != nil {
		return err
	}
	return r.nextGeneration(ctx)
}

// nextGeneration lets a later rollout of this deployment make a canary of its
// own: the one of this generation is gone.
func (r *Run) nextGeneration(ctx context.Context) error {
	by, err := r.canaryID(ctx)
	if err != nil {
		return err
	}
	rolledOut, ok, err := r.Host.Load(ctx, KeyCanarySet)
	if err != nil || !ok || string(rolledOut) != string(by) {
		return err
	}
	n, _, err := saved[int](ctx, r.Host, keyGeneration)
	if err != nil {
		return err
	}
	return save(ctx, r.Host, keyGeneration, n+1)
}
