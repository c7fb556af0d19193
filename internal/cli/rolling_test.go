package cli

import (
	"bytes"
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
		b := newProgressBoard(rollingPlan(strategy))
		for _, e := range []sluice.Event{
			sluice.StageStarted{Index: 0, Name: appfile.StageSync, Attempt: 1},
			sluice.CapacityChanged{Variant: sluice.Primary, Revision: "web:2", Desired: 4, Running: 1, Pending: 3},
			sluice.FailureSeen{Variant: sluice.Primary, Cause: "exit code 1", Count: 2, Task: "0a"},
			sluice.Waiting{For: "ECS", Detail: "rolling back to web:1"},
		} {
			sealed := sluice.Seal("slc-1", "1 ECS_SYNC", e)
			sealed.At = start
			b.applyEvent(sealed)
		}
		got := strings.Join(b.renderLines(start.Add(5*time.Second), 120, 24, paint{}), "\n")
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

func TestStatusOfAStrategyOfECSShowsItsHook(t *testing.T) {
	tr := &serviceReport{Cluster: "prod", Service: "web", Region: "us-east-1", Status: "ACTIVE", Controller: "ECS",
		Desired: 4, Running: 8,
		ServiceDeployment: &currentReport{ARN: "arn:aws:ecs:us-east-1:123456789012:service-deployment/prod/web/x1",
			Status: "IN_PROGRESS", Revision: "web:2",
			Stage: "PRE_PRODUCTION_TRAFFIC_SHIFT", Weight: 10, Hook: "ecs-pause-1", Expires: start}}
	var out bytes.Buffer
	if err := (serviceView{}).writeService(&out, tr); err != nil {
		t.Fatal(err)
	}
	want := "service deployment x1: IN_PROGRESS, deploys web:2, PRE_PRODUCTION_TRAFFIC_SHIFT with 10% of the " +
		"traffic, waiting: hook ecs-pause-1 waits for a response until " + formatTime(start) + "\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
	if !tr.isDeploying() {
		t.Error("a deployment that waits for its hook is not followed")
	}
}
