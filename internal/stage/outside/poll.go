package outside

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/scaling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// driftPollInterval is the time between two reads of rules and auto scaling in a stage. A read of
// the service does not show them: they take calls of their own.
const driftPollInterval = 10 * time.Second

// ErrDriftSeen ends a wait when a concurrent check sees drift. The drift is resolved before the
// wait continues.
var ErrDriftSeen = errors.New("an external change was detected")

// ResolvePolled resolves drift of rules and auto scaling. It is called at every poll of every
// wait of a stage.
func (Watch) ResolvePolled(ctx context.Context, s *step.Step) error {
	differs, err := HasDrift(ctx, s)
	if err != nil || !differs {
		return err
	}
	return ResolveRuleAndScalingDrift(ctx, s)
}

// HasDrift reports whether rules or auto scaling differ from our last write. It reads only if
// driftPollInterval has passed, and changes nothing. In a rollback it is false: a rollback keeps
// what it finds.
func HasDrift(ctx context.Context, s *step.Step) (bool, error) {
	now := s.Clock.Now()
	if !s.OwnsClaim || s.IsRollback() || now.Sub(s.ComparedAt) < driftPollInterval {
		return false, nil
	}
	s.ComparedAt = now
	if differs, err := scaling.HasDrift(ctx, s); err != nil || differs || !s.WatchesDrift {
		return differs, err
	}
	return s.Access.HasRouteDrift(ctx)
}

// ResolveRuleAndScalingDrift applies onOutsideChange to rules and auto scaling.
func ResolveRuleAndScalingDrift(ctx context.Context, s *step.Step) error {
	heeding := s.WatchesDrift
	s.WatchesDrift = false // drift is not handled inside its own handling
	defer func() { s.WatchesDrift, s.ComparedAt = heeding, s.Clock.Now() }()
	if err := scaling.ResolveDrift(ctx, s); err != nil || !heeding {
		return err
	}
	if err := s.Access.ResolveRouteDrift(ctx); err != nil || !s.CanaryRetires {
		return err
	}
	return capacity.RemoveCanaryTraffic(ctx, s) // an adopted rule may send requests to a canary that is being removed
}

// Watch is the [outsideWatch] of stages.
type Watch struct{}
