package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func TestRollbackAfterSuccessStartsTheOldRevisionAgain(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.Deploy(b.Files("sim/web:v2", canaryPipeline))
		ctx := context.Background()
		must(b, b.Engine.Reopen(ctx, end.ID))
		must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		end = got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "", servesV1)
	})
}

func TestAbortLeavesItAsItStands(t *testing.T) {
	on(t, options{}, func(b *bench) {
		pipeline := strings.Replace(canaryPipeline, "- {name: ECS_PRIMARY_ROLLOUT}", "- {name: WAIT_APPROVAL}", 1)
		id := b.Start(b.Files("sim/web:v2", pipeline))
		ctx := context.Background()
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.Engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		end := got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.Stopped, "aborted",
			"ACTIVE sim/web:v2 50% 2 running; PRIMARY sim/web:v1 100% 4 running; primary 50 canary 50")
	})
}

// What an abort left can still be put back.
func TestRollbackAfterAbort(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", heldAfterStage(2)))
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.Engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		if end := got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Stopped {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		must(b, b.Engine.Reopen(ctx, id))
		must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.ExpectNoneLost()
	})
}
