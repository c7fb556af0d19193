package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// trafficRouting moves the weights. The variant that gets requests must first be able to take them.
// ALB weights do not fail over: the share of an empty group is lost.
func trafficRouting(ctx context.Context, s *step.Step) error {
	if _, err := begin.Stage(ctx, s); err != nil {
		return err
	}
	to := *s.Stage.Weights
	if err := s.Access.SavePlannedShift(ctx, to); err != nil {
		return err
	}
	if to.Canary() > 0 { // else a canary that was removed would be added to the rules again
		if err := s.Access.PrepareCanaryRoute(ctx); err != nil {
			return err
		}
	}
	for _, v := range []sluice.Variant{sluice.Canary, sluice.Primary} {
		if to.Of(v) == 0 {
			continue
		}
		if err := capacity.AwaitServing(ctx, s, v); err != nil {
			return err
		}
	}
	return s.Access.SetWeights(ctx, to)
}
