package show

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
)

// A log says at most once a minute, and less often later, that a stage still runs, and with which tasks.
func TestALogShowsThatASilentStageRuns(t *testing.T) {
	var out strings.Builder
	v := newLiveLines(&lineRenderer{w: &out})
	show := func(at time.Duration, ev sluice.Event) {
		e := sluice.Seal("slc-1", "", ev)
		e.At = start.Add(at)
		v.ShowEvent(e)
	}
	wait := func(d time.Duration) (lines string) {
		out.Reset()
		since := v.changed
		for at := time.Second; at <= d; at += time.Second {
			v.showSilence(since.Add(at))
		}
		return out.String()
	}
	show(0, sluice.DeploymentStarted{})
	if got := wait(10 * time.Minute); got != "" {
		t.Errorf("before the first stage the log has %q, want nothing", got)
	}
	show(0, sluice.StageStarted{Index: 4, Name: "ECS_PRIMARY_ROLLOUT"})
	show(10*time.Second, sluice.CapacityChanged{Variant: sluice.Primary, Revision: "web:2", TaskSet: "ecs-svc/2", Desired: 4,
		Running: 1, Pending: 3})
	show(20*time.Second, sluice.Wrote{}) // a write is no state that lasts
	want := ""
	for _, l := range []string{"01:20   no change for 1m0s", "03:20   no change for 3m0s", "07:20   no change for 7m0s",
		"12:20   no change for 12m0s"} {
		want += l + ": primary web:2: 1 of 4 running, 3 pending, 0 healthy\n"
	}
	if got := wait(16 * time.Minute); got != want {
		t.Errorf("a silent stage:\n%swant\n%s", got, want)
	}
	show(17*time.Minute, sluice.StageEnded{Index: 4, Status: "done"})
	if got := wait(10 * time.Minute); got != "" {
		t.Errorf("after the stage the log has %q, want nothing", got)
	}
	v.Close()
}
