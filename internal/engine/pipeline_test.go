package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func TestCanaryGoesFromV1ToV2WithoutLosingARequest(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.Deploy(b.Files("sim/web:v2", canaryPipeline))
		if end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		if want := "PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"; b.State() != want {
			b.Errorf("%s, want %s\n%s", b.State(), want, b.EventLog())
		}
		b.ExpectNoneLost()
	})
}

// The proof can fail: requests are lost if a wait for health ends before the tasks can answer.
// The same version loses none if AWS reports health correctly.
func TestWithoutTheHealthWaitRequestsAreLost(t *testing.T) {
	for _, early := range []bool{false, true} {
		t.Run(fmt.Sprintf("health is reported too early: %v", early), func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				if early {
					b.Engine.Account = b.OpenAccount(stagetest.TargetsSeemHealthy)
				}
				b.Deploy(b.Files("sim/web:v2?healthy-after=30s", canaryPipeline))
				if r := b.Tally.Report(); (r.Failed > 0) != early {
					b.Errorf("%.1f of %.0f requests failed", r.Failed, r.Requests)
				}
			})
		})
	}
}

// An approval that is in the journal before its stage waits counts, as earlier versions of sluice accepted it: the
// deployment goes on to its end, also in another process.
func TestApprovalBeforeItsStage(t *testing.T) {
	pipeline := strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT",
		"    - {name: WAIT_APPROVAL}\n    - {name: ECS_PRIMARY_ROLLOUT", 1)
	before, _, _ := strings.Cut(pipeline, "- {name: WAIT_APPROVAL")
	approval := strings.Count(before, "- {name: ")
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", pipeline))
		must(b, b.Engine.SendCommand(ctx, id, journal.Approve, approval, "ann"))
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
		stages := got(b.Journal.Stages(ctx, id))(b)
		if s := stages[approval]; s.Status != journal.StageDone || s.Name != "WAIT_APPROVAL" || s.Attempts != 1 {
			b.Errorf("the stage of the approval is %+v", s)
		}
		b.ExpectNoneLost()
	})
}

// An approval that is not given within the stage's timeout fails the stage, and the deployment is
// rolled back: also if no process ran it when the timeout passed, and a person approved it after that.
func TestApprovalHasATimeout(t *testing.T) {
	pipeline := strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT",
		"    - {name: WAIT_APPROVAL, timeout: 30m}\n    - {name: ECS_PRIMARY_ROLLOUT", 1)
	before, _, _ := strings.Cut(pipeline, "- {name: WAIT_APPROVAL")
	approval := strings.Count(before, "- {name: ")
	for name, c := range map[string]struct{ runs, approvedLate bool }{
		"a process runs it": {runs: true}, "no process runs it": {}, "approved too late": {approvedLate: true},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				ctx := context.Background()
				id := b.Start(b.Files("sim/web:v2", pipeline))
				if !c.runs {
					got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
					must(b, b.Clock.Sleep(ctx, 31*time.Minute))
				}
				if c.approvedLate {
					must(b, b.Engine.SendCommand(ctx, id, journal.Approve, approval, "ann"))
				}
				b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack,
					"1 approval missing after the stage's timeout of 30m0s", servesV1)
				b.ExpectNoneLost()
			})
		})
	}
}

// Without a timeout of its own, an approval ends with the deployment's, and says what was missing.
func TestApprovalEndsWithTheDeploymentsTimeout(t *testing.T) {
	pipeline := strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT",
		"    - {name: WAIT_APPROVAL, timeout: 9h}\n    - {name: ECS_PRIMARY_ROLLOUT", 1)
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", "timeout: 2h\n"+pipeline))
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		end := got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "1 approval missing after the deployment's timeout of 2h0m0s", servesV1)
		if want := "approve in time, or raise the timeout of the deployment"; !strings.Contains(end.Next, want) {
			b.Errorf("next: %s, want %s", end.Next, want)
		}
	})
}
