package stage

import (
	"context"
	"errors"
	"time"
)

// driftPollInterval is the time between two reads of rules and auto scaling in a stage. A read of
// the service does not show them: they take calls of their own.
const compareEvery = 10 * time.Second

// errDriftSeen ends a wait when a concurrent check sees drift. The drift is resolved before the
// wait continues.
var errDiffers = errors.New("somebody else changed something")

// resolvePolledDrift resolves drift of rules and auto scaling. It is called at every poll of every
// wait of a stage.
func (r *Run) compare(ctx context.Context) error {
	differs, err := r.differs(ctx)
	if err != nil || !differs {
		return err
	}
	return r.answerBeside(ctx)
}

// hasDrift reports whether rules or auto scaling differ from our last write. It reads only if
// driftPollInterval has passed, and changes nothing. In a rollback it is false: a rollback keeps
// what it finds.
func (r *Run) differs(ctx context.Context) (bool, error) {
	now := r.Clock.Now()
	if !r.holding || r.returns() || now.Sub(r.compared) < compareEvery {
		return false, nil
	}
	r.compared = now
	if h, ok, err := r.heldNow(ctx); err != nil {
		return false, err
	} else if ok {
		live, err := r.scaler().Observe(ctx)
		if err != nil || undone(h, live) {
			return err == nil, err
		}
	}
	if !r.heeding {
		return false, nil
	}
	return r.access.differs(ctx)
}

// resolveRuleAndScalingDrift applies onOutsideChange to rules and auto scaling.
func (r *Run) answerBeside(ctx context.Context) error {
	heeding := r.heeding
	r.heeding = false // drift is not handled inside its own handling
	defer func() { r.heeding, r.compared = heeding, r.Clock.Now() }()
	if err := r.heedScaling(ctx); err != nil || !heeding {
		return err
	}
	if err := r.access.heed(ctx); err != nil || !r.leaving {
		return err
	}
	return r.takeTraffic(ctx) // an adopted rule may send requests to a canary that is being removed
}

// activeHold returns our suspension of auto scaling; ok is false unless it is set.
func (r *Run) heldNow(ctx context.Context) (h scaling, ok bool, err error) {
	if r.Plan.Scaling == nil {
		return h, false, nil
	}
	h, ok, err = saved[scaling](ctx, r.Host, keyScaling)
	return h, ok && h.Phase == set, err
}

// resolveScalingDrift reads auto scaling while the deployment suspends it, and applies
// onOutsideChange to what another actor changed.
func (r *Run) heedScaling(ctx context.Context) error {
	h, ok, err := r.heldNow(ctx)
	if err != nil || !ok {
		return err
	}
	now, err := r.scaler().Observe(ctx)
	if err != nil {
		return err
	}
	return r.keepScaling(ctx, h, now)
}
