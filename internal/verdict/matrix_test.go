package verdict_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	. "github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// evidence is how one cause shows.
type evidence struct {
	kind   diagnosis.Kind
	task   func(*diagnosis.Stopped)
	events func(task string) string
	log    string
	never  bool // tasks never stop of it
}

func fails(reason string) func(*diagnosis.Stopped) {
	return func(s *diagnosis.Stopped) {
		s.StopCode, s.StoppedReason, s.ExitCode, s.Container = "TaskFailedToStart", reason, nil, ""
	}
}

func unhealthy(reason string) func(*diagnosis.Stopped) {
	return func(s *diagnosis.Stopped) {
		s.StopCode, s.StoppedReason, s.ExitCode = "ServiceSchedulerInitiated", reason, nil
	}
}

const group = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/web/0123456789abcdef"

func probed(reason string) func(string) string {
	return func(task string) string {
		return "(service web) (task " + task + ") (port 8080) is unhealthy in (target-group " + group +
			") due to (reason " + reason + ")"
	}
}

func says(text string) func(string) string {
	return func(string) string { return "(service web) " + text }
}

// thirteen are the causes, in AWS's words.
var thirteen = []evidence{
	{kind: diagnosis.ImageNotFound,
		task: fails("CannotPullContainerError: pull image manifest has been retried 5 time(s): " +
			"failed to resolve ref docker.io/acme/web:v9: not found")},
	{kind: diagnosis.ExecFormat, task: func(*diagnosis.Stopped) {}, log: "exec /usr/local/bin/web: exec format error"},
	{kind: diagnosis.ExitCode, task: func(*diagnosis.Stopped) {}, log: "panic: no database"},
	{kind: diagnosis.OutOfMemory, task: func(s *diagnosis.Stopped) {
		code := 137
		s.ExitCode, s.ContainerReason = &code, "OutOfMemoryError: Container killed due to memory usage"
	}},
	{kind: diagnosis.ContainerHealth, task: unhealthy("Task failed container health checks")},
	{kind: diagnosis.BalancerHealth, task: unhealthy("Task failed ELB health checks in (target-group " + group + ")"),
		events: probed("Health checks failed with these codes: [503]")},
	{kind: diagnosis.WrongPort, task: unhealthy("Task failed ELB health checks in (target-group " + group + ")"),
		events: probed("Health checks failed")},
	{kind: diagnosis.NoCapacity, never: true,
		events: says("was unable to place a task because no container instance met all of its requirements. The " +
			"closest matching (container-instance 0123) has insufficient CPU units available.")},
	{kind: diagnosis.SecretUnread,
		task: fails("ResourceInitializationError: unable to pull secrets or registry auth: " +
			"execution resource retrieval failed: unable to retrieve secret from asm: AccessDeniedException")},
	{kind: diagnosis.RoleRefused, task: fails(
		"ECS was unable to assume the role 'arn:aws:iam::123456789012:role/exec' that was provided for this task.")},
	{kind: diagnosis.SlowStart, never: true},
	{kind: diagnosis.Throttled, never: true,
		events: says("operations are being throttled on elb. Will try again later.")},
	{kind: diagnosis.Superseding, never: true},
}

// shape is how a service is deployed.
type shape struct {
	name    string
	sets    bool
	breaker bool
}

var shapes = []shape{{"rolling, breaker off", false, false}, {"rolling, breaker on", false, true},
	{"task sets", true, false}}

// TestCausesByShape: every cause in every way of deploying that can have it ends
// with the right outcome, cause and exit code. Task sets know no breaker.
func TestCausesByShape(t *testing.T) {
	for _, e := range thirteen {
		for _, s := range shapes {
			t.Run(string(e.kind)+"/"+s.name, func(t *testing.T) { cell(t, e, s) })
		}
	}
}

func cell(t *testing.T, e evidence, s shape) {
	looks := play(e, s)
	v := watchIt(t, Wanted{Timeout: 3 * time.Minute}, looks...)
	outcome, by := expected(e, s)
	end(t, v, outcome, by)
	exit := map[sluice.Outcome]int{sluice.Failed: 5, sluice.RolledBack: 3, sluice.Superseded: 6,
		sluice.TimedOut: 9}[outcome]
	if v.Outcome.ExitCode() != exit {
		t.Errorf("exit code %d, want %d", v.Outcome.ExitCode(), exit)
	}
	if v.Cause.Kind != e.kind || v.Cause.Text == "" || v.Cause.Kind.Advice() == "" {
		t.Errorf("cause %q %q, want %q", v.Cause.Kind, v.Cause.Text, e.kind)
	}
}

func expected(e evidence, s shape) (sluice.Outcome, string) {
	switch {
	case e.kind == diagnosis.Superseding:
		return sluice.Superseded, "web:4"
	case e.kind == diagnosis.SlowStart || e.kind == diagnosis.Throttled:
		return sluice.TimedOut, ""
	case s.breaker: // AWS counts tasks that it cannot place, too
		return sluice.RolledBack, "web:2"
	case e.never:
		return sluice.TimedOut, ""
	}
	return sluice.Failed, ""
}

// play is how it goes: begun, in trouble, and its end.
func play(e evidence, s shape) []at {
	begun, trouble := s.service(0, 2), s.service(0, 2)
	var fallen []diagnosis.Stopped
	if e.task != nil {
		for i := range 3 {
			fallen = append(fallen, stopped(i, 3, e.task))
		}
	}
	for i := range 3 {
		if e.events != nil {
			trouble.Events = append(trouble.Events, diagnosis.Event{ID: fmt.Sprint(i),
				Message: e.events(fmt.Sprintf("%032d", i)),
				At:      aws.Add(4 * time.Minute)})
		}
	}
	looks := []at{{0, begun, runs3, nil, nil}, {20, trouble, nil, fallen, func(o *Observation) {
		if e.log != "" {
			o.Logs = []diagnosis.Log{{Task: fallen[2].ID, Container: "web", Lines: []string{e.log}}}
		}
	}}}
	if s.sets {
		looks[0].records = nil
	}
	return append(looks, finish(e, s, trouble))
}

func (s shape) service(running, pending int) *Service {
	if !s.sets {
		fresh := dep(3, "PRIMARY", "IN_PROGRESS", running)
		fresh.Pending = pending
		svc := service(arn3, fresh, dep(2, "ACTIVE", "COMPLETED", 2))
		svc.Breaker = FailureDetection{Enabled: s.breaker, Rollback: s.breaker}
		return svc
	}
	svc := service("")
	svc.Controller, svc.Running = "EXTERNAL", 2
	svc.TaskSets = []sluice.TaskSet{set(2, "PRIMARY", 2), set(3, "ACTIVE", running)}
	svc.TaskSets[1].Pending, svc.TaskSets[1].Steady = pending, false
	return svc
}

func set(n int, status string, running int) sluice.TaskSet {
	return sluice.TaskSet{ID: fmt.Sprintf("ecs-svc/%d", n), Status: status, Revision: fmt.Sprintf("web:%d", n),
		Desired: 2, Running: running, Steady: running == 2,
		CreatedAt: aws.Add(time.Duration(n) * time.Minute)}
}

func finish(e evidence, s shape, trouble *Service) at {
	switch {
	case e.kind == diagnosis.Superseding && s.sets:
		svc := s.service(0, 2)
		svc.TaskSets = append(svc.TaskSets, set(4, "ACTIVE", 0))
		return at{40, svc, nil, nil, nil}
	case e.kind == diagnosis.Superseding:
		return at{40, service(arn4, dep(4, "PRIMARY", "IN_PROGRESS", 0), dep(3, "ACTIVE", "IN_PROGRESS", 0)),
			[]Record{record(arn3, "STOP_REQUESTED", 3, 2), record(arn4, "PENDING", 4, 3)}, nil, nil}
	case s.breaker && (e.task != nil || e.kind == diagnosis.NoCapacity):
		svc := service(arn3, dep(2, "PRIMARY", "COMPLETED", 2))
		svc.Events = trouble.Events
		return at{90, svc, rolledBack3("web:2"), nil, nil}
	}
	return at{180, trouble, nil, nil, nil}
}

// TestTaskSets are the ways that a change of task sets ends.
func TestTaskSets(t *testing.T) {
	sets := func(all ...sluice.TaskSet) *Service {
		s := service("")
		s.Controller, s.TaskSets = "EXTERNAL", all
		return s
	}
	old, canary := set(2, "PRIMARY", 2), set(3, "ACTIVE", 2)
	demoted, promoted := set(2, "ACTIVE", 2), set(3, "PRIMARY", 2)
	again := set(4, "PRIMARY", 2) // the primary set of the canary's revision
	again.Revision = "web:3"
	restored := set(5, "PRIMARY", 2) // what was, made anew by a rollback
	restored.Revision = "web:2"
	unsteady, none := promoted, promoted
	unsteady.Steady = false
	none.Desired, none.Running = 0, 0
	gone := canary
	gone.Status = "DRAINING"
	begun := at{0, sets(old, canary), nil, nil, nil}
	look := func(sec int, all ...sluice.TaskSet) at { return at{sec, sets(all...), nil, nil, nil} }
	claimed := func(sec int) at { // a deployment of sluice goes on beside the canary
		s := sets(again, canary)
		s.ClaimedBy = "slc-0001"
		return at{sec, s, nil, nil, nil}
	}
	for name, c := range map[string]struct {
		want    Wanted
		looks   []at
		outcome sluice.Outcome
		by      string
	}{
		"a canary is no end":          {Wanted{}, []at{begun, look(60, old, canary)}, "", ""},
		"promoted, the old one stays": {Wanted{}, []at{begun, look(60, demoted, promoted)}, "", ""},
		"promoted, unsteady":          {Wanted{}, []at{begun, look(60, unsteady)}, "", ""},
		"promoted, whole":             {Wanted{}, []at{begun, look(60, promoted)}, sluice.Succeeded, ""},
		"promoted, no task wanted":    {Wanted{}, []at{begun, look(60, none)}, "", ""},
		"the canary's revision served": {Wanted{}, []at{begun, look(60, again, canary), look(90, again)},
			sluice.Succeeded, ""},
		"its canary is still there": {Wanted{}, []at{begun, look(60, again, canary)}, "", ""},
		"its canary stays": {Wanted{}, []at{begun, look(60, again, canary), look(119, again, canary),
			look(120, again, canary)}, sluice.Succeeded, ""},
		"its canary stays while claimed": {Wanted{}, []at{begun, claimed(60), claimed(240)}, "", ""},
		"its canary does not stay yet":   {Wanted{}, []at{begun, look(60, again, canary), look(119, again, canary)}, "", ""},
		"serves already":                 {Wanted{Revision: "web:3"}, []at{look(0, promoted)}, sluice.Succeeded, ""},
		"has not appeared":               {Wanted{Revision: "web:3"}, []at{look(0, old)}, "", ""},
		"named by its id": {Wanted{Deployment: "ecs-svc/3"}, []at{begun, look(60, promoted)},
			sluice.Succeeded, ""},
		"the canary is taken away": {Wanted{}, []at{begun, look(60, old, gone), look(63, old, gone)},
			sluice.RolledBack, "web:2"},
		"what was is made anew": {Wanted{}, []at{begun, look(60, restored), look(63, restored)},
			sluice.RolledBack, "web:2"},
		"overtaken": {Wanted{}, []at{begun, look(60, old, canary, set(4, "ACTIVE", 0))},
			sluice.Superseded, "web:4"},
		"the next one has begun": {Wanted{Revision: "web:3"}, []at{look(0, promoted, set(4, "ACTIVE", 1))},
			sluice.Succeeded, ""},
	} {
		t.Run(name, func(t *testing.T) { end(t, watchIt(t, c.want, c.looks...), c.outcome, c.by) })
	}
}

// A wait for what nobody starts does not say at its limit that a deployment continues; one for what is in progress does.
func TestLimitOfAWaitForWhatNobodyStarted(t *testing.T) {
	s := service("")
	s.Controller, s.TaskSets = "EXTERNAL", []sluice.TaskSet{set(2, "PRIMARY", 2), set(3, "ACTIVE", 2)}
	for _, c := range []struct {
		want Wanted
		next string
	}{
		{Wanted{Revision: "web:9"}, "nothing has started what the wait names"},
		{Wanted{Deployment: "ecs-svc/9"}, "nothing has started what the wait names"},
		{Wanted{}, "the deployment continues"},
	} {
		c.want.Timeout = time.Minute
		v := watchIt(t, c.want, at{0, s, nil, nil, nil}, at{60, s, nil, nil, nil})
		if v.Outcome != sluice.TimedOut || !strings.Contains(v.Next, c.next) {
			t.Errorf("%+v: %s, next: %s, want %q", c.want, v.Outcome, v.Next, c.next)
		}
	}
}
