package show

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// The last line names the service once, and has one cause. What else the cause says has lines of its own.
func TestSummaryHasOneCauseInALine(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for cause, want := range map[string]string{
		"": "failed: prod/web (slc-1, 51s)",
		"run step smoke (prod/web): task 1: container smoke exited with 4": "failed: prod/web (slc-1, 51s): run step smoke: " +
			"task 1: container smoke exited with 4",
		"wait for the canary (ecs-svc/1): 3 of 3 tasks stopped": "failed: prod/web (slc-1, 51s): wait for the canary " +
			"(ecs-svc/1): 3 of 3 tasks stopped",
		"web:3 is stalled: no container instance has room; no progress for 10m0s; last seen: web:3: 2 of 3 running": "failed: " +
			"prod/web (slc-1, 51s): web:3 is stalled: no container instance has room\n  no progress for 10m0s\n" +
			"  last seen: web:3: 2 of 3 running",
		"requested; web:1 serves": "failed: prod/web (slc-1, 51s): requested; web:1 serves", // it is short
	} {
		d := journal.Deployment{ID: "slc-1", Cluster: "prod", Service: "web", Outcome: sluice.Failed, Cause: cause,
			Began: began, Ended: began.Add(51 * time.Second)}
		if got := DeploymentSummary(d, "web:3"); got != want {
			t.Errorf("the summary is\n%s\nwant\n%s", got, want)
		}
	}
}
