package verdict_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	. "github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// TestWhenToPollNext: every second after a change and close to an end, every two
// while nothing moves, seldom after long, and at the limit to the second.
func TestWhenToPollNext(t *testing.T) {
	moved := service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 1), dep(2, "ACTIVE", "COMPLETED", 2))
	ending := service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 2), dep(2, "ACTIVE", "COMPLETED", 0))
	stopping := []Record{record(arn3, "STOP_REQUESTED", 3, 2)}
	guarded := func(s *Service) *Service {
		g := *s
		g.Breaker = FailureDetection{Enabled: true, Rollback: true}
		return &g
	}
	nearly := record(arn3, "IN_PROGRESS", 3, 2)
	nearly.Breaker = Counter{Status: "MONITORING", Failures: 2, Threshold: 3}
	restoring := dep(2, "PRIMARY", "IN_PROGRESS", 2)
	restoring.Reason = "ECS deployment circuit breaker: rolling back to deploymentId ecs-svc/2."
	restored := service(arn3, restoring, dep(3, "ACTIVE", "FAILED", 0))
	back := []Record{record(arn3, "ROLLBACK_IN_PROGRESS", 3, 2)}
	ran := []diagnosis.Stopped{stopped(1, 3, func(s *diagnosis.Stopped) {
		s.StartedAt, s.StoppedAt = aws.Add(4*time.Minute), aws.Add(4*time.Minute+3*time.Second)
	})}
	fresh := Wanted{Deployment: "ecs-svc/3", FromStart: true}
	for name, c := range map[string]struct {
		want  Wanted
		looks []at
		next  time.Duration
	}{
		"just created":               {fresh, []at{{0, rolling3, nil, nil, nil}}, 10 * time.Second},
		"a wait for it, begun again": {fresh.BegunAgain(), []at{{0, rolling3, runs3, nil, nil}}, 5 * time.Second},
		"its second poll": {fresh, []at{{0, rolling3, nil, nil, nil}, {10, rolling3, nil, nil, nil}},
			5 * time.Second},
		"failed tasks are removed": {Wanted{}, []at{{0, rolling3, runs3, nil, nil}, {50, restored, back, ran, nil}},
			10 * time.Second},
		"they take longer": {Wanted{}, []at{{0, rolling3, runs3, nil, nil}, {50, restored, back, ran, nil},
			{60, restored, nil, nil, nil}}, 4 * time.Second},
		"failed tasks that never ran": {Wanted{}, []at{{0, rolling3, runs3, nil, nil},
			{50, restored, back, crashes(3, 3), nil}}, 4 * time.Second},
		"a failed task is replaced": {Wanted{}, []at{{0, rolling3, runs3, nil, nil}, {9, rolling3, nil, ran, nil}},
			2 * time.Second},
		"one that never ran is replaced": {Wanted{}, []at{{0, rolling3, runs3, nil, nil},
			{9, rolling3, nil, crashes(1, 3), nil}}, time.Second},
		"no task runs yet": {Wanted{}, []at{{0, rolling3, runs3, nil, nil}, {9, rolling3, nil, nil, nil}},
			5 * time.Second},
		"tasks are replaced": {Wanted{}, []at{{0, rolling3, runs3, nil, nil}, {60, rolling3, nil, nil, nil},
			{62, moved, nil, nil, nil}}, 3 * time.Second},
		"no task runs yet, and ECS rolls back": {Wanted{}, []at{{0, guarded(rolling3), runs3, nil, nil},
			{9, guarded(rolling3), nil, nil, nil}}, 8 * time.Second},
		"tasks are replaced, and ECS rolls back": {Wanted{}, []at{{0, guarded(rolling3), runs3, nil, nil},
			{60, guarded(rolling3), nil, nil, nil}, {62, guarded(moved), nil, nil, nil}}, 7 * time.Second},
		"how long targets drain is not known": {Wanted{}, []at{{0, guarded(rolling3), runs3, nil, nil},
			{60, guarded(moved), nil, nil, nil}, {62, guarded(ending), nil, nil, nil}}, time.Second},
		"9 s after a change": {Wanted{}, []at{{0, ending, runs3, nil, nil}, {9, ending, nil, nil, nil}},
			time.Second},
		"10 s after": {Wanted{}, []at{{0, ending, runs3, nil, nil}, {10, ending, nil, nil, nil}},
			2 * time.Second},
		"the old tasks are stopped": {Wanted{}, []at{{0, rolling3, runs3, nil, nil}, {60, moved, nil, nil, nil},
			{62, ending, nil, nil, nil}}, time.Second},
		"still after minutes": {Wanted{}, []at{{0, ending, runs3, nil, nil}, {599, ending, nil, nil, nil}},
			2 * time.Second},
		"still after long": {Wanted{}, []at{{0, ending, runs3, nil, nil}, {600, ending, nil, nil, nil}},
			5 * time.Second},
		"about to be stopped": {Wanted{}, []at{{0, rolling3, stopping, nil, nil}, {40, rolling3, nil, nil, nil}},
			time.Second},
		"the breaker is about to go": {Wanted{}, []at{{0, rolling3, []Record{nearly}, nil, nil},
			{40, rolling3, nil, nil, nil}}, time.Second},
		"the service is missing": {Wanted{}, []at{{0, nil, nil, nil, nil}, {5, nil, nil, nil, nil}}, time.Second},
		"close to the limit": {Wanted{Timeout: time.Minute},
			[]at{{0, rolling3, runs3, nil, nil}, {59, rolling3, nil, nil, nil}}, time.Second},
		"closer": {Wanted{Timeout: 90 * time.Second},
			[]at{{0, rolling3, runs3, nil, nil}, {89, rolling3, nil, nil, nil}}, time.Second},
		"ended": {Wanted{Revision: "web:3"},
			[]at{{0, service(arn3, dep(3, "PRIMARY", "COMPLETED", 2)), []Record{record(arn3, "SUCCESSFUL", 3, 2)}, nil,
				nil}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if v := watchIt(t, c.want, c.looks...); v.NextPoll != c.next {
				t.Errorf("%s, want %s", v.NextPoll, c.next)
			}
		})
	}
}

// settled is a judge that has looked at rolling3 until nothing was left to read.
func settled(t *testing.T, s *Service) ServiceFollower {
	t.Helper()
	r := FollowService(ours, Wanted{})
	for sec := 0; sec < 60; sec += 5 {
		now := ours.Add(time.Duration(sec) * time.Second)
		o := Observation{At: now, Service: s}
		if n := r.Needs(s, now); len(n.Records) > 0 {
			o.Records = runs3
		}
		r, _ = r.See(o)
	}
	if n := r.Needs(s, ours.Add(time.Minute)); n.Any() {
		t.Fatalf("still needed: %+v", n)
	}
	return r
}

// TestReadsThatAPollNeeds: nothing, as long as nothing changes.
func TestReadsThatAPollNeeds(t *testing.T) {
	base := func(change func(*Service)) *Service {
		fresh := dep(3, "PRIMARY", "IN_PROGRESS", 1)
		fresh.Pending = 1
		s := service(arn3, fresh, dep(2, "ACTIVE", "COMPLETED", 2))
		s.Groups, s.Events = []string{group},
			[]diagnosis.Event{{ID: "1", Message: "(service web) has started 2 tasks: (task a) (task b).",
				At: aws.Add(3 * time.Minute)}}
		if change != nil {
			change(s)
		}
		return s
	}
	event := func(text string) func(*Service) {
		return func(s *Service) {
			s.Events = append([]diagnosis.Event{{ID: "2", Message: "(service web) " + text,
				At: aws.Add(4 * time.Minute)}}, s.Events...)
		}
	}
	type needs struct{ records, fallen, targets bool }
	for name, c := range map[string]struct {
		change func(*Service)
		want   needs
	}{
		"nothing": {nil, needs{}},
		"one more runs": {func(s *Service) { s.Deployments[0].Running, s.Deployments[0].Pending = 2, 0 },
			needs{}},
		"an old one leaves":   {func(s *Service) { s.Deployments[1].Running = 1 }, needs{}},
		"a task failed":       {func(s *Service) { s.Deployments[0].Failed = 1 }, needs{fallen: true}},
		"a task is gone":      {func(s *Service) { s.Deployments[0].Running = 0 }, needs{fallen: true}},
		"a task was replaced": {event("has started 1 tasks: (task c)."), needs{fallen: true}},
		"registered":          {event("registered 1 targets in (target-group " + group + ")"), needs{}},
		"a target is unhealthy": {event("(task a) (port 8080) is unhealthy in (target-group " + group +
			") due to (reason Health checks failed)"), needs{fallen: true, targets: true}},
		"no place":               {event("was unable to place a task."), needs{fallen: true}},
		"another is current":     {func(s *Service) { s.Current = arn4 }, needs{records: true}},
		"the state changed":      {func(s *Service) { s.Deployments[0].State = "COMPLETED" }, needs{records: true}},
		"rolling back, says AWS": {event("rolling back to deployment ecs-svc/2."), needs{records: true, fallen: true}},
	} {
		t.Run(name, func(t *testing.T) {
			r := settled(t, base(nil))
			n := r.Needs(base(c.change), ours.Add(time.Minute))
			if got := (needs{len(n.Records) > 0, n.StoppedTasks, len(n.Targets) > 0}); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// The record of a deployment with ECS's own strategy is read for its stage every ten seconds. While ECS starts its tasks,
// it shows no other one, and is read every 30 s. A wait for a deployment that was just created reads it from the second
// poll on.
func TestStagesAreReadWhenTheyCanChange(t *testing.T) {
	starts, ends := runs3[0], runs3[0]
	starts.Stage, ends.Stage = "SCALE_UP", "POST_SCALE_UP"
	starting := native(service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 1), dep(2, "ACTIVE", "COMPLETED", 2)))
	all := native(service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 2), dep(2, "ACTIVE", "COMPLETED", 2)))
	second := func(n int) time.Time { return ours.Add(time.Duration(n) * time.Second) }
	for name, c := range map[string]struct {
		record  Record
		service *Service
		after   int
		want    bool
	}{
		"tasks start":              {starts, starting, 11, false},
		"tasks start for long":     {starts, starting, 31, true},
		"all tasks run":            {starts, all, 11, true},
		"all tasks run, too early": {starts, all, 9, false},
		"a stage after that":       {ends, starting, 11, true},
	} {
		r := FollowService(ours, Wanted{Deployment: "ecs-svc/3", FromStart: true})
		if n := r.Needs(starting, ours); len(n.Records) > 0 {
			t.Errorf("%s: the first poll reads %v", name, n.Records)
		}
		r, _ = r.See(Observation{At: ours, Service: starting})
		if n := r.Needs(starting, second(1)); len(n.Records) == 0 {
			t.Errorf("%s: the second poll reads no record", name)
		}
		r, _ = r.See(Observation{At: second(1), Service: starting, Records: []Record{c.record}})
		if n := r.Needs(c.service, second(1+c.after)); len(n.Records) > 0 != c.want {
			t.Errorf("%s: %d s after it was read, the record is read: %t, want %t", name, c.after, !c.want, c.want)
		}
	}
}

// A wait that begins after the tasks of a completed deployment were lost reads why: they may have stopped by themselves.
func TestFirstPollReadsWhyTasksAreMissing(t *testing.T) {
	for running, want := range map[int]bool{1: true, 2: false} {
		s := service(arn3, dep(3, "PRIMARY", "COMPLETED", running))
		r := FollowService(ours, Wanted{})
		if n := r.Needs(s, ours.Add(time.Minute)); n.StoppedTasks != want {
			t.Errorf("%d of 2 run: stopped tasks are read: %t", running, n.StoppedTasks)
		}
	}
}

func TestTargetsAreReadOnceWhenRunningIsNotEnough(t *testing.T) {
	one := dep(3, "PRIMARY", "IN_PROGRESS", 2)
	s := service(arn3, one)
	s.Groups = []string{group}
	r := FollowService(ours, Wanted{})
	r, _ = r.See(Observation{At: ours, Service: s, Records: runs3})
	r, _ = r.See(Observation{At: ours.Add(5 * time.Second), Service: s, Records: runs3})
	later := ours.Add(20 * time.Second)
	if n := r.Needs(s, later); !slices.Equal(n.Targets, s.Groups) {
		t.Fatalf("%+v", n)
	}
	r, v := r.See(Observation{At: later, Service: s,
		Targets: []sluice.Target{{ID: "10.0.0.1", Port: 8080, State: "unhealthy", Reason: "Target.FailedHealthChecks",
			Description: "Health checks failed"}}})
	if v.Cause.Kind != diagnosis.WrongPort {
		t.Errorf("%+v", v.Cause)
	}
	if n := r.Needs(s, later.Add(2*time.Second)); n.Any() {
		t.Errorf("%+v", n)
	}
}
