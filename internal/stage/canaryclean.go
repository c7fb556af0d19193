package stage

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// canaryClean removes the canary. It takes the canary's share away, waits for propagation, drains
// and deletes the canary, and reverts the routes to their shape before. It also removes an old
// primary that was kept running. Without a canary and a kept primary it does nothing.
func canaryClean(ctx context.Context, s *step.Step) error {
	if _, err := begin.Stage(ctx, s); err != nil {
		return err
	}
	if err := capacity.RemoveCanaryTraffic(ctx, s); err != nil {
		return err
	}
	s.CanaryRetires = true
	canary, err := step.FindOwnCanary(ctx, s)
	if err != nil {
		return err
	}
	var goes []step.Member
	if h, ok := s.Hosting.(step.Promotions); ok {
		if goes, err = h.ListKept(ctx); err != nil {
			return err
		}
	}
	if canary != nil {
		if err := step.CheckCanaryUnrouted(ctx, s.Access, *canary); err != nil {
			return err
		}
		goes = append([]step.Member{*canary}, goes...)
	}
	if err := capacity.Retire(ctx, s, goes...); err != nil {
		return err
	}
	if r, ok := s.Access.(step.CanaryRules); ok {
		if err := r.RemoveCanaryRoute(ctx); err != nil {
			return err
		}
	}
	return step.SaveNextGeneration(ctx, s)
}
