package verdict

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// lifecycle is a target whose events up to one have succeeded, and which is at that
// one; at "" none has begun, at "end" all are over.
func lifecycle(at, status string) *CodeTarget {
	t := &CodeTarget{Deployment: "d-1", Status: "InProgress", Blue: &CodeSet{ID: "ecs-svc/1", Status: "PRIMARY",
		Weight: 100, Desired: 2, Running: 2}}
	if at == "" {
		t.Status = "Pending"
	}
	done := at != ""
	for _, name := range []string{"BeforeInstall", "Install", "AfterInstall", "BeforeAllowTraffic", "AllowTraffic",
		"AfterAllowTraffic"} {
		e := LifecycleEvent{Name: name, Status: "Pending"}
		switch {
		case name == at:
			e.Status, done = status, false
		case done:
			e.Status = "Succeeded"
		}
		t.Events = append(t.Events, e)
	}
	if e := t.Event("Install"); e.Status != "Pending" {
		t.Green = &CodeSet{ID: "ecs-svc/2", Status: "ACTIVE", Desired: 2}
		if e.Status == "Succeeded" {
			t.Green.Running = 2
		}
	}
	if e := t.Event("AllowTraffic"); e.Status == "Succeeded" {
		t.Green.Weight, t.Blue.Weight = 100, 0
	}
	return t
}

// scene is what AWS shows from a moment on.
type scene struct {
	at      time.Duration
	d, back *CodeDeployment
	t       *CodeTarget
	s       *Service
	fallen  []diagnosis.Stopped
}

func deployed(status, code, message string) *CodeDeployment {
	return &CodeDeployment{ID: "d-1", Status: status, Code: code, Message: message}
}

func with(d *CodeDeployment, change func(*CodeDeployment)) *CodeDeployment {
	change(d)
	return d
}

var standing = &Service{Status: "ACTIVE", Controller: "CODE_DEPLOY", TaskSets: []sluice.TaskSet{
	{ID: "ecs-svc/1", Status: "PRIMARY", Revision: "web:1", Steady: true, Desired: 2, Running: 2},
	{ID: "ecs-svc/2", Status: "ACTIVE", Revision: "web:2", ExternalID: "d-1"}}}

// play shows a judge the scenes as it asks, and returns the verdict, when it came,
// and how many looks it took.
func play(t *testing.T, w Wanted, scenes []scene) (v Verdict, after time.Duration, looks int) {
	t.Helper()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.Deployment = "d-1"
	b, now := FollowCodeDeploy(start, w), start
	now = now.Add(b.FirstInterval())
	var told []diagnosis.Stopped
	for idle := 0; v.State != Ended; looks++ {
		if looks > 10_000 {
			t.Fatalf("no end: %s", v.Detail)
		}
		n := b.Needs(now)
		o := Observation{At: now, Code: CodeObservation{Requested: n}}
		var is scene
		for _, s := range scenes {
			if now.Sub(start) >= s.at {
				is = s
			}
		}
		for _, d := range []*CodeDeployment{is.d, is.back} {
			if d != nil && d.ID == n.Deployment {
				o.Code.Deployment = d
			}
		}
		if n.Target == "d-1" {
			o.Code.Target = is.t
		}
		if n.Service {
			o.Service = is.s
		}
		if n.StoppedTasks && len(told) == 0 {
			o.NewlyStopped, told = is.fallen, is.fallen
		}
		b, v = b.See(o)
		if idle++; v.NextPoll > 0 {
			idle = 0
		}
		if idle > 5 {
			t.Fatalf("it looks over and over: %+v %s", n, v.Detail)
		}
		now = now.Add(v.NextPoll)
	}
	return v, now.Sub(start), looks
}

func TestEndsOfACodeDeployment(t *testing.T) {
	const s = time.Second
	failed := func(code, message string) *CodeDeployment { return deployed("Failed", code, message) }
	rolls := func(d *CodeDeployment) { d.RollbackOn = []string{"DEPLOYMENT_FAILURE"} }
	hook := lifecycle("AfterInstall", "Failed")
	hook.Status, hook.Event("AfterInstall").Function, hook.Event("AfterInstall").Message = "Failed", "look",
		"The function said no"
	crashed := func(n int) (all []diagnosis.Stopped) {
		one := 1
		for i := range n {
			all = append(all, diagnosis.Stopped{StoppedTask: sluice.StoppedTask{ID: fmt.Sprint(i),
				StopCode: "EssentialContainerExited", Container: "web", ExitCode: &one}, Deployment: "ecs-svc/2"})
		}
		return all
	}
	done := lifecycle("end", "")
	done.Status = "Succeeded"
	skipped := lifecycle("Install", "Skipped")
	skipped.Status = "Skipped"
	for name, c := range map[string]struct {
		want    Wanted
		scenes  []scene
		outcome sluice.Outcome
		by      string
		kind    diagnosis.Kind
		words   string
		within  time.Duration // of the last scene
	}{
		"succeeded": {scenes: []scene{{t: lifecycle("Install", "InProgress")},
			{at: 40 * s, t: lifecycle("AllowTraffic", "InProgress")}, {at: 60 * s, t: done}},
			outcome: sluice.Succeeded, words: "web:2 serves, 2 of 2 running", within: 4 * s},
		"succeeded, and the target lags": {scenes: []scene{{t: lifecycle("end", ""), d: deployed("InProgress", "", "")},
			{at: 60 * s, t: lifecycle("end", ""), d: deployed("Succeeded", "", "")}},
			outcome: sluice.Succeeded, within: 4 * s},
		"failed without rollback": {scenes: []scene{{t: lifecycle("Install", "InProgress")},
			{at: 30 * s, t: hook, d: failed("HOOK_EXECUTION_FAILURE", "hooks failed"), s: standing}},
			outcome: sluice.Failed, kind: diagnosis.HookFailed, words: "hook AfterInstall (look): The function said no",
			within: 6 * s},
		"a failure that the deployment shows later than its target": {scenes: []scene{{t: hook,
			d: deployed("InProgress", "", "")},
			{at: 30 * s, t: hook, d: failed("HOOK_EXECUTION_FAILURE", "hooks failed"), s: standing}},
			outcome: sluice.Failed, kind: diagnosis.HookFailed, within: 2 * s},
		"rolled back": {scenes: []scene{{t: lifecycle("AfterInstall", "InProgress")},
			{at: 20 * s, t: hook, d: with(failed("HOOK_EXECUTION_FAILURE", ""), rolls), s: standing},
			{at: 35 * s, t: hook, d: with(failed("HOOK_EXECUTION_FAILURE", ""),
				func(d *CodeDeployment) { d.RollbackID = "d-2" }),
				back: &CodeDeployment{ID: "d-2", Status: "InProgress", RollbackOf: "d-1"}, s: standing},
			{at: 50 * s, t: hook, d: with(failed("HOOK_EXECUTION_FAILURE", ""),
				func(d *CodeDeployment) { d.RollbackID = "d-2" }), back: &CodeDeployment{ID: "d-2", Status: "Succeeded",
				RollbackOf: "d-1"}, s: standing}},
			outcome: sluice.RolledBack, by: "web:1", kind: diagnosis.HookFailed,
			words: "web:2 was rolled back to web:1: hook AfterInstall", within: 5 * s},
		"a rollback that never comes": {scenes: []scene{{t: hook, d: with(failed("HOOK_EXECUTION_FAILURE", ""), rolls),
			s: standing}},
			outcome: sluice.Failed, kind: diagnosis.HookFailed, within: 50 * s},
		"a rollback that CodeDeploy refuses": {scenes: []scene{{t: hook, d: with(failed("HOOK_EXECUTION_FAILURE", ""),
			func(d *CodeDeployment) { rolls(d); d.RollbackMessage = "it cannot be rolled back" }), s: standing}},
			outcome: sluice.Failed, kind: diagnosis.HookFailed, words: "it cannot be rolled back", within: 9 * s},
		"a rollback that fails": {scenes: []scene{{t: hook, d: with(failed("HOOK_EXECUTION_FAILURE", ""),
			func(d *CodeDeployment) { d.RollbackID = "d-2" }),
			back: &CodeDeployment{ID: "d-2", Status: "Failed", Message: "no listener"}, s: standing}},
			outcome: sluice.Failed, kind: diagnosis.HookFailed, words: "its rollback d-2 ended Failed: no listener",
			within: 9 * s},
		"stopped": {scenes: []scene{{t: lifecycle("Install", "InProgress")},
			{at: 20 * s, t: skipped, d: deployed("Stopped", "MANUAL_STOP", "at the request of a user"), s: standing}},
			outcome: sluice.Stopped, words: "at the request of a user", within: 12 * s},
		"stopped by an alarm": {scenes: []scene{{t: skipped, d: deployed("Stopped", "ALARM_ACTIVE", "alarm errors"),
			s: standing}},
			outcome: sluice.Failed, kind: diagnosis.AlarmFired, words: "alarm errors", within: 9 * s},
		"stopped by us, and the rollback is late": {want: Wanted{ExpectsRollback: true},
			scenes: []scene{{t: skipped, d: deployed("Stopped", "MANUAL_STOP", ""), s: standing},
				{at: 25 * s, t: skipped, d: with(deployed("Stopped", "MANUAL_STOP", "x"),
					func(d *CodeDeployment) { d.RollbackID = "d-2" }),
					back: &CodeDeployment{ID: "d-2", Status: "Succeeded"}, s: standing}},
			outcome: sluice.RolledBack, by: "web:1", within: 4 * s},
		"nobody continued": {scenes: []scene{{t: skippedAfter("AfterInstall"),
			d: with(deployed("Stopped", "TIMEOUT", "time is up"), func(d *CodeDeployment) { d.Ready = time.Minute }),
			s: standing}},
			outcome: sluice.Failed, kind: diagnosis.NotContinued,
			words: "it was not continued within 1m0s", within: 9 * s},
		"group deleted": {scenes: []scene{{t: skipped, d: failed("DEPLOYMENT_GROUP_MISSING", "the group was deleted"),
			s: standing}},
			outcome: sluice.Failed, kind: diagnosis.GroupMissing, within: 9 * s},
		"tasks fail over and over": {scenes: []scene{{t: lifecycle("Install", "InProgress"), s: standing,
			fallen: crashed(3)}},
			outcome: sluice.Failed, kind: diagnosis.ExitCode, words: "3 tasks stopped: exit code 1 of container web",
			within: 50 * s},
		"tasks of somebody else fail": {want: Wanted{Deadline: 5 * time.Minute},
			scenes: []scene{{t: lifecycle("Install", "InProgress"), s: standing,
				fallen: []diagnosis.Stopped{{StoppedTask: crashed(1)[0].StoppedTask, Deployment: "ecs-svc/1"},
					{StoppedTask: crashed(2)[1].StoppedTask, Deployment: "ecs-svc/1"},
					{StoppedTask: crashed(3)[2].StoppedTask, Deployment: "ecs-svc/1"}}}},
			outcome: sluice.Stalled, words: "no progress for 5m0s", within: 6 * time.Minute},
		"it stays ready": {want: Wanted{Deadline: time.Minute, Timeout: 30 * time.Minute},
			scenes: []scene{{t: ready(), d: with(deployed("Ready", "", ""),
				func(d *CodeDeployment) { d.Ready = time.Hour })}},
			outcome: sluice.TimedOut, words: "ready: it waits until a user", within: 30*time.Minute + s},
		"a step of traffic takes longer than the deadline": {want: Wanted{Deadline: time.Minute},
			scenes:  []scene{{t: tenPercent()}, {at: 15 * time.Minute, t: done}},
			outcome: sluice.Succeeded, within: 11 * s},
		"a hook hangs": {want: Wanted{Deadline: 10 * time.Minute},
			scenes:  []scene{{t: lifecycle("AfterAllowTraffic", "InProgress")}},
			outcome: sluice.Stalled, words: "last seen: AfterAllowTraffic; web:2: 2 of 2 running, 100% of the traffic",
			within: 11 * time.Minute},
		"unknown": {scenes: []scene{{}}, outcome: sluice.Gone, words: "CodeDeploy has no deployment d-1 here",
			within: 30 * s},
		"forgotten": {scenes: []scene{{t: lifecycle("AfterInstall", "Failed"), d: deployed("InProgress", "", "")},
			{at: 20 * s}},
			outcome: sluice.Gone, words: "CodeDeploy has no deployment d-1 here", within: 30 * s},
		"hard limit": {want: Wanted{Timeout: time.Minute}, scenes: []scene{{t: lifecycle("Install", "InProgress")}},
			outcome: sluice.TimedOut, words: "1m0s passed; last seen: Install; web:2: 0 of 2 running",
			within: time.Minute},
		"its reads take longer than the hard limit": {want: Wanted{Timeout: time.Nanosecond},
			scenes:  []scene{{t: skipped, d: failed("DEPLOYMENT_GROUP_MISSING", "the group was deleted"), s: standing}},
			outcome: sluice.Failed, kind: diagnosis.GroupMissing, within: 9 * s},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.want
			w.Revision, w.JustCreated = "web:2", true
			v, after, looks := play(t, w, c.scenes)
			if v.Outcome != c.outcome || v.By != c.by || v.Cause.Kind != c.kind ||
				!strings.Contains(v.Detail, c.words) {
				t.Errorf("%s by %q for %q: %s", v.Outcome, v.By, v.Cause.Kind, v.Detail)
			}
			last := c.scenes[len(c.scenes)-1].at
			if after-last > c.within {
				t.Errorf("%s after the end, in %d looks", after-last, looks)
			}
			if (v.Outcome == sluice.Succeeded) != (v.Next == "") {
				t.Errorf("next: %q", v.Next)
			}
		})
	}
}

// skippedAfter is a target that was stopped when that event was over.
func skippedAfter(name string) *CodeTarget {
	t := lifecycle(name, "Succeeded")
	t.Status = "Skipped"
	for i := range t.Events {
		if t.Events[i].Status == "Pending" {
			t.Events[i].Status = "Skipped"
		}
	}
	return t
}

func ready() *CodeTarget {
	t := lifecycle("AfterInstall", "Succeeded")
	t.Status = "Ready"
	return t
}

func tenPercent() *CodeTarget {
	t := lifecycle("AllowTraffic", "InProgress")
	t.Green.Weight, t.Blue.Weight = 10, 90
	return t
}

func TestCausesThatCodeDeployNames(t *testing.T) {
	for code, kind := range map[string]diagnosis.Kind{"HOOK_EXECUTION_FAILURE": diagnosis.HookFailed,
		"ALARM_ACTIVE":        diagnosis.AlarmFired,
		"APPLICATION_MISSING": diagnosis.GroupMissing,
		"INVALID_ECS_SERVICE": diagnosis.GroupMissing, "IAM_ROLE_PERMISSIONS": diagnosis.GroupRole,
		"ELASTIC_LOAD_BALANCING_INVALID": diagnosis.GroupRoutes, "ECS_UPDATE_ERROR": diagnosis.ECSRefused,
		"THROTTLED": diagnosis.Throttled, "TIMEOUT": diagnosis.SlowStart, "INTERNAL_ERROR": diagnosis.OtherCause} {
		c, ok := codeDeployCause(deployed("Failed", code, "why."), nil)
		if !ok || c.Kind != kind || c.Text != "why" || kind.Advice() == "" {
			t.Errorf("%s: %+v", code, c)
		}
	}
	if c, ok := codeDeployCause(deployed("Stopped", "MANUAL_STOP", "why"), nil); ok {
		t.Errorf("a person's stop has the cause %+v", c)
	}
}

// TestAnythingIsJudged: whatever AWS shows, in whatever order, a judge does not look
// over and over without a pause, ends at its limit at the latest, and stays with the
// end that it has found.
func TestAnythingIsJudged(t *testing.T) {
	statuses := []string{"Created", "InProgress", "Ready", "Succeeded", "Failed", "Stopped", "Baking", "Queued"}
	codes := []string{"", "MANUAL_STOP", "TIMEOUT", "ALARM_ACTIVE", "HOOK_EXECUTION_FAILURE"}
	events := []string{"", "BeforeInstall", "Install", "AfterInstall", "AllowTraffic", "AfterAllowTraffic", "end"}
	rapid.Check(t, func(r *rapid.T) {
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		began, limit := now, 10*time.Minute
		b := FollowCodeDeploy(now, Wanted{Deployment: "d-1", Timeout: limit, Deadline: 5 * time.Minute,
			Revision: rapid.SampledFrom([]string{"", "web:2"}).Draw(r, "revision")})
		idle := 0
		for {
			n := b.Needs(now)
			o := Observation{At: now, Code: CodeObservation{Requested: n}}
			if n.Deployment != "" && rapid.Bool().Draw(r, "known") {
				o.Code.Deployment = &CodeDeployment{ID: n.Deployment, Status: rapid.SampledFrom(statuses).Draw(r,
					"status"), Code: rapid.SampledFrom(codes).Draw(r, "code"),
					RollbackOn: rapid.SampledFrom([][]string{nil, {"DEPLOYMENT_FAILURE"}}).Draw(r, "on"),
					RollbackID: rapid.SampledFrom([]string{"", "d-2"}).Draw(r, "back")}
			}
			if n.Target != "" && rapid.Bool().Draw(r, "target") {
				o.Code.Target = lifecycle(rapid.SampledFrom(events).Draw(r, "at"),
					rapid.SampledFrom([]string{"InProgress", "Failed", "Succeeded", "Skipped"}).Draw(r, "so"))
				o.Code.Target.Deployment = n.Target
			}
			if n.Service && rapid.Bool().Draw(r, "service") {
				o.Service = standing
			}
			var v Verdict
			b, v = b.See(o)
			if v.State == Ended {
				again, w := b.See(Observation{At: now.Add(time.Minute),
					Code: CodeObservation{Deployment: deployed("InProgress", "", "")}})
				if w.Outcome != v.Outcome || again.Needs(now) != (CodeNeeds{}) {
					r.Fatalf("%s became %s", v.Outcome, w.Outcome)
				}
				return
			}
			if idle++; v.NextPoll > 0 {
				idle = 0
			}
			if idle > 6 {
				r.Fatalf("it looks over and over: %+v", n)
			}
			now = now.Add(v.NextPoll)
			if now.Sub(began) > limit {
				r.Fatalf("it goes on after its limit: %s", v.Detail)
			}
		}
	})
}

func TestEventsSinceALook(t *testing.T) {
	old, now := lifecycle("Install", "InProgress"), lifecycle("AfterInstall", "InProgress")
	var names []string
	for _, e := range now.ChangedSince(old) {
		names = append(names, e.Name+" "+e.Status)
	}
	if want := []string{"Install Succeeded", "AfterInstall InProgress"}; !slices.Equal(names, want) {
		t.Error(names)
	}
	if news := old.ChangedSince(nil); len(news) != 2 {
		t.Errorf("%+v", news)
	}
}
