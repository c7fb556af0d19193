package verdict

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// While CodeDeploy keeps the original task set, only the service shows that an unhealthy task is replaced. The new one may
// start for minutes, and the unhealthy one stops only then: its end is read, and the success waits for stable tasks. A
// task that was never replaced withholds nothing.
func TestSlowReplacementWhileTheOriginalIsKept(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	is := func(running, pending int) *Service {
		return &Service{Status: "ACTIVE", Controller: "CODE_DEPLOY", TaskSets: []sluice.TaskSet{
			{ID: "ecs-svc/1", Status: "ACTIVE", Revision: "web:1", Steady: true, Desired: 2, Running: 2},
			{ID: "ecs-svc/2", Status: "PRIMARY", Revision: "web:2", ExternalID: "d-1", Desired: 2, Running: running,
				Pending: pending}}}
	}
	sick := []diagnosis.Stopped{{StoppedTask: sluice.StoppedTask{ID: "a", StopCode: "ServiceSchedulerInitiated",
		StoppedReason: "Task failed ELB health checks", StartedAt: began.Add(40 * time.Second),
		StoppedAt: began.Add(9 * time.Minute)}, Revision: "web:2", Deployment: "ecs-svc/2"}}
	starts := is(2, 1)
	starts.Events = []diagnosis.Event{{ID: "2", At: began.Add(2 * time.Minute), Message: "(service web) has started 1 tasks: (task c)."},
		{ID: "1", At: began.Add(time.Second), Message: "(service web) has started 2 tasks: (task a) (task b)."}}
	for _, c := range []struct {
		name      string
		during    *Service
		replaced  time.Duration // when the unhealthy task has stopped
		fallen    []diagnosis.Stopped
		succeeded time.Duration // when CodeDeploy says so
		least     time.Duration
	}{
		{"no task is replaced", is(2, 0), 2 * time.Minute, nil, 12 * time.Minute, 12 * time.Minute},
		{"an unhealthy task is replaced", is(2, 1), 9 * time.Minute, sick, 12 * time.Minute, 15 * time.Minute},
		{"it is replaced at the end", starts, 9*time.Minute + time.Second, sick, 9 * time.Minute, 14 * time.Minute},
	} {
		scenes := []scene{{t: lifecycle("Install", "InProgress")}, {at: 40 * time.Second, s: is(2, 0)},
			{at: 2 * time.Minute, s: c.during}, {at: c.succeeded, s: c.during}, {at: c.replaced, s: is(2, 0), fallen: c.fallen}}
		slices.SortFunc(scenes, func(a, b scene) int { return cmp.Compare(a.at, b.at) })
		for i := range scenes[1:] {
			s := &scenes[i+1]
			if s.t, s.d = lifecycle("end", ""), deployed("InProgress", "", ""); s.at >= c.succeeded {
				s.d = deployed("Succeeded", "", "")
			}
			if s.at >= c.replaced {
				s.s, s.fallen = is(2, 0), c.fallen
			}
		}
		v, after, _ := play(t, Wanted{Revision: "web:2", JustCreated: true}, scenes)
		if v.Outcome != sluice.Succeeded || after < c.least || after > c.least+time.Minute {
			t.Errorf("%s: %s after %s, want success between %s and a minute later", c.name, v.Outcome, after, c.least)
		}
	}
}
