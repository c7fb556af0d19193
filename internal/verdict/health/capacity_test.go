package health

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

var t0 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

type look struct {
	after                     time.Duration
	desired, pending, running int
	healthy, unhealthy        int
	stopped                   []diagnosis.Stopped
}

func (l look) observation() verdict.Observation {
	o := verdict.Observation{At: t0.Add(l.after), Set: &sluice.TaskSet{ID: "ecs-svc/1", Desired: l.desired,
		Pending: l.pending,
		Running: l.running},
		Targets: []sluice.Target{}, NewlyStopped: l.stopped}
	for i := range l.healthy {
		o.Targets = append(o.Targets, sluice.Target{ID: fmt.Sprint("h", i), State: "healthy"})
	}
	for i := range l.unhealthy {
		o.Targets = append(o.Targets, sluice.Target{ID: fmt.Sprint("u", i), State: "unhealthy",
			Description: "Request timed out"})
	}
	return o
}

func judge(deadline time.Duration, looks ...look) verdict.Verdict {
	c := AwaitCapacity(t0, deadline, 1)
	var v verdict.Verdict
	for _, l := range looks {
		c, v = c.See(l.observation())
	}
	return v
}

func crashed(id string) diagnosis.Stopped {
	one := 1
	return diagnosis.Stopped{StoppedTask: sluice.StoppedTask{ID: id, StopCode: "EssentialContainerExited",
		StoppedReason: "Essential container in task exited", Container: "web", ExitCode: &one}, Revision: "web:2"}
}

func scaledIn(id string) diagnosis.Stopped {
	return diagnosis.Stopped{StoppedTask: sluice.StoppedTask{ID: id, StopCode: "ServiceSchedulerInitiated",
		StoppedReason: "Scaling activity initiated by (deployment ecs-svc/1)"}}
}

func TestCapacity(t *testing.T) {
	s, m := time.Second, time.Minute
	for name, c := range map[string]struct {
		looks []look
		want  verdict.State
	}{
		"starting":                   {[]look{{0, 2, 2, 0, 0, 0, nil}}, verdict.Progressing},
		"running is not healthy":     {[]look{{0, 2, 0, 2, 0, 0, nil}}, verdict.Progressing},
		"one of two healthy":         {[]look{{0, 2, 0, 2, 1, 0, nil}}, verdict.Progressing},
		"whole":                      {[]look{{0, 2, 0, 2, 2, 0, nil}}, verdict.Healthy},
		"more run than should":       {[]look{{0, 2, 0, 3, 3, 0, nil}}, verdict.Progressing},
		"no task wanted, one needed": {[]look{{0, 0, 0, 0, 0, 0, nil}}, verdict.Progressing},
		"three crashes of one cause": {[]look{{0, 2, 0, 2, 0, 0,
			[]diagnosis.Stopped{crashed("a"), crashed("b"), crashed("c")}}}, verdict.Failing},
		"two crashes are not enough": {[]look{{0, 2, 0, 2, 0, 0,
			[]diagnosis.Stopped{crashed("a"), crashed("b")}}}, verdict.Progressing},
		"scaled in tasks are no failures": {[]look{{0, 2, 0, 1, 0, 0,
			[]diagnosis.Stopped{scaledIn("a"), scaledIn("b"), scaledIn("c")}}}, verdict.Progressing},
		"a healthy task between forgives": {[]look{{0, 2, 0, 2, 0, 0,
			[]diagnosis.Stopped{crashed("a"), crashed("b")}}, {5 * s, 2, 0, 2, 1, 0, nil},
			{9 * s, 2, 0, 1, 1, 0, []diagnosis.Stopped{crashed("c")}}}, verdict.Progressing},
		"nothing moves until the deadline": {[]look{{0, 2, 2, 0, 0, 0, nil}, {10 * m, 2, 2, 0, 0, 0, nil}},
			verdict.Stalling},
		"progress pushes the deadline back": {[]look{{0, 2, 2, 0, 0, 0, nil}, {9 * m, 2, 1, 1, 0, 0, nil},
			{15 * m, 2, 1, 1, 0, 0, nil}}, verdict.Progressing},
		"tasks that come and go are no progress": {[]look{{0, 2, 0, 2, 0, 2, nil}, {5 * m, 2, 0, 1, 0, 1, nil},
			{6 * m, 2, 0, 2, 0, 2, nil}, {10*m + s, 2, 0, 2, 0, 2, nil}}, verdict.Stalling},
		"a change of the desired count is progress": {[]look{{0, 2, 0, 2, 1, 0, nil}, {9 * m, 4, 2, 2, 1, 0, nil},
			{11 * m, 4, 2, 2, 1, 0, nil}}, verdict.Progressing},
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
		o    verdict.Observation
		want verdict.State
	}{{whole, verdict.Progressing}, {sick, verdict.Progressing}, {whole, verdict.Progressing},
		{whole, verdict.Healthy}} {
		var v verdict.Verdict
		if c, v = c.See(step.o); v.State != step.want {
			t.Errorf("observation %d: %s, want %s", i+1, v.State, step.want)
		}
	}
}

// The tasks of a crash loop are healthy in two polls in a row if each task is healthy for a moment.
func TestTwoPollsShowTheSameTasks(t *testing.T) {
	poll := look{0, 2, 0, 2, 2, 0, nil}.observation()
	replaced := look{0, 2, 0, 2, 2, 0, nil}.observation()
	replaced.Targets[1].ID = "another task"
	c := AwaitCapacity(t0, time.Minute, 1).RequireTwoPolls()
	for i, step := range []struct {
		o    verdict.Observation
		want verdict.State
	}{{poll, verdict.Progressing}, {replaced, verdict.Progressing}, {replaced, verdict.Healthy}} {
		var v verdict.Verdict
		if c, v = c.See(step.o); v.State != step.want {
			t.Errorf("observation %d: %s, want %s", i+1, v.State, step.want)
		}
	}
}

// A task that ECS has told to stop runs, and its target is healthy, for some seconds.
func TestStoppingTasksDoNotCount(t *testing.T) {
	o := look{0, 2, 0, 2, 2, 0, nil}.observation()
	o.Stopping = 1
	if _, v := AwaitCapacity(t0, time.Minute, 1).See(o); v.State != verdict.Progressing ||
		v.Counts.Running != 1 || v.Counts.Healthy != 1 {
		t.Errorf("%s: %+v", v.State, v.Counts)
	}
}

func TestOnlyTargetsOfTheSetCount(t *testing.T) {
	o := look{0, 1, 0, 1, 2, 0, nil}.observation()
	o.IsOwnTarget = func(id string) bool { return id == "elsewhere" }
	if _, v := AwaitCapacity(t0, time.Minute, 1).See(o); v.State != verdict.Progressing {
		t.Errorf("healthy by targets of another task set: %s", v.State)
	}
}

// The version that a rollback restores fails by the same number of tasks as any other: fewer end the wait only by the
// deadline.
func TestFailuresOfTheFormerVersion(t *testing.T) {
	c, v := AwaitCapacity(t0, time.Minute, 1).OfFormer(), verdict.Verdict{}
	c, v = c.See(look{0, 2, 0, 0, 0, 0, []diagnosis.Stopped{crashed("a"), crashed("b")}}.observation())
	if v.State != verdict.Progressing || v.Cause.Count != 2 {
		t.Errorf("two crashes: %s, cause %q ×%d", v.State, v.Cause.Text, v.Cause.Count)
	}
	if _, v = c.See(look{time.Minute, 2, 0, 0, 0, 0, nil}.observation()); v.State != verdict.Stalling ||
		v.Cause.Count != 2 {
		t.Errorf("nothing moved for the deadline: %s, cause ×%d", v.State, v.Cause.Count)
	}
	if _, v = c.See(look{0, 2, 0, 0, 0, 0, []diagnosis.Stopped{crashed("c")}}.observation()); v.State != verdict.Failing {
		t.Errorf("three crashes: %s", v.State)
	}
}

// Why a task set is not healthy: log lines change the kind of a cause but not the count, an event
// and a target explain a wait without a failed task, and every end has advice.
func TestCapacityExplains(t *testing.T) {
	full := look{0, 2, 0, 0, 0, 0, []diagnosis.Stopped{crashed("a"), crashed("b"), crashed("c")}}.observation()
	c, v := AwaitCapacity(t0, time.Minute, 1).See(full)
	if v.State != verdict.Failing || v.Cause.Kind != diagnosis.ExitCode || len(c.NeededLogs()) != 1 {
		t.Errorf("%s, %s, logs of %v", v.State, v.Cause.Kind, c.NeededLogs())
	}
	_, v = c.AddLogs(full, []diagnosis.Log{{Task: "c", Container: "web", Lines: []string{"exec format error"}}})
	if v.State != verdict.Failing || v.Cause.Kind != diagnosis.ExecFormat || v.Cause.Count != 3 || len(v.Logs) != 1 ||
		v.Next != diagnosis.ExecFormat.Advice()+"; "+diagnosis.DeployOrRollBack {
		t.Errorf("with its log: %+v", v)
	}
	if c, v = c.AddLogs(full, []diagnosis.Log{{Task: "c", Container: "web", Err: "denied"}}); len(v.Unread) != 1 ||
		len(c.NeededLogs()) != 0 {
		t.Errorf("a log that cannot be read: %q, asked again: %v", v.Unread, c.NeededLogs())
	}
	for name, e := range map[string]struct {
		look look
		said string
		kind diagnosis.Kind
	}{
		"no room": {look{2 * time.Minute, 2, 0, 0, 0, 0, nil}, "(service web) was unable to place a task because no " +
			"container instance met all of its requirements.", diagnosis.NoCapacity},
		"a target that does not answer": {look{2 * time.Minute, 2, 0, 2, 0, 2, nil}, "", diagnosis.BalancerHealth},
		"tasks that take long":          {look{2 * time.Minute, 2, 2, 0, 0, 0, nil}, "", diagnosis.SlowStart},
		"nothing":                       {look{2 * time.Minute, 2, 0, 0, 0, 0, nil}, "", ""},
	} {
		o := e.look.observation()
		o.Set.CreatedAt = t0
		if e.said != "" {
			o.Events = []diagnosis.Event{{ID: "1", Message: e.said, At: t0.Add(time.Second)}}
		}
		c, _ := AwaitCapacity(t0, time.Minute, 1).See(o)
		o.At = o.At.Add(2 * time.Minute)
		if _, v := c.See(o); v.State != verdict.Stalling || v.Cause.Kind != e.kind || v.Next == "" ||
			v.Cause.Task != "" {
			t.Errorf("%s: %s, %+v, next %q", name, v.State, v.Cause, v.Next)
		}
	}
}
