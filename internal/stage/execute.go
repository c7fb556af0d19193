package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/bluegreen"
	"github.com/sluice-ecs/sluice/internal/stage/claim"
	"github.com/sluice-ecs/sluice/internal/stage/gates"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/scaling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// What a caller of stages gives and gets; see package step.
type (
	Config = step.Config
	Host   = step.Host
	Facts  = step.Facts
	// OutsideAWS is what gates use besides AWS.
	OutsideAWS = step.OutsideAWS
)

// CheckGates refuses gates of an application that can never answer; see [gates.CheckFiles].
func CheckGates(ctx context.Context, app *appfile.Application, outside *OutsideAWS) error {
	return gates.CheckFiles(ctx, app, outside)
}

// RenewedClaimLeft is [step.RenewedClaimLeft].
const RenewedClaimLeft = step.RenewedClaimLeft

// ErrHandedOver is [rolling.ErrHandedOver].
var ErrHandedOver = rolling.ErrHandedOver

// Run is one stage that is executed. Its work is done by functions over a [step.Step].
type Run struct{ step *step.Step }

// Open creates the clients of a stage. It makes no call to AWS.
func Open(c step.Config) (*Run, error) {
	s, err := openStep(c)
	if err != nil {
		return nil, err
	}
	return &Run{step: s}, nil
}

// Execute runs the stage to its end. An error of [sluice.Kind] Halted means that the stage was
// interrupted and can be executed again. After any other error it can also be executed again, once
// the cause is known.
func (r *Run) Execute(ctx context.Context) error { return executeStage(ctx, r.step) }

// IsDone reports whether the stage has ended.
func (r *Run) IsDone(ctx context.Context) (bool, error) { return step.IsStageDone(ctx, r.step) }

// HasWritten reports whether the deployment may have written to AWS. It has not if its service existed and it never
// had the claim on it: each write needs the claim.
func (r *Run) HasWritten(ctx context.Context) (bool, error) { return hasWritten(ctx, r.step) }

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
	return finishDeployment(ctx, r.step, o)
}

// Release removes the claim tag after the last stage. released is false if the service is deleted or the claim is not
// ours. With contested, another deployment may have claimed the service. A stale read could then show our claim, and
// Release would delete the other one; so Release waits first.
func (r *Run) Release(ctx context.Context, contested bool) (released bool, err error) {
	return claim.Release(ctx, r.step, contested)
}

// ReturnScaling restores auto scaling: at the end of a deployment, before the claim is released,
// and whenever no process runs the deployment any more. It makes no call if there is nothing to
// restore. It may be called again.
func (r *Run) ReturnScaling(ctx context.Context) error { return scaling.Return(ctx, r.step) }

// SuspendAgain overrides auto scaling again that was restored when the process ended, for the
// stages that only wait. It makes no call if the override is in place.
func (r *Run) SuspendAgain(ctx context.Context) error { return begin.SuspendScalingAgain(ctx, r.step) }

// Continue continues a CodeDeploy deployment that waits for a person before traffic moves.
// continued is false if it does not wait, or if there is none.
func (r *Run) Continue(ctx context.Context) (continued bool, err error) {
	return bluegreen.Continue(ctx, r.step)
}

// Bake returns a monitor of the service. It calls no AWS API.
func (r *Run) Bake() *Bake { return openMonitor(r.step) }
