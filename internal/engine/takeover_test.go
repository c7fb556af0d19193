package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// other is another process on the same journal.
func (b *bench) other(owner string) *engine.Engine {
	return &engine.Engine{Journal: b.Journal, Account: b.Account, Clock: b.Clock, Owner: owner,
		IsAlive: b.Engine.IsAlive, NewID: b.Engine.NewID, OnEvent: b.Engine.OnEvent}
}

// A running engine whose deployment another process takes over stops at its next
// look and leaves everything as it is; the other goes on to the same end.
func TestTakenOverByAnotherProcess(t *testing.T) {
	for name, at := range map[string]time.Duration{"in a stage": 30 * time.Second, "in a wait": 5 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				ctx := context.Background()
				id := b.Start(b.Files("sim/web:v2", strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}",
					"    - {name: WAIT, with: {duration: 20m}}\n    - {name: ECS_PRIMARY_ROLLOUT}", 1)))
				first := b.RunBeside(b.Engine, id)
				must(b, b.Clock.Sleep(ctx, at))
				second := b.other("test/2")
				from, err := second.TakeOver(ctx, id, "ann")
				if must(b, err); from != "test/1" || !first.Done {
					b.Fatalf("from %q, it stopped: %v", from, first.Done)
				}
				if !errors.Is(first.Err, engine.ErrTakenOver) || sluice.KindOf(first.Err) != sluice.LostClaim ||
					first.State == journal.Ended {
					b.Errorf("the first: %s %v", first.State, first.Err)
				}
				b.ExpectEnd(got(second.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
				b.ExpectNoneLost()
			})
		})
	}
}

// One that hangs is fenced out by its lease; once it wakes it writes nothing, not
// even to the deployment's rows.
func TestTakenOverFromAProcessThatHangs(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", heldAfterStage(3)))
		must(b, b.Sim.Inject("latency ecs:DescribeServices by=50s times=1"))
		first := b.RunBeside(b.Engine, id)
		must(b, b.Clock.Sleep(ctx, 5*time.Second))
		second := b.other("test/2")
		if from := got(second.TakeOver(ctx, id, "ann"))(b); from != "test/1" || first.Done {
			b.Fatalf("from %q, it stopped: %v", from, first.Done)
		}
		end := got(second.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if end.State != journal.Waiting || !errors.Is(first.Err, engine.ErrTakenOver) {
			b.Errorf("%s; the first: %v\n%s", end.State, first.Err, b.EventLog())
		}
	})
}
