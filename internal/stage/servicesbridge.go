package stage

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// bridgeTimeout is how long the former revision may make no progress in the canary service. After
// that the service is rolled back without the bridge.
const bridgeFor = 3 * time.Minute

// bridgeRollback registers only the canary service under the name before ECS rolls the service
// back, because ECS stops tasks while callers still cache their addresses. If the new revision is
// registered, the canary service is first updated to the former revision. A failure is reported and
// the rollback continues.
func (s services) bridge(ctx context.Context) error {
	if !s.Plan.Bridges() || s.former.Revision == "" {
		return nil
	}
	err := s.cross(ctx)
	switch sluice.KindOf(err) {
	case sluice.Unhealthy, sluice.Stall, sluice.OutsideChange, sluice.Conflict:
		s.warn("callers are not led away from the tasks that ECS is about to stop: %v", err)
		return nil
	}
	return err
}

func (s services) cross(ctx context.Context) error {
	held, _, err := saved[int](ctx, s.Host, keyShareHeld)
	if err != nil {
		return err
	}
	exposed, err := s.access.exposed(ctx)
	if err != nil || !exposed && held < 100 {
		return err
	}
	if held < 100 {
		if err := s.startFormer(ctx); err != nil {
			return err
		}
	}
	if exposed {
		if err := s.access.shift(ctx, sluice.CanaryShare(100)); err != nil {
			return err
		}
	}
	return s.access.settle(ctx)
}

// startFormerCanary deregisters the canary service and updates it to the former revision.
func (s services) startFormer(ctx context.Context) error {
	if err := s.withdraw(ctx); err != nil {
		return err
	}
	m, err := s.ensureCanary(ctx, ecs.Revision{ARN: s.former.Revision, Name: s.former.Revision}, 100)
	if err != nil {
		return err
	}
	if err := s.await(ctx, m, verdict.Await(s.Clock.Now(), min(bridgeFor, s.Plan.ProgressDeadline), 0).Twice()); err != nil {
		return err
	}
	s.note("%s is found in the %s while ECS rolls the service back", s.former.Revision, m.label)
	return nil
}

// deregisterCanary deregisters the canary of the new revision, if it is registered. It returns when
// no caller uses its addresses any more.
func (s services) withdraw(ctx context.Context) error {
	sends, err := s.access.sends(ctx)
	if err == nil && sends {
		err = s.access.shift(ctx, sluice.CanaryShare(0))
	}
	if err != nil {
		return err
	}
	return s.access.settle(ctx)
}
