package verdict_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	. "github.com/sluice-ecs/sluice/internal/verdict"
)

func TestStagesThatARecordHasReached(t *testing.T) {
	for name, c := range map[string]struct {
		status, stage, asked string
		want                 bool
	}{
		"in it":             {"IN_PROGRESS", "BAKE_TIME", "BAKE_TIME", true},
		"past it":           {"IN_PROGRESS", "CLEAN_UP", "BAKE_TIME", true},
		"before it":         {"IN_PROGRESS", "PRODUCTION_TRAFFIC_SHIFT", "BAKE_TIME", false},
		"no stage yet":      {"PENDING", "", "RECONCILE_SERVICE", false},
		"rolling back":      {"ROLLBACK_IN_PROGRESS", "CLEAN_UP", "BAKE_TIME", false},
		"rolled back":       {"ROLLBACK_SUCCESSFUL", "CLEAN_UP", "CLEAN_UP", false},
		"rollback failed":   {"ROLLBACK_FAILED", "CLEAN_UP", "PRE_SCALE_UP", false},
		"a stage of future": {"IN_PROGRESS", "NEW_STAGE", "RECONCILE_SERVICE", false},
	} {
		r := &Record{Status: c.status, Stage: c.stage}
		if got := r.HasReached(c.asked); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (*Record)(nil).HasReached("CLEAN_UP") {
		t.Error("a record that was not read has reached a stage")
	}
}

// ECS lets time pass in some stages. In the others, a deployment without progress is stalled.
func TestDeadlineInStagesOfECS(t *testing.T) {
	s := service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 2), dep(2, "ACTIVE", "COMPLETED", 2))
	s.Strategy = "BLUE_GREEN"
	for stage, outcome := range map[string]sluice.Outcome{"BAKE_TIME": "", "PRODUCTION_TRAFFIC_SHIFT": "",
		"RECONCILE_SERVICE": sluice.Stalled, "SCALE_UP": sluice.Stalled, "CLEAN_UP": sluice.Stalled} {
		r := record(arn3, "IN_PROGRESS", 3, 2)
		r.Stage = stage
		v := watchIt(t, Wanted{Deployment: arn3, Deadline: time.Minute}, at{0, s, []Record{r}, nil, nil},
			at{600, s, []Record{r}, nil, nil})
		if v.Outcome != outcome {
			t.Errorf("%s: %q, %s", stage, v.Outcome, v.Detail)
		}
	}
}

// A record in which the answered hook still waits is older than the answer.
func TestAnsweredHookDoesNotWait(t *testing.T) {
	r := record(arn3, "IN_PROGRESS", 3, 2)
	r.Stage, r.Hooks = "POST_SCALE_UP", []Hook{{ID: "ecs-pause-1", Status: "AWAITING_ACTION"}}
	s := service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 2), dep(2, "ACTIVE", "COMPLETED", 2))
	s.Strategy = "BLUE_GREEN"
	for answered, waiting := range map[string]int{"": 1, "ecs-pause-0": 1, "ecs-pause-1": 0} {
		f := FollowService(ours, Wanted{Deployment: arn3, AnsweredHook: answered})
		f, _ = f.See(Observation{At: ours, Service: s, Records: []Record{r}})
		if n := len(f.Record().AwaitedHooks()); n != waiting {
			t.Errorf("after the answer to %q, %d hooks wait", answered, n)
		}
	}
}
