package engine_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A deployment that is left gives scaling back: nobody may come for days. Gone on
// with, it suspends again.
func TestScalingIsGivenBackWhenADeploymentIsLeft(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.Scalable(2, 8, stagetest.PartlySuspended)
		was := b.ScalableTargets()
		id := b.Start(b.Files("sim/web:v2", suspendsScaling+heldAfterStage(2)))
		ctx, cancel := context.WithCancelCause(context.Background())
		b.Clock.Go(func() {
			must(b, b.Clock.Sleep(context.Background(), 30*time.Second))
			cancel(fmt.Errorf("interrupt"))
		})
		if end := got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.State != journal.Paused {
			b.Fatalf("%s", end.State)
		}
		b.ExpectScalingAsBefore(was)
		if end := got(b.Engine.Run(context.Background(), id,
			engine.Options{NoWait: true}))(b); end.State != journal.Waiting {
			b.Fatalf("%s\n%s", end.State, b.EventLog())
		}
		b.ExpectScalingAsBefore(was)
		must(b, b.Engine.SendCommand(context.Background(), id, journal.Abort, 0, "ann"))
		if end := got(b.Engine.Run(context.Background(), id, engine.Options{}))(b); end.Outcome != sluice.Stopped {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		b.ExpectScalingAsBefore(was)
	})
}

// While it waits for people, a deployment that was left and is gone on with holds
// scaling again.
func TestAWaitThatIsGoneOnWithSuspendsAgain(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{})
		was := b.ScalableTargets()
		id := b.Start(b.Files("sim/web:v2", suspendsScaling+heldAfterStage(2)))
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		b.ExpectScalingAsBefore(was)
		b.Clock.Go(func() {
			must(b, b.Clock.Sleep(ctx, time.Minute))
			if s := b.Suspension(); s != sluice.AllSuspended {
				b.Errorf("while it waits: suspended %s", s)
			}
			must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		})
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.ExpectScalingAsBefore(was)
	})
}

// What cannot be given back keeps the deployment from ending: a resume tries again.
func TestADeploymentDoesNotEndWithScalingSuspended(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{})
		was := b.ScalableTargets()
		id := b.Start(b.Files("sim/web:v2", suspendsScaling+canaryPipeline))
		b.Engine.OnEvent = func(e sluice.Envelope) {
			b.Events = append(b.Events, e)
			if ev, ok := e.Open().(sluice.StageEnded); ok && ev.Index == 5 {
				must(b, b.Sim.Inject("throttle application-autoscaling:RegisterScalableTarget"))
			}
		}
		end, err := b.Engine.Run(ctx, id, engine.Options{})
		if err == nil || end.State != journal.Paused {
			b.Fatalf("%s %v\n%s", end.State, err, b.EventLog())
		}
		b.Sim.ClearFaults()
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
		b.ExpectScalingAsBefore(was)
	})
}
