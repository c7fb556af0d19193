package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// What goes drains at the same time: a rollback of canary and new primary takes little
// longer than one of the canary alone. It is measured in AWS's time.
func TestRollbackOfTwoTakesLittleLongerThanOfOne(t *testing.T) {
	took := func(stages ...string) (d time.Duration) {
		on(t, options{}, func(b *bench) {
			ctx := context.Background()
			id := b.start(b.files("sim/web:v2", pipelined(stages...)))
			got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
			must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
			from := b.clock.Now()
			end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
			d = b.clock.Now().Sub(from)
			if end.Outcome != sluice.RolledBack || strings.Contains(b.state(), "v2") {
				b.Fatalf("%s %s: %s\n%s", end.Outcome, end.Cause, b.state(), b.log())
			}
			b.noneLost()
		})
		return d
	}
	one := took(half, fifth, approval, "{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: true}}", home, clean)
	two := took(half, fifth, "{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: true}}", approval, home, clean)
	if t.Logf("one: %s, two: %s", one, two); two > one*13/10 {
		t.Errorf("a rollback of two took %s, of one %s", two, one)
	}
}

// A clean and a sync drain at the same time what they remove.
func TestCleanAndSyncDrainTogether(t *testing.T) {
	took := func(keep bool, files func(*bench) fstest.MapFS) (d time.Duration) {
		on(t, options{}, func(b *bench) {
			if keep {
				b.aborts(b.files("sim/web:v2", pipelined(half, fifth, approval, clean)))
			}
			from := b.clock.Now()
			end := b.deploy(files(b))
			d = b.clock.Now().Sub(from)
			if end.Outcome != sluice.Succeeded {
				b.Fatalf("%s %s\n%s", end.Outcome, end.Cause, b.log())
			}
			b.noneLost()
		})
		return d
	}
	sync := func(b *bench) fstest.MapFS { return b.files("sim/web:v3", "") }
	if one, two := took(false, sync), took(true, sync); two > one*13/10 {
		t.Errorf("a sync that removes two took %s, one that removes one %s", two, one)
	}
	kept := func(keep string) func(*bench) fstest.MapFS {
		return func(b *bench) fstest.MapFS {
			return b.files("sim/web:v3", pipelined(half, "{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: "+keep+"}}",
				clean))
		}
	}
	if one, two := took(false, kept("false")), took(false, kept("true")); two > one {
		t.Errorf("a clean of canary and old primary took %s, a removal of each by itself %s", two, one)
	}
}
