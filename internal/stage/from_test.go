package stage_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A person rolls back after each stage of the pipeline: what served before
// serves again, and nothing is left.
func TestRollbackFromEachStage(t *testing.T) {
	for n := 1; n <= 6; n++ {
		t.Run(fmt.Sprintf("after stage %d", n), func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				id := rollBackAfter(b, n)
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
				b.ExpectNoneLost()
			})
		})
	}
}

// rollBackAfter runs the pipeline to its n-th stage and asks for a rollback.
func rollBackAfter(b *stagetest.Bench, n int) string {
	b.Helper()
	ctx := context.Background()
	id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(n)))
	if end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b); end.State != journal.Waiting {
		b.Fatalf("%s: %s %s\n%s", end.State, end.Outcome, end.Cause, b.EventLog())
	}
	stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
	return id
}

// The rollback itself is killed at each of its writes.
func TestRollbackKilledAtEveryWriteAndResumed(t *testing.T) {
	for _, n := range []int{3, 4, 6} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("after stage %d/after=%v", n, after), func(t *testing.T) {
				t.Parallel()
				for k, more := 1, true; more; k++ {
					stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
						more = b.KillAndResumeRun(rollBackAfter(b, n), k, after,
							"rolled back: "+stagetest.ServesV1)
					})
				}
			})
		}
	}
}

func TestFirstDeploymentIsAQuickSyncThatCreatesTheService(t *testing.T) {
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v1", stagetest.CanaryPipeline))
		b.ExpectEnd(end, sluice.Succeeded, "", "PRIMARY sim/web:v1 100% 1 running; primary 100 canary 0")
	})
}

func TestFirstDeploymentThatFailsLeavesNoTaskSet(t *testing.T) {
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v1?crash-after=1s", ""))
		b.ExpectEnd(end, sluice.Failed, "exit code 1", "primary 100 canary 0")
	})
}

func TestRuleWithThePrimaryAloneIsExtendedAndGivenBack(t *testing.T) {
	stagetest.Run(t, stagetest.Options{PrimaryOnly: true}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		b.ExpectEnd(end, sluice.Succeeded, "", "PRIMARY sim/web:v2 100% 4 running; primary 1")
	})
	stagetest.Run(t, stagetest.Options{PrimaryOnly: true}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v2?crash-after=1s", stagetest.CanaryPipeline))
		b.ExpectEnd(end, sluice.RolledBack, "exit code 1", "PRIMARY sim/web:v1 100% 4 running; primary 1")
	})
}

// A pipeline that removes its canary before the primary gets all requests leaves the rule as it was.
func TestRuleWithThePrimaryAloneStaysAfterTheCanaryIsRemoved(t *testing.T) {
	stagetest.Run(t, stagetest.Options{PrimaryOnly: true}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
			stagetest.ShiftBack, stagetest.CleanCanary, stagetest.PrimaryRollout, stagetest.ShiftBack)))
		b.ExpectEnd(end, sluice.Succeeded, "", "PRIMARY sim/web:v2 100% 4 running; primary 1")
		b.ExpectNoneLost()
	})
}

func TestTwoCanaryRolloutsGrowTheOneCanary(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		id := b.Start(b.Files("sim/web:v2", `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 25}}
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 75}}
    - {name: WAIT_APPROVAL}
`))
		stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
		if want := "ACTIVE sim/web:v2 75% 3 running; PRIMARY sim/web:v1 100% 4 running; tag sluice:deployment; " +
			"primary 100 canary 0"; b.State() != want {
			b.Errorf("%s, want %s\n%s", b.State(), want, b.EventLog())
		}
	})
}
