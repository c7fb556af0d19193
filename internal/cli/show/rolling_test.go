package show

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

func rollingPlan(strategy string) *plan.Plan {
	return &plan.Plan{Cluster: "prod", Service: "web", Region: "us-east-1", Controller: "ECS", Strategy: strategy,
		From: "web:1", To: "web:2", AutoRollback: true,
		Stages: []plan.Stage{{Name: appfile.StageSync}}, Rollback: plan.Stage{Index: 1, Name: appfile.StageRollback}}
}

// The live view of a service that ECS rolls has one line of tasks, no weights,
// and what ECS is about.
func TestBoardOfARollingService(t *testing.T) {
	for strategy, what := range map[string]string{"": "roll to the new revision",
		"CANARY": "ECS deploys the new revision with strategy CANARY"} {
		b := NewBoard(rollingPlan(strategy))
		for _, e := range []sluice.Event{
			sluice.StageStarted{Index: 0, Name: appfile.StageSync, Attempt: 1},
			sluice.CapacityChanged{Variant: sluice.Primary, Revision: "web:2", Desired: 4, Running: 1, Pending: 3},
			sluice.FailureSeen{Variant: sluice.Primary, Cause: "exit code 1", Count: 2, Task: "0a"},
			sluice.Waiting{For: "ECS", Detail: "rolling back to web:1"},
		} {
			sealed := sluice.Seal("slc-1", "1 ECS_SYNC", e)
			sealed.At = start
			b.ApplyEvent(sealed)
		}
		got := strings.Join(b.renderLines(start.Add(5*time.Second), 120, 24, Paint{}), "\n")
		want := `prod/web  web:1 -> web:2  00:05
  running 00:05   1 ECS_SYNC             ` + what + `
  primary web:2  1 of 4 running, 3 pending
  waiting for ECS: rolling back to web:1
  2 failures of primary: exit code 1 (task 0a)`
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
