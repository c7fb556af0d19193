package verdict_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	. "github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// The false successes and misses that users of other tools know, judged here.

var (
	rolling3 = service(arn3, dep(3, "PRIMARY", "IN_PROGRESS", 0), dep(2, "ACTIVE", "COMPLETED", 2))
	back2    = service(arn3, dep(2, "PRIMARY", "COMPLETED", 2))
	runs3    = []Record{record(arn3, "IN_PROGRESS", 3, 2)}
)

func rolledBack3(to string) []Record {
	r := record(arn3, "ROLLBACK_SUCCESSFUL", 3, 2)
	r.BackTo = to
	return []Record{r}
}

// sameRevision is a deployment of web:2 over web:2, and its rollback.
func sameRevision() (rolling, back *Service, runs, over []Record) {
	again := dep(3, "PRIMARY", "IN_PROGRESS", 0)
	again.Revision = "web:2"
	r := record(arn3, "IN_PROGRESS", 2, 2)
	r.CreatedAt = again.CreatedAt
	done := r
	done.Status, done.BackTo = "ROLLBACK_SUCCESSFUL", "web:2"
	return service(arn3, again, dep(2, "ACTIVE", "COMPLETED", 2)), service(arn3, dep(2, "PRIMARY", "COMPLETED", 2)),
		[]Record{r}, []Record{done}
}

func TestFalseSuccess1BreakerRolledBack(t *testing.T) {
	end(t, watchIt(t, Wanted{}, at{0, rolling3, runs3, nil, nil}, at{60, back2, rolledBack3("web:2"), nil, nil}),
		sluice.RolledBack, "web:2")
}

func TestFalseSuccess2SameRevisionRolledBack(t *testing.T) {
	rolling, back, runs, over := sameRevision()
	v := watchIt(t, Wanted{Revision: "web:2"}, at{0, rolling, runs, nil, nil}, at{60, back, over, nil, nil})
	end(t, v, sluice.RolledBack, "web:2")
	if !strings.Contains(v.Detail, "an earlier deployment of the same revision serves again") {
		t.Error(v.Detail)
	}
	// Before the wait, and without history: the deployment's id tells.
	end(t, watchIt(t, Wanted{Revision: "web:2"}, at{0, back, over, nil, nil}, at{3, back, over, nil, nil}),
		sluice.RolledBack, "web:2")
	end(t, watchIt(t, Wanted{}, at{0, rolling, nil, nil, blind}, at{60, back, nil, nil, nil}), sluice.RolledBack,
		"web:2")
}

func TestFalseSuccess3StableAfterRollback(t *testing.T) {
	end(t, watchIt(t, Wanted{}, at{0, rolling3, nil, nil, blind}, at{33, back2, nil, nil, nil}), sluice.RolledBack,
		"web:2")
}

func TestFalseSuccess4DeploymentBegunBeforeTheWait(t *testing.T) {
	end(t, watchIt(t, Wanted{}, at{0, rolling3, runs3, nil, nil}, at{12, rolling3, runs3, nil, nil},
		at{15, rolling3, nil, nil, nil}), "", "")
}

func TestFalseSuccess5ClientClockAhead(t *testing.T) {
	for _, skew := range []time.Duration{-30 * time.Second, 30 * time.Second, -24 * time.Hour, 24 * time.Hour} {
		r := FollowService(aws.Add(3*time.Minute+skew), Wanted{Revision: "web:3"})
		r, v := r.See(Observation{At: aws.Add(3*time.Minute + skew), Service: rolling3, Records: runs3})
		end(t, v, "", "")
		_, v = r.See(Observation{At: aws.Add(4*time.Minute + skew), Service: back2, Records: rolledBack3("web:2")})
		end(t, v, sluice.RolledBack, "web:2")
	}
}

func TestFalseSuccess6FinishedWithinSeconds(t *testing.T) {
	done, records := service(arn3, dep(3, "PRIMARY", "COMPLETED", 2)), []Record{record(arn3, "SUCCESSFUL", 3, 2)}
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, done, records, nil, nil}), sluice.Succeeded, "")
	end(t, watchIt(t, Wanted{Deployment: arn3}, at{0, done, records, nil, nil}), sluice.Succeeded, "")
}

func TestFalseSuccess7CrashLoopWithoutBreaker(t *testing.T) {
	v := watchIt(t, Wanted{}, at{0, rolling3, runs3, nil, nil}, at{20, rolling3, nil, crashes(3, 3), nil})
	end(t, v, sluice.Failed, "")
	if v.Cause.Kind != diagnosis.ExitCode || v.Cause.Count != 3 || v.Cause.Task == "" {
		t.Errorf("%+v", v.Cause)
	}
}

func TestFalseSuccess8TimeoutToThePoll(t *testing.T) {
	r := FollowService(ours, Wanted{Timeout: 45 * time.Second})
	r, v := r.See(Observation{At: ours, Service: rolling3, Records: runs3})
	now := ours
	for v.Outcome == "" {
		now = now.Add(v.NextPoll)
		r, v = r.See(Observation{At: now, Service: rolling3})
	}
	if d := now.Sub(ours); d != 45*time.Second || v.Outcome != sluice.TimedOut || v.Outcome.ExitCode() != 9 {
		t.Errorf("%s after %s", v.Outcome, d)
	}
	if !strings.Contains(v.Detail, "web:3: 0 of 2 running; web:2: 2 running") {
		t.Error(v.Detail)
	}
}

func TestFalseSuccess9TransientErrors(t *testing.T) {
	// The record could not be read at several looks: the wait goes on.
	end(t, watchIt(t, Wanted{Deployment: arn3}, at{0, rolling3, runs3, nil, nil}, at{5, rolling3, nil, nil, nil},
		at{60, back2, nil, nil, nil}), "", "")
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, rolling3, nil, nil, nil}, at{2, rolling3, runs3, nil, nil},
		at{60, back2, rolledBack3("web:2"), nil, nil}), sluice.RolledBack, "web:2")
}

func TestFalseSuccess10BeginsAgainWhereItWas(t *testing.T) {
	first := watchIt(t, Wanted{}, at{0, rolling3, runs3, nil, nil})
	v := watchIt(t, Wanted{Deployment: first.Deployment}, at{0, back2, rolledBack3("web:2"), nil, nil})
	end(t, v, sluice.RolledBack, "web:2")
}

// The twelve points in which a known wait tool falls short. The fourth, names in
// different forms, is tested where names are read, in package watch.

func TestPoint1FailureIsNamedBeforeTheRollbackIsOver(t *testing.T) {
	r := record(arn3, "ROLLBACK_IN_PROGRESS", 3, 2)
	r.BackTo, r.RollbackReason = "web:2", "circuit breaker: tasks failed to start."
	again := dep(2, "PRIMARY", "IN_PROGRESS", 2)
	v := watchIt(t, Wanted{}, at{0, rolling3, runs3, nil, nil},
		at{20, service(arn3, again, dep(3, "ACTIVE", "FAILED", 0)), []Record{r}, crashes(3, 3), nil})
	end(t, v, "", "")
	if v.Cause.Kind != diagnosis.ExitCode ||
		!strings.Contains(v.Detail, "rolling back to web:2: circuit breaker: tasks failed to start") {
		t.Errorf("%+v", v)
	}
}

func TestPoint2TimeoutReportsTheRollback(t *testing.T) {
	r := record(arn3, "ROLLBACK_IN_PROGRESS", 3, 2)
	r.BackTo = "web:2"
	draining := service(arn3, dep(2, "PRIMARY", "IN_PROGRESS", 2), dep(3, "ACTIVE", "FAILED", 0))
	v := watchIt(t, Wanted{Timeout: 3 * time.Minute}, at{0, draining, []Record{r}, nil, nil},
		at{180, draining, nil, nil, nil})
	end(t, v, sluice.TimedOut, "")
	if !strings.Contains(v.Detail, "rolling back to web:2") {
		t.Error(v.Detail)
	}
}

func TestPoint3SameRevisionRollbackIsSeen(t *testing.T) { TestFalseSuccess2SameRevisionRolledBack(t) }

func TestPoint5StaleFirstRead(t *testing.T) {
	before, records := service(arn2, dep(2, "PRIMARY", "COMPLETED", 2)), []Record{record(arn2, "SUCCESSFUL", 2, 1)}
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, before, records, nil, nil}, at{2, rolling3, runs3, nil, nil}),
		"", "")
	end(t, watchIt(t, Wanted{}, at{0, before, records, nil, nil}, at{1, rolling3, runs3, nil, nil},
		at{60, back2, rolledBack3("web:2"), nil, nil}), sluice.RolledBack, "web:2")
	end(t, watchIt(t, Wanted{}, at{0, before, records, nil, nil}, at{9, before, nil, nil, nil}), "", "")
	end(t, watchIt(t, Wanted{}, at{0, before, records, nil, nil}, at{10, before, nil, nil, nil}), sluice.Succeeded, "")
}

// A deployment of what serves was just started, and the first read is from before it: it shows the deployment
// before, still in progress. The end of that one is no success, neither soon after nor when the next read
// shows the new one rolled back to the same revision.
func TestDeploymentBeforeTheOneJustStarted(t *testing.T) {
	again := Wanted{Revision: "web:3", JustStarted: true}
	done3 := service(arn3, dep(3, "PRIMARY", "COMPLETED", 2))
	ended3 := record(arn3, "SUCCESSFUL", 3, 2)
	end(t, watchIt(t, again, at{0, rolling3, runs3, nil, nil}, at{3, done3, []Record{ended3}, nil, nil}), "", "")
	end(t, watchIt(t, again, at{0, rolling3, runs3, nil, nil}, at{3, done3, []Record{ended3}, nil, nil},
		at{10, done3, []Record{ended3}, nil, nil}), sluice.Succeeded, "")
	forced := record(arn4, "ROLLBACK_SUCCESSFUL", 3, 3)
	forced.BackTo = "web:3"
	back := service(arn4, dep(3, "PRIMARY", "COMPLETED", 2))
	end(t, watchIt(t, again, at{0, rolling3, runs3, nil, nil}, at{12, back, []Record{ended3, forced}, nil, nil},
		at{14, back, []Record{ended3, forced}, nil, nil}), sluice.RolledBack, "web:3")
}

func TestPoint6TwoUpdatesInARow(t *testing.T) {
	newer := service(arn4, dep(4, "PRIMARY", "IN_PROGRESS", 0), dep(3, "ACTIVE", "IN_PROGRESS", 1),
		dep(2, "ACTIVE", "COMPLETED", 1))
	both := []Record{record(arn3, "STOP_REQUESTED", 3, 2), record(arn4, "IN_PROGRESS", 4, 3)}
	end(t, watchIt(t, Wanted{}, at{0, rolling3, runs3, nil, nil}, at{9, newer, both, nil, nil}), sluice.Superseded,
		"web:4")
	again := dep(4, "PRIMARY", "IN_PROGRESS", 0)
	again.Revision = "web:3"
	r4 := record(arn4, "IN_PROGRESS", 4, 3)
	r4.Revision = "web:3"
	// Who waits for the revision goes on with the newer deployment of it.
	s := service(arn4, again, dep(3, "ACTIVE", "IN_PROGRESS", 1))
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, rolling3, runs3, nil, nil},
		at{9, s, []Record{both[0], r4}, nil, nil}), "", "")
	done := again
	done.State, done.Running = "COMPLETED", 2
	r4done := r4
	r4done.Status = "SUCCESSFUL"
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, rolling3, runs3, nil, nil},
		at{9, s, []Record{both[0], r4}, nil, nil},
		at{60, service(arn4, done), []Record{r4done}, nil, nil}), sluice.Succeeded, "")
}

func TestPoint7DesiredCountZeroIsNoSuccess(t *testing.T) { TestGoneAndZero(t) }

func TestPoint8NoBreakerIsNeeded(t *testing.T) { TestFalseSuccess7CrashLoopWithoutBreaker(t) }

func TestPoint8AWSsWordsAreNotNeeded(t *testing.T) { // statuses decide, texts only explain
	r := record(arn3, "ROLLBACK_SUCCESSFUL", 3, 2)
	r.Reason = "Quelque chose s'est mal passé"
	end(t, watchIt(t, Wanted{Deployment: arn3}, at{0, back2, []Record{r}, nil, nil}), sluice.RolledBack, "web:2")
}

func TestPoint9NothingSticks(t *testing.T) { // a second wait reads anew
	failed := watchIt(t, Wanted{}, at{0, rolling3, runs3, nil, nil}, at{20, rolling3, nil, crashes(3, 3), nil})
	end(t, failed, sluice.Failed, "")
	end(t, watchIt(t, Wanted{Revision: "web:3"}, at{0, service(arn3, dep(3, "PRIMARY", "COMPLETED", 2)),
		[]Record{record(arn3, "SUCCESSFUL", 3, 2)}, nil, nil}), sluice.Succeeded, "")
}

func TestPoint10AWaitCanBeTakenUpAgain(t *testing.T) { TestFalseSuccess10BeginsAgainWhereItWas(t) }

func TestPoint11NativeStrategyIsNotDoneBeforeItsBake(t *testing.T) {
	s := service(arn3, dep(3, "PRIMARY", "COMPLETED", 2), dep(2, "ACTIVE", "COMPLETED", 2))
	s.Strategy = "BLUE_GREEN"
	r := record(arn3, "IN_PROGRESS", 3, 2)
	r.Stage = "BAKE_TIME"
	end(t, watchIt(t, Wanted{}, at{0, s, []Record{r}, nil, nil}, at{600, s, []Record{r}, nil, nil}), "", "")
	if n := follow(t, at{0, s, []Record{r}, nil, nil}).Needs(s, ours.Add(11*time.Second)); len(n.Records) != 1 {
		t.Error("the record of a native strategy is not read again")
	}
}

func TestPoint12PrimaryIsTheNewest(t *testing.T) {
	end(t, watchIt(t, Wanted{}, at{0, rolling3, nil, nil, blind}, at{10, service("", dep(3, "PRIMARY", "COMPLETED", 2)),
		nil, nil, nil}), sluice.Succeeded, "")
}

func follow(t testing.TB, looks ...at) ServiceFollower {
	t.Helper()
	r := FollowService(ours, Wanted{})
	for _, l := range looks {
		r, _ = r.See(Observation{At: ours.Add(time.Duration(l.seconds) * time.Second), Service: l.service,
			Records: l.records, NewlyStopped: l.fallen})
	}
	return r
}

// Deaths of another variant withhold a success until the tasks are stable. They end no wait, however many there are.
func TestDeathsOfAnotherVariant(t *testing.T) {
	serves := service(arn3, dep(3, "PRIMARY", "COMPLETED", 2))
	var deaths []diagnosis.Stopped
	for _, id := range []string{"a", "b", "c", "d"} {
		deaths = append(deaths, diagnosis.Stopped{StoppedTask: sluice.StoppedTask{ID: id,
			StopCode: "EssentialContainerExited", StartedAt: aws, StoppedAt: aws.Add(45 * time.Second)}, Revision: "web:3",
			Deployment: "ecs-svc/9"})
	}
	want := Wanted{Revision: "web:3", Serving: true}
	end(t, watchIt(t, want, at{0, serves, nil, nil, blind}), sluice.Succeeded, "")
	want.Deaths = deaths
	v := watchIt(t, want, at{0, serves, nil, nil, blind}, at{89, serves, nil, nil, nil})
	if v.State != Progressing || !strings.Contains(v.Withheld, "4 tasks stopped by themselves: success needs 1m30s") {
		t.Errorf("%v %s: %s", v.State, v.Outcome, v.Withheld)
	}
	end(t, watchIt(t, want, at{0, serves, nil, nil, blind}, at{90, serves, nil, nil, nil}), sluice.Succeeded, "")
	want.Deaths[0].StopCode = "UserInitiated" // by a person
	want.Deaths = want.Deaths[:1]
	end(t, watchIt(t, want, at{0, serves, nil, nil, blind}), sluice.Succeeded, "")
}

// ECS starts the replacement of an unhealthy task before it stops that one. Both run then, and a success waits until
// the end of the unhealthy one has been read.
func TestUnhealthyTaskThatStillRuns(t *testing.T) {
	running := func(n int) *Service { return service(arn3, dep(3, "PRIMARY", "COMPLETED", n)) }
	short, both, serves := running(1), running(3), running(2)
	want := Wanted{Revision: "web:3", Serving: true}
	v := watchIt(t, want, at{0, short, nil, nil, blind}, at{30, both, nil, nil, nil})
	if v.State != Progressing || !strings.Contains(v.Withheld, "its end has not been read") {
		t.Errorf("%v %s: %s", v.State, v.Outcome, v.Withheld)
	}
	sick := []diagnosis.Stopped{{StoppedTask: sluice.StoppedTask{ID: "a", StopCode: "ServiceSchedulerInitiated",
		StoppedReason: "Task failed container health checks", StartedAt: aws, StoppedAt: aws.Add(50 * time.Second)},
		Revision: "web:3", Deployment: "ecs-svc/3"}}
	v = watchIt(t, want, at{0, short, nil, nil, blind}, at{30, both, nil, nil, nil}, at{60, serves, nil, sick, nil})
	if v.State != Progressing || !strings.Contains(v.Withheld, "1 task stopped by itself: success needs 1m40s") {
		t.Errorf("%v %s: %s", v.State, v.Outcome, v.Withheld)
	}
}

// A canary of the revision stays beside the PRIMARY task set. A task of it is replaced, although those of the PRIMARY set
// run: they may fail next, for the same reason. A canary that is scaled out is no doubt.
func TestCanaryTaskThatIsReplacedBesideThePrimary(t *testing.T) {
	sets := func(desired, pending int) *Service {
		return &Service{Status: "ACTIVE", Controller: "EXTERNAL", Desired: 2, TaskSets: []sluice.TaskSet{
			{ID: "ecs-svc/1", Status: "PRIMARY", Revision: "web:3", Desired: 2, Running: 2, Steady: true},
			{ID: "ecs-svc/2", Status: "ACTIVE", Revision: "web:3", Desired: desired, Running: 1, Pending: pending}}}
	}
	want := Wanted{Revision: "web:3", Serving: true}
	end(t, watchIt(t, want, at{0, sets(1, 0), nil, nil, blind}), sluice.Succeeded, "")
	end(t, watchIt(t, want, at{0, sets(2, 1), nil, nil, blind}), sluice.Succeeded, "")
	v := watchIt(t, want, at{0, sets(1, 1), nil, nil, blind})
	if v.State != Progressing || !strings.Contains(v.Withheld, "its end has not been read") {
		t.Errorf("%v %s: %s", v.State, v.Outcome, v.Withheld)
	}
}

// Tasks of the former version were killed while it was being replaced. They say nothing about the rollback that restores
// it later: only those that stop after its begin do. A success waits until the tasks are stable.
func TestDeathsBeforeARollback(t *testing.T) {
	code := 137
	killed := func(from time.Duration) (all []diagnosis.Stopped) {
		for _, id := range []string{"a", "b", "c"} {
			all = append(all, diagnosis.Stopped{StoppedTask: sluice.StoppedTask{ID: id, StopCode: "EssentialContainerExited",
				StartedAt: aws, StoppedAt: aws.Add(from), Container: "web", ExitCode: &code},
				Revision: "web:2", Deployment: "ecs-svc/2"})
		}
		return all
	}
	restores := service(arn3, dep(2, "PRIMARY", "IN_PROGRESS", 0), dep(3, "ACTIVE", "FAILED", 2))
	restores.Events = []diagnosis.Event{{ID: "1", At: aws.Add(time.Minute),
		Message: "(service web) rolling back to deployment ecs-svc/2."}}
	want := Wanted{Revision: "web:2", Deployment: "ecs-svc/2"}
	if v := watchIt(t, want, at{60, restores, nil, killed(16 * time.Second), blind}); v.State != Progressing {
		t.Errorf("tasks that stopped before the rollback: %s %s", v.Outcome, v.Detail)
	}
	end(t, watchIt(t, want, at{60, restores, nil, killed(61 * time.Second), blind}), sluice.Failed, "")
}
