package stage

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// canaryRollout starts the new revision next to the old one and does not change the running primary.
// It moves no traffic, unless the plan gives the canary a share: then callers reach the canary by its
// name once all of its tasks are healthy.
//
// A second run is safe because the canary carries the action's ID. The second run, or a second such
// stage, finds the canary, brings it to its scale and continues to wait.
func canaryRollout(ctx context.Context, s *step.Step) error {
	_, rev, err := begin.StageWithRevision(ctx, s)
	if err != nil {
		return err
	}
	if err := s.Access.PrepareCanaryRoute(ctx); err != nil {
		return err
	}
	if err := step.SaveCanaryRollout(ctx, s); err != nil {
		return err
	}
	canary, err := s.Hosting.EnsureCanary(ctx, rev, s.Stage.Scale)
	if err != nil {
		return err
	}
	s.CanaryScaled = true
	if err := capacity.AwaitNewTasks(ctx, s, canary, 1); err != nil || s.Stage.Weights == nil {
		return err
	}
	if err := s.Access.SavePlannedShift(ctx, *s.Stage.Weights); err != nil {
		return err
	}
	return s.Access.SetWeights(ctx, *s.Stage.Weights)
}
