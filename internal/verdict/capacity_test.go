package verdict

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
)

var t0 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

type look struct {
	after                     time.Duration
	desired, pending, running int
	healthy, unhealthy        int
	stopped                   []sluice.StoppedTask
}

func (l look) observation() Observation {
	o := Observation{At: t0.Add(l.after), Set: &sluice.TaskSet{ID: "ecs-svc/1", Desired: l.desired, Pending: l.pending,
		Running: l.running},
		Targets: []sluice.Target{}, Stopped: l.stopped}
	for i := range l.healthy {
		o.Targets = append(o.Targets, sluice.Target{ID: fmt.Sprint("h", i), State: "healthy"})
	}
	for i := range l.unhealthy {
		o.Targets = append(o.Targets, sluice.Target{ID: fmt.Sprint("u", i), State: "unhealthy",
			Description: "Request timed out"})
	}
	return o
}

func judge(deadline time.Duration, looks ...look) Verdict {
	c := AwaitCapacity(t0, deadline, 1)
	var v Verdict
	for _, l := range looks {
		c, v = c.See(l.observation())
	}
	return v
}

func crashed(id string) sluice.StoppedTask {
	one := 1
	return sluice.StoppedTask{ID: id, StopCode: "EssentialContainerExited",
		StoppedReason: "Essential container in task exited", Container: "web", ExitCode: &one}
}

func scaledIn(id string) sluice.StoppedTask {
	return sluice.StoppedTask{ID: id, StopCode: "ServiceSchedulerInitiated",
		StoppedReason: "Scaling activity initiated by (deployment ecs-svc/1)"}
}

func TestCapacity(t *testing.T) {
	s, m := time.Second, time.Minute
	for name, c := range map[string]struct {
		looks []look
		want  State
	}{
		"starting":                   {[]look{{0, 2, 2, 0, 0, 0, nil}}, Progressing},
		"running is not healthy":     {[]look{{0, 2, 0, 2, 0, 0, nil}}, Progressing},
		"one of two healthy":         {[]look{{0, 2, 0, 2, 1, 0, nil}}, Progressing},
		"whole":                      {[]look{{0, 2, 0, 2, 2, 0, nil}}, Healthy},
		"more run than should":       {[]look{{0, 2, 0, 3, 3, 0, nil}}, Progressing},
		"no task wanted, one needed": {[]look{{0, 0, 0, 0, 0, 0, nil}}, Progressing},
		"three crashes of one cause": {[]look{{0, 2, 0, 2, 0, 0,
			[]sluice.StoppedTask{crashed("a"), crashed("b"), crashed("c")}}}, Failing},
		"two crashes are not enough": {[]look{{0, 2, 0, 2, 0, 0,
			[]sluice.StoppedTask{crashed("a"), crashed("b")}}}, Progressing},
		"scaled in tasks are no failures": {[]look{{0, 2, 0, 1, 0, 0,
			[]sluice.StoppedTask{scaledIn("a"), scaledIn("b"), scaledIn("c")}}}, Progressing},
		"a healthy task between forgives": {[]look{{0, 2, 0, 2, 0, 0,
			[]sluice.StoppedTask{crashed("a"), crashed("b")}}, {5 * s, 2, 0, 2, 1, 0, nil},
			{9 * s, 2, 0, 1, 1, 0, []sluice.StoppedTask{crashed("c")}}}, Progressing},
		"nothing moves until the deadline": {[]look{{0, 2, 2, 0, 0, 0, nil}, {10 * m, 2, 2, 0, 0, 0, nil}},
			Stalling},
		"progress pushes the deadline back": {[]look{{0, 2, 2, 0, 0, 0, nil}, {9 * m, 2, 1, 1, 0, 0, nil},
			{15 * m, 2, 1, 1, 0, 0, nil}}, Progressing},
		"tasks that come and go are no progress": {[]look{{0, 2, 0, 2, 0, 2, nil}, {5 * m, 2, 0, 1, 0, 1, nil},
			{6 * m, 2, 0, 2, 0, 2, nil}, {10*m + s, 2, 0, 2, 0, 2, nil}}, Stalling},
		"a change of the desired count is progress": {[]look{{0, 2, 0, 2, 1, 0, nil}, {9 * m, 4, 2, 2, 1, 0, nil},
			{11 * m, 4, 2, 2, 1, 0, nil}}, Progressing},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(10*time.Minute, c.looks...)
			if v.State != c.want {
				t.Errorf("%s (%s; %s), want %s", v.State, v.Detail, v.Cause.Text, c.want)
			}
			if v.NextPoll < time.Second || v.NextPoll > 15*time.Second {
				t.Errorf("next look after %s", v.NextPoll)
			}
		})
	}
}

// Tasks that have just been started are healthy once two observations in a row say so.
func TestHealthIsSeenTwice(t *testing.T) {
	whole, sick := look{0, 2, 0, 2, 2, 0, nil}.observation(), look{0, 2, 0, 2, 1, 1, nil}.observation()
	c := AwaitCapacity(t0, time.Minute, 1).RequireTwoPolls()
	for i, step := range []struct {
		o    Observation
		want State
	}{{whole, Progressing}, {sick, Progressing}, {whole, Progressing}, {whole, Healthy}} {
		var v Verdict
		if c, v = c.See(step.o); v.State != step.want {
			t.Errorf("observation %d: %s, want %s", i+1, v.State, step.want)
		}
	}
}

func TestOnlyTargetsOfTheSetCount(t *testing.T) {
	o := look{0, 1, 0, 1, 2, 0, nil}.observation()
	o.IsOwnTarget = func(id string) bool { return id == "elsewhere" }
	if _, v := AwaitCapacity(t0, time.Minute, 1).See(o); v.State != Progressing {
		t.Errorf("healthy by targets of another task set: %s", v.State)
	}
}

func TestCausesAreNamedTheSameForTasksThatFailedAlike(t *testing.T) {
	elb := func(task string) sluice.StoppedTask {
		return sluice.StoppedTask{ID: task, StopCode: "ServiceSchedulerInitiated",
			StoppedReason: "Task failed ELB health checks in (target-group " +
				"arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web-canary/0123456789abcdef)"}
	}
	a, ok := CauseOf(elb("a"))
	if b, _ := CauseOf(elb("b")); !ok || a != b || !strings.Contains(a, "(target-group web-canary)") {
		t.Errorf("%q and %q", a, b)
	}
	killed := 137
	text, _ := CauseOf(sluice.StoppedTask{StopCode: "EssentialContainerExited", Container: "web", ExitCode: &killed,
		ContainerReason: "OutOfMemoryError: Container killed due to memory usage"})
	if want := "exit code 137 (killed: SIGKILL, often out of memory) of container web: OutOfMemoryError: Container " +
		"killed due to memory usage"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// What served before is waited for whatever stops; only that nothing moves any
// more ends it.
func TestPatience(t *testing.T) {
	c, v := AwaitCapacity(t0, time.Minute, 1).IgnoreFailures(), Verdict{}
	crashes := []sluice.StoppedTask{crashed("a"), crashed("b"), crashed("c"), crashed("d")}
	c, v = c.See(look{0, 2, 0, 0, 0, 0, crashes}.observation())
	if v.State != Progressing || v.Cause.Count != 4 {
		t.Errorf("four crashes: %s, cause %q ×%d", v.State, v.Cause.Text, v.Cause.Count)
	}
	if _, v = c.See(look{time.Minute, 2, 0, 0, 0, 0, nil}.observation()); v.State != Stalling || v.Cause.Count != 4 {
		t.Errorf("nothing moved for the deadline: %s, cause ×%d", v.State, v.Cause.Count)
	}
}
