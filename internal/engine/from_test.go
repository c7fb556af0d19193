package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// held is the canary pipeline with an approval after its n-th stage.
func held(n int) string {
	lines := strings.Split(strings.TrimSpace(canaryPipeline), "\n")
	lines = append(lines[:2+n:2+n], append([]string{"    - {name: WAIT_APPROVAL}"}, lines[2+n:]...)...)
	return "\n" + strings.Join(lines, "\n") + "\n"
}

// A person rolls back after each stage of the pipeline: what served before
// serves again, and nothing is left.
func TestRollbackFromEachStage(t *testing.T) {
	for n := 1; n <= 6; n++ {
		t.Run(fmt.Sprintf("after stage %d", n), func(t *testing.T) {
			t.Parallel()
			on(t, options{}, func(b *bench) {
				id := b.upTo(n)
				end := got(b.engine.Run(context.Background(), id, engine.Options{}))(b)
				b.expect(end, sluice.RolledBack, "", servesV1)
				b.noneLost()
			})
		})
	}
}

// upTo runs the pipeline to its n-th stage and asks for a rollback.
func (b *bench) upTo(n int) string {
	b.Helper()
	ctx := context.Background()
	id := b.start(b.files("sim/web:v2", held(n)))
	if end := got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b); end.State != journal.Waiting {
		b.Fatalf("%s: %s %s\n%s", end.State, end.Outcome, end.Cause, b.log())
	}
	must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
	return id
}

// The rollback itself is killed at each of its writes.
func TestRollbackKilledAtEveryWriteAndResumed(t *testing.T) {
	for _, n := range []int{3, 4, 6} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("after stage %d/after=%v", n, after), func(t *testing.T) {
				t.Parallel()
				for k, more := 1, true; more; k++ {
					on(t, options{}, func(b *bench) {
						more = b.killResume(b.upTo(n), k, after,
							"rolled back: "+servesV1)
					})
				}
			})
		}
	}
}

func TestFirstDeploymentIsAQuickSyncThatCreatesTheService(t *testing.T) {
	on(t, options{noService: true}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v1", canaryPipeline))
		b.expect(end, sluice.Succeeded, "", "PRIMARY sim/web:v1 100% 1 running; primary 100 canary 0")
	})
}

func TestFirstDeploymentThatFailsLeavesNoTaskSet(t *testing.T) {
	on(t, options{noService: true}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v1?crash-after=1s", ""))
		b.expect(end, sluice.RolledBack, "exit code 1", "primary 100 canary 0")
	})
}

func TestRuleWithThePrimaryAloneIsExtendedAndGivenBack(t *testing.T) {
	on(t, options{alone: true}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v2", canaryPipeline))
		b.expect(end, sluice.Succeeded, "", "PRIMARY sim/web:v2 100% 4 running; primary 1")
	})
	on(t, options{alone: true}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v2?crash-after=1s", canaryPipeline))
		b.expect(end, sluice.RolledBack, "exit code 1", "PRIMARY sim/web:v1 100% 4 running; primary 1")
	})
}

func TestTwoCanaryRolloutsGrowTheOneCanary(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.start(b.files("sim/web:v2", `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 25}}
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 75}}
    - {name: WAIT_APPROVAL}
`))
		got(b.engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
		if want := "ACTIVE sim/web:v2 75% 3 running; PRIMARY sim/web:v1 100% 4 running; tag sluice:deployment; " +
			"primary 100 canary 0"; b.state() != want {
			b.Errorf("%s, want %s\n%s", b.state(), want, b.log())
		}
	})
}

func TestSecondDeploymentOfAServiceIsRefused(t *testing.T) {
	on(t, options{}, func(b *bench) {
		files := b.files("sim/web:v2", held(1))
		id := b.start(files)
		got(b.engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
		p := got(b.plan(files, mode.Options{}))(b)
		if _, err := b.engine.Start(context.Background(), p,
			engine.TriggerManual); sluice.KindOf(err) != sluice.Overtaken || !strings.Contains(err.Error(), id) {
			b.Errorf("the second one: %v", err)
		}
	})
}
