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
	canary, err := r.standingCanary(ctx)
	if err != nil {
		return err
	}
	goes, err := r.hosting.kept(ctx)
	if err != nil {
		return err
	}
	if canary != nil {
		if err := r.access.released(ctx, *canary); err != nil {
			return err
		}
		goes = append([]member{*canary}, goes...)
	}
	if err := r.retire(ctx, goes...); err != nil {
		return err
	}
	if err := r.access.reshape(ctx); err != nil {
		return err
	}
	return r.nextGeneration(ctx)
}

// rolledOut is the canary of this deployment, and whether a rollout of it has begun.
func (r *Run) rolledOut(ctx context.Context) (sluice.ActionID, bool, error) {
	by, err := r.canaryID(ctx)
	if err != nil {
		return by, false, err
	}
	value, ok, err := r.Host.Load(ctx, KeyCanarySet)
	return by, ok && string(value) == string(by), err
}

// standingCanary is the canary of this deployment; nil if there is none. That a read
// does not show it, or shows one that an earlier deployment left, proves something once
// the read must be newer than what made it.
func (r *Run) standingCanary(ctx context.Context) (m *member, err error) {
	by, rolledOut, err := r.rolledOut(ctx)
	if err != nil {
		return nil, err
	}
	err = r.readUntil(ctx, r.wrote, func(ctx context.Context) (bool, error) {
		m, err = r.hosting.standing(ctx, sluice.Canary)
		return !rolledOut || m != nil && m.ExternalID == string(by), err
	})
	return m, err
}

// nextGeneration lets a later rollout of this deployment make a canary of its
// own: the one of this generation is gone.
func (r *Run) nextGeneration(ctx context.Context) error {
	_, rolledOut, err := r.rolledOut(ctx)
	if err != nil || !rolledOut {
		return err
	}
	n, _, err := saved[int](ctx, r.Host, keyGeneration)
	if err != nil {
		return err
	}
	return save(ctx, r.Host, keyGeneration, n+1)
}
