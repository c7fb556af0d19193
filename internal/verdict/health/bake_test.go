package health

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// sight is what a look at two tasks shows: how many are healthy, and what stopped.
func sight(at time.Duration, healthy int, stopped ...string) verdict.Observation {
	t0 := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	o := verdict.Observation{At: t0.Add(at), Set: &sluice.TaskSet{Desired: 2, Running: healthy},
		Targets: []sluice.Target{}}
	for i := range 2 {
		state := "healthy"
		if i >= healthy {
			state = "unhealthy"
		}
		o.Targets = append(o.Targets, sluice.Target{ID: string(rune('a' + i)), State: state})
	}
	for _, s := range stopped {
		o.NewlyStopped = append(o.NewlyStopped, diagnosis.Stopped{StoppedTask: sluice.StoppedTask{ID: s,
			StopCode: "TaskFailedToStart", StoppedReason: "no secret"}})
	}
	return o
}

func TestBake(t *testing.T) {
	const deadline = 10 * time.Minute
	for name, c := range map[string]struct {
		idle  bool // no requests go to it
		looks []verdict.Observation
		want  verdict.State
		next  time.Duration
	}{
		"well at first": {looks: []verdict.Observation{sight(0, 2)}, want: verdict.Healthy, next: 5 * time.Second},
		"well for a while": {looks: []verdict.Observation{sight(0, 2), sight(2*time.Minute, 2)}, want: verdict.Healthy,
			next: 10 * time.Second},
		"well for long": {looks: []verdict.Observation{sight(0, 2), sight(6*time.Minute, 2)}, want: verdict.Healthy,
			next: 20 * time.Second},
		"one unhealthy is looked at": {looks: []verdict.Observation{sight(0, 2), sight(time.Minute, 1)},
			want: verdict.Progressing,
			next: 3 * time.Second},
		"and well again": {looks: []verdict.Observation{sight(0, 2), sight(time.Minute, 1),
			sight(2*time.Minute, 2)}, want: verdict.Healthy, next: 10 * time.Second},
		"one unhealthy for too long": {looks: []verdict.Observation{sight(0, 2), sight(time.Minute, 1),
			sight(11*time.Minute, 1)}, want: verdict.Stalling, next: 3 * time.Second},
		"none healthy once": {looks: []verdict.Observation{sight(0, 2), sight(time.Minute, 0)},
			want: verdict.Progressing,
			next: 3 * time.Second},
		"none healthy": {looks: []verdict.Observation{sight(0, 2), sight(time.Minute, 0),
			sight(63*time.Second, 0)}, want: verdict.Failing, next: 3 * time.Second},
		"none healthy without traffic": {idle: true, looks: []verdict.Observation{sight(0, 2), sight(time.Minute, 0),
			sight(63*time.Second, 0)}, want: verdict.Progressing, next: 3 * time.Second},
		"a crash loop": {looks: []verdict.Observation{sight(0, 2), sight(time.Minute, 1, "x"),
			sight(2*time.Minute, 2), sight(3*time.Minute, 1, "y", "z")}, want: verdict.Failing, next: 3 * time.Second},
		"crashes of long ago": {looks: []verdict.Observation{sight(0, 2), sight(time.Minute, 1, "x", "y"),
			sight(2*time.Minute, 2), sight(13*time.Minute, 2), sight(14*time.Minute, 1, "z")},
			want: verdict.Progressing,
			next: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := StartBake(c.looks[0].At, deadline, !c.idle)
			var v verdict.Verdict
			for _, o := range c.looks {
				b, v = b.See(o)
			}
			if v.State != c.want || v.NextPoll != c.next {
				t.Errorf("%s, look again in %s (%s); want %s, %s", v.State, v.NextPoll, v.Detail, c.want, c.next)
			}
		})
	}
}
