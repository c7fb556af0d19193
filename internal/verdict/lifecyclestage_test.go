package verdict_test

import (
	"strings"
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

// ECS may let time pass that no read shows: a bake time that it computes from alarms, and the shift back to a restored
// version. An hour is the limit of both, and the deadline counts from its end.
func TestHiddenTimeOfECSHasALimit(t *testing.T) {
	rolling := service("", dep(3, "PRIMARY", "IN_PROGRESS", 2))
	rolling.Alarms.Enabled = true
	back := dep(3, "PRIMARY", "IN_PROGRESS", 2)
	back.Reason = "ECS deployment circuit breaker: rolling back to deploymentId ecs-svc/2."
	restored := service("", back)
	restored.Strategy = "BLUE_GREEN"
	for name, s := range map[string]*Service{"bake time": rolling, "shift back": restored} {
		for last, outcome := range map[int]sluice.Outcome{3599: "", 3601: "", 3654: "", 3661: sluice.Stalled} {
			observations := []at{}
			for second := 0; second < last; second += 5 {
				observations = append(observations, at{second, s, nil, nil, blind})
			}
			v := watchIt(t, Wanted{Deployment: "ecs-svc/3", Deadline: time.Minute},
				append(observations, at{last, s, nil, nil, blind})...)
			if v.Outcome != outcome {
				t.Errorf("%s, after %d s: %q, not %q: %s", name, last, v.Outcome, outcome, v.Detail)
			}
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

// The text of a deployment that has not ended says how many tasks run.
func TestUnendedDeploymentSaysHowManyTasksRun(t *testing.T) {
	for running, text := range map[int]string{0: "0 of 2 tasks run: ECS is in the stage PRE_SCALE_UP",
		1: "1 of 2 tasks run: ECS", 2: "all 2 tasks run: ECS"} {
		s := service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", running), dep(2, "ACTIVE", "COMPLETED", 2))
		s.Strategy = "BLUE_GREEN"
		r := record(arn3, "IN_PROGRESS", 3, 2)
		r.Stage = "PRE_SCALE_UP"
		v := watchIt(t, Wanted{Deployment: arn3, Timeout: time.Nanosecond}, at{0, s, []Record{r}, nil, nil},
			at{1, s, []Record{r}, nil, nil})
		if len(v.Causes) != 1 || !strings.HasPrefix(v.Causes[0].Text, text) {
			t.Errorf("%d run: %+v", running, v.Causes)
		}
	}
}

// ECS may take our deployment back to the one that it replaced, as an alarm requests. A read that shows this looks like
// one from before the write: it counts when no read has shown anything else for a while. Reads that look so are no bake
// time either.
func TestDeploymentThatIsTakenBackToTheReplacedOne(t *testing.T) {
	ours := dep(3, "PRIMARY", "IN_PROGRESS", 2)
	bakes, back := service("", ours), service("", dep(2, "PRIMARY", "COMPLETED", 2))
	bakes.Alarms.Enabled = true
	written := Written{Deployment: ours.ID, Created: ours.CreatedAt, Replaced: "ecs-svc/2"}
	wanted := Wanted{Deployment: ours.ID, AfterWrite: written, Deadline: 10 * time.Minute}
	observations := []at{{0, bakes, nil, nil, blind}, {5, back, nil, nil, blind}, {10, bakes, nil, nil, blind}}
	if v := watchIt(t, wanted, observations...); v.State == Ended {
		t.Errorf("an older read ended the wait: %s", v.Detail)
	}
	for second := 15; second <= 50; second += 5 {
		observations = append(observations, at{second, back, nil, nil, blind})
	}
	if v := watchIt(t, wanted, observations...); v.Outcome != sluice.RolledBack || v.By != "web:2" {
		t.Errorf("%q by %q: %s", v.Outcome, v.By, v.Detail)
	}
	never := []at{}
	for second := 0; second <= 700; second += 5 {
		never = append(never, at{second, back, nil, nil, blind})
	}
	if v := watchIt(t, wanted, never...); v.Outcome != sluice.Stalled {
		t.Errorf("no read shows the write: %q: %s", v.Outcome, v.Detail)
	}
}

// Reads that are older than the write show no bake time: the deadline counts.
func TestBakeTimeThatNoReadShows(t *testing.T) {
	ours := dep(3, "PRIMARY", "IN_PROGRESS", 2)
	bakes, back := service("", ours), service("", dep(2, "PRIMARY", "COMPLETED", 2))
	bakes.Alarms.Enabled = true
	wanted := Wanted{Deployment: ours.ID, Deadline: 20 * time.Second,
		AfterWrite: Written{Deployment: ours.ID, Created: ours.CreatedAt, Replaced: "ecs-svc/2"}}
	if v := watchIt(t, wanted, at{0, bakes, nil, nil, blind}, at{10, back, nil, nil, blind}, at{25, back, nil, nil, blind}); v.Outcome != sluice.Stalled {
		t.Errorf("%q: %s", v.Outcome, v.Detail)
	}
}
