package stage

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// primaryRollout makes the new revision the primary: start, wait until healthy, promote, drain,
// delete the old primary only, wait until stable. The canary is kept.
func primaryRollout(ctx context.Context, s *step.Step) error {
	live, rev, err := begin.StageWithRevision(ctx, s)
	if err != nil {
		return err
	}
	primary, err := s.Hosting.StartPrimary(ctx, live, rev)
	if err != nil {
		return err
	}
	s.Serving.NotePromoted()
	if h, ok := s.Hosting.(step.Promotions); ok {
		if err := h.RetireOldPrimary(ctx, primary); err != nil {
			return err
		}
	}
	return capacity.AwaitHealthy(ctx, s, primary, 0)
}
