package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// foreign tells of a canary service that somebody else deleted or emptied. What
// ECS has under way on the service itself is its own to change.
func (s services) foreign(ctx context.Context, x *expectation, live *ecs.Live) ([]change, error) {
	if x.before.canary == 0 || x.before.canary != x.after.canary || slices.Contains(x.accepted.Gone, plan.CanarySet) {
		return nil, nil
	}
	canary, err := s.beside.Observe(ctx)
	if err != nil {
		return nil, err
	}
	if !canary.Stands() {
		return []change{{did: wasDeleted, label: plan.CanarySet}}, nil
	}
	if _, kept := x.accepted.Scales[canary.ARN]; canary.Desired > 0 || live.Desired == 0 || kept {
		return nil, nil
	}
	return []change{{did: wasScaled, label: plan.CanarySet, set: sluice.TaskSet{ID: canary.ARN}, want: float64(x.before.canary)}}, nil
}

// undo gives an emptied canary service its tasks again.
func (s services) undo(ctx context.Context, c change) error {
	rev, err := s.revision(ctx)
	if err != nil {
		return err
	}
	canary, err := s.ensureCanary(ctx, rev, int(c.want))
	if err != nil {
		return err
	}
	return s.awaitNew(ctx, canary, 1)
}
