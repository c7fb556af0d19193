package stage

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// syncService brings the whole service to the new revision in one stage. It removes everything else
// that sluice created, including a canary.
func syncService(ctx context.Context, s *step.Step) error {
	live, rev, err := begin.StageWithRevision(ctx, s)
	if err != nil {
		return err
	}
	primary, err := s.Hosting.StartPrimary(ctx, live, rev)
	if err != nil {
		return err
	}
	s.Serving.NotePromoted()
	if err := capacity.RemoveCanaryTraffic(ctx, s); err != nil {
		return err
	}
	s.CanaryRetires = true
	others, err := s.Hosting.ListOthers(ctx, primary)
	if err != nil {
		return err
	}
	if err := capacity.Retire(ctx, s, others...); err != nil {
		return err
	}
	return capacity.AwaitHealthy(ctx, s, primary, 0)
}

// scaleOnly is the stage of a plan that changes auto scaling only. A deployment of the revision that another process or
// person left in progress decides about the outcome: the revision of the files does not serve before it ends.
func scaleOnly(ctx context.Context, s *step.Step) error {
	live, err := begin.Stage(ctx, s)
	if err != nil || !live.DeploymentInProgress() {
		return err
	}
	return rolling.AwaitStable(ctx, s, live.Serving(), 0, nil)
}
