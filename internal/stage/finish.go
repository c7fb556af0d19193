package stage

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// Ending is how a deployment ended.
type Ending struct {
	Outcome  sluice.Outcome
	Cause    string // why Outcome is not the outcome of the stages; empty if it is
	ClaimErr error  // why the claim on the service was not released; nil if it was, or if there is none
}

// Finish ends a deployment after its last stage, with the outcome of the stages:
//   - after a success, it deregisters old task definitions;
//   - it restores auto scaling;
//   - it reads the service a last time and replaces the outcome if another revision serves;
//   - it releases the claim.
//
// An error means that the deployment has not ended: a value could not be saved, or AWS did not
// answer. Finish can then run again. If the host cannot do that, only auto scaling that is not
// restored is an error: the claim then stays, and the next deployment finds both.
func (r *Run) Finish(ctx context.Context, o sluice.Outcome) (Ending, error) {
	end := Ending{Outcome: o}
	if o == sluice.Succeeded {
		if err := r.tryDeregisterOld(ctx); err != nil {
			return end, err
		}
	}
	if err := r.ReturnScaling(ctx); err != nil {
		return end, err
	}
	end, err := r.confirmOutcome(ctx, o)
	if err != nil {
		return end, err
	}
	end.ClaimErr = r.Release(ctx, end.Outcome == sluice.Superseded)
	if !r.CannotResume && (errors.Is(end.ClaimErr, memory.ErrNotSaved) || hasNoAnswer(end.ClaimErr)) {
		return end, end.ClaimErr
	}
	return end, nil
}

// tryDeregisterOld calls DeregisterOld. A failure is reported as a warning and does not change the
// outcome, unless AWS did not answer.
func (r *Run) tryDeregisterOld(ctx context.Context) error {
	err := r.DeregisterOld(ctx)
	switch kind := sluice.KindOf(err); {
	case err == nil:
		return nil
	case !r.CannotResume && (kind == sluice.Unreachable || kind == sluice.Throttled):
		return err
	}
	r.emitWarning("old task definitions are not deregistered: %v", err)
	return nil
}

// confirmOutcome replaces the outcome if the revision that it names does not serve. An error means
// that the outcome is unknown; a host that cannot resume the deployment gets a warning instead.
func (r *Run) confirmOutcome(ctx context.Context, o sluice.Outcome) (Ending, error) {
	err := r.Confirm(ctx, o)
	switch sluice.KindOf(err) {
	case sluice.Overtaken:
		return Ending{Outcome: sluice.Superseded, Cause: err.Error()}, nil
	case sluice.NotFound:
		return Ending{Outcome: sluice.Gone, Cause: err.Error()}, nil
	}
	if err != nil && r.CannotResume {
		r.emitWarning("the outcome was not confirmed: %v", err)
		return Ending{Outcome: o}, nil
	}
	return Ending{Outcome: o}, err
}

// hasNoAnswer reports whether a call was given up because AWS did not answer.
func hasNoAnswer(err error) bool {
	kind := sluice.KindOf(err)
	return kind == sluice.Unreachable || kind == sluice.Throttled || kind == sluice.Halted
}
