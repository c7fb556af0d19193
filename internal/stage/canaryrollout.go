package stage

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// canaryRollout starts the new revision next to the old one. It moves no traffic and does not
// change the running primary.
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
	return capacity.AwaitNewTasks(ctx, s, canary, 1)
}
