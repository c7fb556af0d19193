package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// canaryClean removes the canary. It takes the canary's share away, waits for propagation, drains
// and deletes the canary, and reverts the routes to their shape before. It also removes an old
// primary that was kept running. Without a canary and a kept primary it does nothing.
func (r *Run) canaryClean(ctx context.Context) error {
	if _, err := r.beginStage(ctx); err != nil {
		return err
	}
	if err := r.removeCanaryTraffic(ctx); err != nil {
		return err
	}
	r.canaryRetires = true
	canary, err := r.findOwnCanary(ctx)
	if err != nil {
		return err
	}
	goes, err := r.hosting.listKept(ctx)
	if err != nil {
		return err
	}
	if canary != nil {
		if err := r.traffic.checkCanaryUnrouted(ctx, *canary); err != nil {
			return err
		}
		goes = append([]member{*canary}, goes...)
	}
	if err := r.retireMembers(ctx, goes...); err != nil {
		return err
	}
	if err := r.traffic.removeCanaryRoute(ctx); err != nil {
		return err
	}
	return r.saveNextGeneration(ctx)
}

// loadCanaryRollout returns the action ID of the canary of this deployment, and whether its rollout
// has begun.
func (r *Run) loadCanaryRollout(ctx context.Context) (sluice.ActionID, bool, error) {
	by, err := r.canaryID(ctx)
	if err != nil {
		return by, false, err
	}
	value, err := r.memory.CanarySet.Load(ctx)
	return by, value == string(by), err
}

// findOwnCanary returns the canary of this deployment; nil if there is none. A read may miss the
// canary, or show one that an earlier deployment left. Such a read counts only if it must be newer
// than the write that created the canary.
func (r *Run) findOwnCanary(ctx context.Context) (m *member, err error) {
	by, rolledOut, err := r.loadCanaryRollout(ctx)
	if err != nil {
		return nil, err
	}
	err = r.readUntil(ctx, r.wroteAt, func(ctx context.Context) (bool, error) {
		m, err = r.hosting.findVariant(ctx, sluice.Canary)
		return !rolledOut || m != nil && m.ExternalID == string(by), err
	})
	return m, err
}

// saveNextGeneration lets a later rollout of this deployment create its own canary, because the
// canary of this generation is deleted.
func (r *Run) saveNextGeneration(ctx context.Context) error {
	_, rolledOut, err := r.loadCanaryRollout(ctx)
	if err != nil || !rolledOut {
		return err
	}
	return r.memory.Canary.Update(ctx, func(c *memory.Canary) { c.Generation++ })
}
