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

var (
	ours = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC) // our clock
	aws  = time.Date(2030, 1, 1, 9, 0, 0, 0, time.UTC)  // AWS's, quite another
)

const (
	clusterARN = "arn:aws:ecs:us-east-1:123456789012:service-deployment/prod/web/"
	arn2, arn3 = clusterARN + "aaaaaaaaaaaaaaaaaaaa2", clusterARN + "aaaaaaaaaaaaaaaaaaaa3"
	arn4       = clusterARN + "aaaaaaaaaaaaaaaaaaaa4"
)

// service is a service with controller ECS and these deployments, newest first.
func service(current string, ds ...Deployment) *Service {
	s := &Service{ARN: "arn:aws:ecs:us-east-1:123456789012:service/prod/web", Cluster: "prod", Name: "web",
		Status: "ACTIVE", Controller: "ECS",
		Desired: 2, Current: current, Deployments: ds}
	for _, d := range ds {
		s.Running, s.Pending = s.Running+d.Running, s.Pending+d.Pending
	}
	return s
}

// dep is a deployment of web:n, made n minutes after the beginning.
func dep(n int, status, state string, running int) Deployment {
	d := Deployment{ID: fmt.Sprintf("ecs-svc/%d", n), Status: status, State: state, Revision: fmt.Sprintf("web:%d", n),
		Running:   running,
		CreatedAt: aws.Add(time.Duration(n) * time.Minute)}
	if status == "PRIMARY" {
		d.Desired = 2
	}
	return d
}

func record(arn, status string, n, from int) Record {
	return Record{ARN: arn, Status: status, Revision: fmt.Sprintf("web:%d", n), From: fmt.Sprintf("web:%d", from),
		CreatedAt: aws.Add(time.Duration(n) * time.Minute)}
}

// at is one look, some seconds after the beginning of the wait.
type at struct {
	seconds int
	service *Service
	records []Record
	fallen  []diagnosis.Stopped
	more    func(*Observation)
}

// watchIt runs the looks and returns the last verdict, or the first that ended.
func watchIt(t testing.TB, w Wanted, looks ...at) Verdict {
	t.Helper()
	r := FollowService(ours, w)
	var v Verdict
	for _, l := range looks {
		o := Observation{At: ours.Add(time.Duration(l.seconds) * time.Second), Service: l.service, Records: l.records,
			NewlyStopped: l.fallen}
		if l.more != nil {
			l.more(&o)
		}
		_ = r.Needs(l.service, o.At)
		if r, v = r.See(o); v.State == Ended {
			return v
		}
	}
	return v
}

// blind is an account without the history of deployments.
func blind(o *Observation) { o.NoHistory = true }

func end(t testing.TB, v Verdict, outcome sluice.Outcome, by string) {
	t.Helper()
	if v.Outcome != outcome || v.By != by {
		t.Errorf("%q by %q, want %q by %q: %s", v.Outcome, v.By, outcome, by, v.Detail)
	}
	if outcome != "" && outcome != sluice.Succeeded && (v.Detail == "" || v.Next == "") {
		t.Errorf("nothing is said: %+v", v)
	}
}

func stopped(n, of int, change func(*diagnosis.Stopped)) diagnosis.Stopped {
	s := diagnosis.Stopped{Deployment: fmt.Sprintf("ecs-svc/%d", of), Revision: fmt.Sprintf("web:%d", of)}
	s.ID, s.StopCode, s.StoppedReason, s.Container = fmt.Sprintf("%032d", n), "EssentialContainerExited",
		"Essential container in task exited", "web"
	code := 1
	s.ExitCode = &code
	if change != nil {
		change(&s)
	}
	return s
}

func crashes(n, of int) (all []diagnosis.Stopped) {
	for i := range n {
		all = append(all, stopped(i, of, nil))
	}
	return all
}

// mission/003: the four states of a service that a wait can meet, followed by
// revision, without the history of deployments; the samples name no ids.
func bare(n int, status, state, reason string) Deployment {
	return Deployment{Status: status, State: state, Reason: reason, Revision: fmt.Sprintf("web:%d", n), Running: 2,
		Desired: 2}
}

var (
	stateDone = service("",
		bare(3, "PRIMARY", "COMPLETED", "ECS deployment ecs-svc/6405940160831029548 completed."))
	stateFailed = service("",
		bare(3, "ACTIVE", "FAILED", "ECS deployment circuit breaker: tasks failed to start."))
	stateRollingBack = service("",
		bare(2, "PRIMARY", "IN_PROGRESS",
			"ECS deployment circuit breaker: rolling back to deploymentId ecs-svc/6405940160831029548."),
		bare(3, "ACTIVE", "IN_PROGRESS", "ECS deployment ecs-svc/1281894607538416024 in progress."))
	stateRolledBack = service("", bare(2, "PRIMARY", "COMPLETED",
		"ECS deployment ecs-svc/6405940160831029548 completed."))
)

func TestMissionSuccessful(t *testing.T) {
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, stateDone, nil, nil, blind}), sluice.Succeeded, "")
}

func TestMissionFailed(t *testing.T) {
	v := watchIt(t, Wanted{Revision: "web:3"}, at{0, stateFailed, nil, nil, blind}, at{3, stateFailed, nil, nil, nil})
	end(t, v, sluice.Failed, "")
	if !strings.Contains(v.Detail, "circuit breaker: tasks failed to start") {
		t.Error(v.Detail)
	}
}

func TestMissionRollingBack(t *testing.T) {
	v := watchIt(t, Wanted{Revision: "web:3"}, at{0, stateRollingBack, nil, nil, blind})
	end(t, v, "", "")
	if !strings.Contains(v.Detail, "rolling back") {
		t.Error(v.Detail)
	}
	v = watchIt(t, Wanted{Revision: "web:3", Timeout: time.Minute}, at{0, stateRollingBack, nil, nil, blind},
		at{60, stateRollingBack, nil, nil, nil})
	end(t, v, sluice.TimedOut, "")
	if !strings.Contains(v.Detail, "rolling back") {
		t.Error(v.Detail)
	}
}

func TestMissionRolledBack(t *testing.T) {
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, stateRollingBack, nil, nil, blind},
		at{30, stateRolledBack, nil, nil, nil}), sluice.RolledBack, "web:2")
}

// twice returns two polls with the same state, so far apart that no response can be older.
func twice(s *Service, r Record) []at {
	return []at{{0, s, []Record{r}, nil, nil}, {12, s, []Record{r}, nil, nil}}
}

// The same by the service deployment's record, as every account has it today.
func TestByRecord(t *testing.T) {
	old, fresh := dep(2, "ACTIVE", "COMPLETED", 2), dep(3, "PRIMARY", "IN_PROGRESS", 0)
	rolling := service(arn3, fresh, old)
	back := service(arn3, dep(2, "PRIMARY", "COMPLETED", 2))
	rolledBack := record(arn3, "ROLLBACK_SUCCESSFUL", 3, 2)
	rolledBack.BackTo, rolledBack.Reason = "web:2",
		"Service deployment rolled back because the circuit breaker threshold was exceeded."
	progress := []Record{record(arn3, "IN_PROGRESS", 3, 2)}
	newer := service(arn4, dep(4, "PRIMARY", "IN_PROGRESS", 0), dep(3, "ACTIVE", "IN_PROGRESS", 1))
	for name, c := range map[string]struct {
		want    Wanted
		looks   []at
		outcome sluice.Outcome
		by      string
	}{
		"succeeds": {Wanted{}, []at{{0, rolling, progress, nil, nil},
			{20, service(arn3, dep(3, "PRIMARY", "COMPLETED", 2)), []Record{record(arn3, "SUCCESSFUL", 3, 2)}, nil,
				nil}},
			sluice.Succeeded, ""},
		"rolled back": {Wanted{}, []at{{0, rolling, progress, nil, nil}, {20, back, []Record{rolledBack}, nil, nil}},
			sluice.RolledBack, "web:2"},
		"rolled back before the wait, by revision": {Wanted{Revision: "web:3"},
			[]at{{0, back, []Record{rolledBack}, nil, nil}, {3, back, []Record{rolledBack}, nil, nil}},
			sluice.RolledBack, "web:2"},
		"what it was rolled back to serves": {Wanted{Revision: "web:2"},
			[]at{{0, back, []Record{rolledBack}, nil, nil}}, sluice.Succeeded, ""},
		"superseded": {Wanted{}, []at{{0, rolling, progress, nil, nil},
			{9, newer, []Record{record(arn3, "STOP_REQUESTED", 3, 2), record(arn4, "PENDING", 4, 3)}, nil, nil}},
			sluice.Superseded, "web:4"},
		"superseded and stopped": {Wanted{Deployment: arn3},
			[]at{{0, newer, []Record{record(arn3, "STOPPED", 3, 2), record(arn4, "PENDING", 4, 3)}, nil, nil}},
			sluice.Superseded, "web:4"},
		"an old answer shows the former deployment": {Wanted{Deployment: arn3}, []at{
			{0, service(arn2, dep(2, "PRIMARY", "COMPLETED", 2)), []Record{record(arn3, "IN_PROGRESS", 3, 2),
				record(arn2, "SUCCESSFUL", 2, 1)}, nil, nil}}, "", ""},
		"rollback failed": {Wanted{Deployment: arn3},
			[]at{{0, rolling, []Record{record(arn3, "ROLLBACK_FAILED", 3, 2)}, nil, nil}}, sluice.Failed, ""},
		"stopped by a person": {Wanted{Deployment: arn3},
			[]at{{0, rolling, []Record{record(arn3, "STOPPED", 3, 2)}, nil, nil}}, sluice.Stopped, ""},
		"named by its last id": {Wanted{Deployment: "aaaaaaaaaaaaaaaaaaaa3"},
			[]at{{0, back, []Record{rolledBack}, nil, nil}}, sluice.RolledBack, "web:2"},
		"succeeded, and a newer one has just begun": {Wanted{Deployment: arn3},
			[]at{{0, newer, []Record{record(arn3, "SUCCESSFUL", 3, 2), record(arn4, "PENDING", 4, 3)}, nil, nil}},
			sluice.Succeeded, ""},
		"succeeded, and was replaced since": {Wanted{Deployment: arn3},
			[]at{{0, service(arn4, dep(4, "PRIMARY", "COMPLETED", 2)),
				[]Record{record(arn3, "SUCCESSFUL", 3, 2), record(arn4, "SUCCESSFUL", 4, 3)}, nil, nil}},
			sluice.Superseded,
			"web:4"},
		"succeeded and replaced, the service names no current deployment": {Wanted{Deployment: arn3},
			twice(service("", dep(4, "PRIMARY", "COMPLETED", 2)), record(arn3, "SUCCESSFUL", 3, 2)),
			sluice.Superseded, "web:4"},
		"succeeded, and an older revision serves": {Wanted{Deployment: arn3},
			twice(service("", dep(2, "PRIMARY", "COMPLETED", 2)), record(arn3, "SUCCESSFUL", 3, 2)),
			sluice.RolledBack, "web:2"},
		"succeeded and current, but another revision serves": {Wanted{Deployment: arn3},
			twice(back, record(arn3, "SUCCESSFUL", 3, 2)), "", ""},
		"succeeded and current, but its deployment is FAILED": {Wanted{Deployment: arn3},
			twice(service(arn3, dep(3, "PRIMARY", "FAILED", 2)), record(arn3, "SUCCESSFUL", 3, 2)), "", ""},
		"succeeded, but no task runs": {Wanted{Deployment: arn3},
			[]at{{0, service(arn3, dep(3, "PRIMARY", "COMPLETED", 0)), []Record{record(arn3, "SUCCESSFUL", 3, 2)}, nil,
				nil}}, "", ""},
		"the breaker stops it without rollback": {Wanted{Deployment: arn3},
			[]at{{0, service(arn3, dep(3, "PRIMARY", "FAILED", 0), old),
				[]Record{func() Record {
					r := record(arn3, "STOPPED", 3,
						2)
					r.Breaker.Status = "TRIGGERED"
					return r
				}()},
				nil, nil}}, sluice.Failed, ""},
		"an unknown deployment": {Wanted{Deployment: arn3}, []at{{0, back, nil, nil, nil}, {10, back, nil, nil, nil}},
			sluice.Gone, ""},
	} {
		t.Run(name, func(t *testing.T) { end(t, watchIt(t, c.want, c.looks...), c.outcome, c.by) })
	}
}

func TestAlarmRollsBack(t *testing.T) {
	r := record(arn3, "ROLLBACK_SUCCESSFUL", 3, 2)
	r.BackTo, r.Alarms, r.Breaker.Status = "web:2", []string{"web-5xx"}, "MONITORING_COMPLETE"
	v := watchIt(t, Wanted{Deployment: arn3}, at{0, service(arn3, dep(2, "PRIMARY", "COMPLETED", 2)), []Record{r}, nil,
		nil})
	end(t, v, sluice.RolledBack, "web:2")
	if v.Cause.Kind != diagnosis.AlarmFired || !strings.Contains(v.Detail, "web-5xx") {
		t.Errorf("%+v", v.Cause)
	}
}

func TestAHookThatWaits(t *testing.T) {
	r := record(arn3, "IN_PROGRESS", 3, 2)
	r.Stage, r.Weight, r.Hooks = "POST_SCALE_UP", 10,
		[]Hook{{ID: "ecs-pause-1", Status: "AWAITING_ACTION", ExpiresAt: aws.Add(time.Hour)}}
	s := service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 2), dep(2, "ACTIVE", "COMPLETED", 2))
	s.Strategy = "CANARY"
	v := watchIt(t, Wanted{Deadline: time.Minute}, at{0, s, []Record{r}, nil, nil}, at{600, s, []Record{r}, nil, nil})
	end(t, v, "", "")
	for _, want := range []string{"POST_SCALE_UP with 10% of the traffic",
		"hook ecs-pause-1 awaits an answer by sluice continue until 2030-01-01 10:00:00Z"} {
		if !strings.Contains(v.Detail, want) {
			t.Errorf("%q misses %q", v.Detail, want)
		}
	}
}

func TestGoneAndZero(t *testing.T) {
	s := service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 1))
	progress := []Record{record(arn3, "IN_PROGRESS", 3, 2)}
	zero := service(arn3, dep(3, "PRIMARY", "COMPLETED", 0))
	zero.Desired = 0
	draining := *s
	draining.Status = "DRAINING"
	for name, looks := range map[string][]at{
		"missing from the start": {{0, nil, nil, nil, nil}, {5, nil, nil, nil, nil}, {10, nil, nil, nil, nil}},
		"deleted meanwhile": {{0, s, progress, nil, nil}, {9, &draining, nil, nil, nil},
			{12, &draining, nil, nil, nil}},
		"gone meanwhile": {{0, s, progress, nil, nil}, {9, nil, nil, nil, nil}, {12, nil, nil, nil, nil}},
		"scaled to 0 meanwhile": {{0, s, progress, nil, nil}, {9, zero, []Record{record(arn3, "SUCCESSFUL", 3, 2)},
			nil, nil}, {12, zero, nil, nil, nil}},
		"0 from the start": {{0, zero, []Record{record(arn3, "SUCCESSFUL", 3, 2)}, nil, nil},
			{3, zero, nil, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			end(t, watchIt(t, Wanted{}, looks...), sluice.Gone, "")
			end(t, watchIt(t, Wanted{}, looks[:len(looks)-1]...), "", "")
		})
	}
	end(t, watchIt(t, Wanted{}, at{0, nil, nil, nil, nil}, at{2, s, progress, nil, nil}), "", "") // it was only late
}

func TestInactiveDefinition(t *testing.T) {
	s, records := service(arn2, dep(2, "PRIMARY", "COMPLETED", 2)), []Record{record(arn2, "SUCCESSFUL", 2, 1)}
	end(t, watchIt(t, Wanted{Revision: "web:3", Inactive: true}, at{0, s, records, nil, nil}, at{10, s, nil, nil, nil}),
		sluice.Gone, "")
	end(t, watchIt(t, Wanted{Revision: "web:2", Inactive: true}, at{0, s, records, nil, nil}), sluice.Succeeded, "")
}

func TestWithoutHistory(t *testing.T) {
	old := dep(2, "ACTIVE", "COMPLETED", 2)
	begun := at{0, service("", dep(3, "PRIMARY", "IN_PROGRESS", 0), old), nil, nil, blind}
	failedHere := service("", dep(3, "PRIMARY", "FAILED", 0), old)
	returning := service("", dep(3, "PRIMARY", "FAILED", 0), old)
	returning.Breaker = FailureDetection{Enabled: true, Rollback: true}
	again := dep(2, "PRIMARY", "IN_PROGRESS", 2)
	again.Reason = "ECS deployment circuit breaker: rolling back to deploymentId ecs-svc/2."
	classic := dep(3, "PRIMARY", "", 2)
	for name, c := range map[string]struct {
		looks   []at
		outcome sluice.Outcome
		by      string
	}{
		"succeeds": {[]at{begun, {10, service("", dep(3, "PRIMARY", "COMPLETED", 2)), nil, nil, nil}},
			sluice.Succeeded, ""},
		"classic balancer":  {[]at{begun, {10, service("", classic), nil, nil, nil}}, sluice.Succeeded, ""},
		"fails in place":    {[]at{begun, {9, failedHere, nil, nil, nil}}, sluice.Failed, ""},
		"fails, to go back": {[]at{begun, {9, returning, nil, nil, nil}, {38, returning, nil, nil, nil}}, "", ""},
		"and never does": {[]at{begun, {9, returning, nil, nil, nil}, {39, returning, nil, nil, nil}}, sluice.Failed,
			""},
		"rolling back": {[]at{begun, {9, service("", again, dep(3, "ACTIVE", "FAILED", 0)), nil, nil, nil}}, "",
			""},
		"rolled back": {[]at{begun,
			{9, service("", dep(2, "PRIMARY", "COMPLETED", 2), dep(3, "ACTIVE", "FAILED", 0)), nil, nil, nil}},
			sluice.RolledBack, "web:2"},
		"rolled back whole": {[]at{begun, {9, service("", dep(2, "PRIMARY", "COMPLETED", 2)), nil, nil, nil}},
			sluice.RolledBack, "web:2"},
		"superseded": {[]at{begun,
			{9, service("", dep(4, "PRIMARY", "IN_PROGRESS", 0), dep(3, "ACTIVE", "IN_PROGRESS", 1)), nil, nil, nil}},
			sluice.Superseded, "web:4"},
		"superseded, gone": {[]at{begun, {9, service("", dep(4, "PRIMARY", "COMPLETED", 2)), nil, nil, nil}},
			sluice.Superseded, "web:4"},
	} {
		t.Run(name, func(t *testing.T) { end(t, watchIt(t, Wanted{}, c.looks...), c.outcome, c.by) })
	}
}

// Without history, AWS's events and the stopped tasks tell of a rollback that was
// over before the wait began.
func TestRolledBackBeforeTheWaitWithoutHistory(t *testing.T) {
	s := service("", dep(2, "PRIMARY", "COMPLETED", 2))
	s.Events = []diagnosis.Event{{ID: "2", Message: "(service web) rolling back to deployment ecs-svc/2.", At: aws},
		{ID: "1", Message: "(service web) (deployment ecs-svc/3) deployment failed: tasks failed to start.", At: aws}}
	if n := FollowService(ours, Wanted{Revision: "web:3"}).Needs(s, ours); !n.StoppedTasks {
		t.Error("the stopped tasks are not read")
	}
	v := watchIt(t, Wanted{Revision: "web:3"}, at{0, s, nil, crashes(2, 3), blind}, at{3, s, nil, nil, nil})
	end(t, v, sluice.RolledBack, "web:2")
	end(t, watchIt(t, Wanted{}, at{0, s, nil, nil, blind}, at{3, s, nil, nil, nil}), sluice.RolledBack, "web:2")
}

// A deployment that ended before the wait began is not in the list any more. The service's events say how it ended, by its
// id. A failure without an event of a rollback after it was not rolled back.
func TestEndedBeforeTheWaitByItsID(t *testing.T) {
	event := func(text string) diagnosis.Event { return diagnosis.Event{ID: text, Message: text, At: aws} }
	failed := event("(service web) (deployment ecs-svc/3) deployment failed: tasks failed to start.")
	back := event("(service web) rolling back to deployment ecs-svc/2.")
	later := event("(service web) rolling back to deployment ecs-svc/1.")
	done := event("(service web) (deployment ecs-svc/3) deployment completed.")
	other := event("(service web) (deployment ecs-svc/31) deployment failed: tasks failed to start.")
	for name, c := range map[string]struct {
		primary Deployment
		events  []diagnosis.Event // newest first
		outcome sluice.Outcome
		by      string
	}{
		"rolled back":                      {dep(2, "PRIMARY", "COMPLETED", 2), []diagnosis.Event{back, failed}, sluice.RolledBack, "web:2"},
		"rolling back":                     {dep(2, "PRIMARY", "IN_PROGRESS", 1), []diagnosis.Event{back, failed}, "", ""},
		"rolled back, replaced since":      {dep(4, "PRIMARY", "COMPLETED", 2), []diagnosis.Event{back, failed}, sluice.RolledBack, ""},
		"rolled back, and later once more": {dep(1, "PRIMARY", "COMPLETED", 2), []diagnosis.Event{later, back, failed}, sluice.RolledBack, ""},
		"failed without a rollback":        {dep(4, "PRIMARY", "COMPLETED", 2), []diagnosis.Event{failed, later}, sluice.Failed, ""},
		"completed, replaced since":        {dep(4, "PRIMARY", "COMPLETED", 2), []diagnosis.Event{done}, sluice.Superseded, "web:4"},
		"another id":                       {dep(2, "PRIMARY", "COMPLETED", 2), []diagnosis.Event{back, other}, sluice.Gone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := service("", c.primary)
			s.Events = c.events
			v := watchIt(t, Wanted{Deployment: "ecs-svc/3"}, at{0, s, nil, crashes(2, 3), nil}, at{11, s, nil, nil, nil})
			end(t, v, c.outcome, c.by)
			if failed := c.outcome == sluice.RolledBack || c.outcome == sluice.Failed; failed &&
				(!strings.Contains(v.Detail, "web:3") || !strings.Contains(v.Detail, "exit code 1")) {
				t.Errorf("neither the revision nor the cause is named: %s", v.Detail)
			}
		})
	}
}

// What ECS says of room to start and stop tasks is about a deployment that has tasks to
// start or stop.
func TestOnlyADeploymentWithTasksToMoveNeedsRoom(t *testing.T) {
	const noRoom = "(service web) was unable to stop or start tasks during a deployment because of the service " +
		"deployment configuration. Update the minimumHealthyPercent or maximumPercent value and try again."
	for name, c := range map[string]struct {
		mine, other int // running tasks
		want        sluice.Outcome
	}{
		"nothing to move": {2, 0, ""},
		"tasks to start":  {1, 0, sluice.Stalled},
		"tasks to stop":   {2, 1, sluice.Stalled},
	} {
		s := service("", dep(1, "PRIMARY", "IN_PROGRESS", c.mine), dep(2, "ACTIVE", "IN_PROGRESS", c.other))
		s.Events = []diagnosis.Event{{ID: "e1", Message: noRoom, At: aws.Add(90 * time.Second)}}
		if v := watchIt(t, Wanted{Revision: "web:1"}, at{0, s, nil, nil, blind},
			at{5, s, nil, nil, blind}); v.Outcome != c.want {
			t.Errorf("%s: %q, want %q: %s", name, v.Outcome, c.want, v.Detail)
		}
	}
}
