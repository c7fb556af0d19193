package canaryservice

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
	"github.com/sluice-ecs/sluice/internal/verdict/health"
)

// bridgeTimeout is how long the former revision may make no progress in the canary service. After
// that the service is rolled back without the bridge.
const bridgeTimeout = 3 * time.Minute

// bridgeRollback registers only the canary service under the name before ECS rolls the service
// back, because ECS stops tasks while callers still cache their addresses. If the new revision is
// registered, the canary service is first updated to the former revision. A failure is reported and
// the rollback continues.
func (s services) bridgeRollback(ctx context.Context) error {
	if !s.step.Plan.BridgesRollback() || s.step.Snapshot.Revision == "" {
		return nil
	}
	err := s.startBridge(ctx)
	switch sluice.KindOf(err) {
	case sluice.Unhealthy, sluice.Reverted, sluice.Stall, sluice.OutsideChange, sluice.Conflict:
		s.step.EmitWarning("cannot move callers off the tasks that ECS will stop: %v", err)
		return nil
	}
	return err
}

func (s services) startBridge(ctx context.Context) error {
	saved, err := s.step.Memory.Names.Load(ctx)
	if err != nil {
		return err
	}
	exposed := false
	if r, ok := s.step.Access.(step.TaskRecords); ok {
		exposed, err = r.CallersCacheAddresses(ctx)
	}
	if err != nil || !exposed && saved.MaintainedShare < 100 {
		return err
	}
	if saved.MaintainedShare < 100 {
		if err := s.startFormerCanary(ctx); err != nil {
			return err
		}
	}
	if exposed {
		if err := s.step.Access.SetWeights(ctx, sluice.CanaryShare(100)); err != nil {
			return err
		}
	}
	return s.step.Access.WaitForPropagation(ctx)
}

// startFormerCanary deregisters the canary service and updates it to the former revision.
func (s services) startFormerCanary(ctx context.Context) error {
	if err := s.deregisterCanary(ctx); err != nil {
		return err
	}
	if err := s.replaceDeletedCanary(ctx); err != nil {
		return err
	}
	m, err := s.EnsureCanary(ctx, ecs.Revision{ARN: s.step.Snapshot.Revision, Name: s.step.Snapshot.Revision}, 100)
	if err != nil {
		return err
	}
	if err := capacity.AwaitMember(ctx, s.step, m, health.AwaitCapacity(s.step.Clock.Now(), min(bridgeTimeout,
		s.step.Plan.ProgressDeadline),
		0).RequireTwoPolls()); err != nil {
		return err
	}
	s.step.EmitNote("the %s runs %s while ECS rolls the service back", m.Label, s.step.Snapshot.Revision)
	return nil
}

// replaceDeletedCanary lets the next canary be another one, if another actor deleted the canary of this
// deployment. AWS answers a client token that was used before with the deleted service or with an error.
func (s services) replaceDeletedCanary(ctx context.Context) error {
	canary, err := step.FindOwnCanary(ctx, s.step)
	if err != nil || canary != nil && canary.Live.IsActive() {
		return err
	}
	if err := step.SaveNextGeneration(ctx, s.step); err != nil {
		return err
	}
	return step.SaveCanaryRollout(ctx, s.step)
}

// deregisterCanary deregisters the canary of the new revision, if it is registered. It returns when
// no caller uses its addresses any more.
func (s services) deregisterCanary(ctx context.Context) error {
	sends, err := s.step.Access.CanaryGetsTraffic(ctx)
	if err == nil && sends {
		err = s.step.Access.SetWeights(ctx, sluice.CanaryShare(0))
	}
	if err != nil {
		return err
	}
	return s.step.Access.WaitForPropagation(ctx)
}
