package capacity

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// RemoveCanaryTraffic moves all requests to the primary and waits until every caller follows.
func RemoveCanaryTraffic(ctx context.Context, s *step.Step) error {
	sends, err := s.Access.CanaryGetsTraffic(ctx)
	if err != nil {
		return err
	}
	if sends {
		if err := AwaitServing(ctx, s, sluice.Primary); err != nil {
			return err
		}
		if err := s.Access.SetWeights(ctx, sluice.CanaryShare(0)); err != nil {
			return err
		}
	}
	return s.Access.WaitForPropagation(ctx)
}
