package verdict

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// A version does not work if its tasks fail again and again, and none of those that run has outlived them.
func TestSurvival(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	dead := func(n int, life time.Duration) (all []diagnosis.Stopped) {
		one := 1
		for i := range n {
			at := now.Add(-time.Duration(i) * time.Minute)
			all = append(all, diagnosis.Stopped{Revision: "web:1", StoppedTask: sluice.StoppedTask{ID: fmt.Sprint("t", i),
				StopCode: "EssentialContainerExited", StoppedReason: "Essential container in task exited", Container: "web",
				ExitCode: &one, StartedAt: at.Add(-life), StoppedAt: at}})
		}
		return all
	}
	for name, c := range map[string]struct {
		stopped []diagnosis.Stopped
		ages    []time.Duration
		works   bool
	}{
		"no task has failed":                            {nil, nil, true},
		"two failures are not enough":                   {dead(2, time.Second), nil, true},
		"three failures, and no task runs":              {dead(3, time.Second), nil, false},
		"three failures, and a task that just started":  {dead(3, time.Second), []time.Duration{59 * time.Second}, false},
		"a task runs for a minute":                      {dead(3, time.Second), []time.Duration{0, time.Minute}, true},
		"a task runs, not twice as long as those lived": {dead(5, 50*time.Second), []time.Duration{99 * time.Second}, false},
		"a task runs twice as long as those lived":      {dead(5, 50*time.Second), []time.Duration{100 * time.Second}, true},
		"tasks that ran for hours before they failed":   {dead(9, time.Hour), []time.Duration{time.Minute}, true},
	} {
		var started []time.Time
		for _, age := range c.ages {
			started = append(started, now.Add(-age))
		}
		if s := JudgeSurvival(now, c.stopped, nil, started); s.Works != c.works {
			t.Errorf("%s: works is %t", name, s.Works)
		}
	}
}

// Tasks have failed, and none has for 400 seconds. The version is stable again if its tasks outlived those that failed.
func TestSurvivalIsOver(t *testing.T) {
	now, one := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC), 1
	for life, want := range map[time.Duration]bool{100 * time.Second: true, 450 * time.Second: false, time.Hour: true} {
		var dead []diagnosis.Stopped
		for i := range 3 {
			at := now.Add(-400 * time.Second)
			dead = append(dead, diagnosis.Stopped{Revision: "web:1", StoppedTask: sluice.StoppedTask{ID: fmt.Sprint("t", i),
				StopCode: "EssentialContainerExited", StoppedReason: "Essential container in task exited", Container: "web",
				ExitCode: &one, StartedAt: at.Add(-life), StoppedAt: at}})
		}
		s := JudgeSurvival(now, dead, nil, []time.Time{now.Add(-370 * time.Second)})
		if s.IsOver(now, 0) != want || s.IsOver(now, 390*time.Second) && life == 100*time.Second {
			t.Errorf("%s: over is %t", life, !want)
		}
	}
}
