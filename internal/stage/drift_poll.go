package stage

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// driftPollInterval is the time between two reads of rules and auto scaling in a stage. A read of
// the service does not show them: they take calls of their own.
const driftPollInterval = 10 * time.Second

// errDriftSeen ends a wait when a concurrent check sees drift. The drift is resolved before the
// wait continues.
var errDriftSeen = errors.New("an external change was detected")

// resolvePolledDrift resolves drift of rules and auto scaling. It is called at every poll of every
// wait of a stage.
func (r *Run) resolvePolledDrift(ctx context.Context) error {
	differs, err := r.hasDrift(ctx)
	if err != nil || !differs {
		return err
	}
	return r.resolveRuleAndScalingDrift(ctx)
}

// hasDrift reports whether rules or auto scaling differ from our last write. It reads only if
// driftPollInterval has passed, and changes nothing. In a rollback it is false: a rollback keeps
// what it finds.
func (r *Run) hasDrift(ctx context.Context) (bool, error) {
	now := r.Clock.Now()
	if !r.ownsClaim || r.isRollback() || now.Sub(r.comparedAt) < driftPollInterval {
		return false, nil
	}
	r.comparedAt = now
	if h, ok, err := r.activeHold(ctx); err != nil {
		return false, err
	} else if ok {
		live, err := r.scalingClient().Observe(ctx)
		if err != nil || hasOverrideDrift(h, live) {
			return err == nil, err
		}
	}
	if !r.watchesDrift {
		return false, nil
	}
	return r.traffic.hasRouteDrift(ctx)
}

// resolveRuleAndScalingDrift applies onOutsideChange to rules and auto scaling.
func (r *Run) resolveRuleAndScalingDrift(ctx context.Context) error {
	heeding := r.watchesDrift
	r.watchesDrift = false // drift is not handled inside its own handling
	defer func() { r.watchesDrift, r.comparedAt = heeding, r.Clock.Now() }()
	if err := r.resolveScalingDrift(ctx); err != nil || !heeding {
		return err
	}
	if err := r.traffic.resolveRouteDrift(ctx); err != nil || !r.canaryRetires {
		return err
	}
	return r.removeCanaryTraffic(ctx) // an adopted rule may send requests to a canary that is being removed
}

// activeHold returns our suspension of auto scaling; ok is false unless it is set.
func (r *Run) activeHold(ctx context.Context) (h memory.Override, ok bool, err error) {
	if r.Plan.Scaling == nil {
		return h, false, nil
	}
	h, _, err = r.savedOverride(ctx)
	return h, h.Phase == memory.OverrideSet, err
}

// resolveScalingDrift reads auto scaling while the deployment suspends it, and applies
// onOutsideChange to what another actor changed.
func (r *Run) resolveScalingDrift(ctx context.Context) error {
	h, ok, err := r.activeHold(ctx)
	if err != nil || !ok {
		return err
	}
	now, err := r.scalingClient().Observe(ctx)
	if err != nil {
		return err
	}
	return r.checkOverride(ctx, h, now)
}
