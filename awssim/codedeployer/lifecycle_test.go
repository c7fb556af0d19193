package codedeployer_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestTrafficIsShiftedInSteps(t *testing.T) {
	for name, c := range map[string]struct {
		routing codedeployer.Routing
		shares  string
		takes   time.Duration // at least
	}{
		"all at once": {codedeployer.Routing{}, "0 100", 0},
		"canary":      {codedeployer.Routing{Percent: 10, Every: 5 * time.Minute}, "0 10 100", 5 * time.Minute},
		"linear": {codedeployer.Routing{Linear: true, Percent: 40, Every: time.Minute}, "0 40 80 100",
			2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.group.Settings.Routing = c.routing
			began := b.Clock.Now()
			d := b.start("sim/web:v2")
			b.end(d)
			if took := d.Completed.Sub(began); took < c.takes || took > c.takes+2*time.Minute {
				t.Errorf("it took %s", took)
			}
			b.expect(d, codedeployer.Succeeded, "", servesV2)
			if got := strings.Join(b.shares, " "); got != c.shares {
				t.Errorf("shares %s, want %s", got, c.shares)
			}
			if b.group.Successful != d || events(d) != "" {
				t.Errorf("events %s", events(d))
			}
		})
	}
}

// CodeDeploy writes only rules that forward to its two target groups, and only their weights.
func TestOtherRulesAndSettingsStay(t *testing.T) {
	b := newBench(t)
	others := b.AddGroup("others")
	var mixed *world.Rule
	b.Do(func(tx *world.Tx) {
		l, _ := tx.Listeners.Get(b.production)
		mixed = &world.Rule{ARN: "mixed", Listener: l, Priority: 1, Actions: []world.Action{{Type: "forward",
			Forward: &world.Forward{Groups: []world.Share{{Group: b.pair[0], Weight: 1}, {Group: others, Weight: 1}}}}}}
		tx.AddRule(mixed)
	})
	b.expect(b.start("sim/web:v2"), codedeployer.Succeeded, "", servesV2)
	if text := world.ActionsText(mixed.Actions); strings.Contains(text, "web-b") {
		t.Errorf("the rule of others: %s", text)
	}
	b.Do(func(tx *world.Tx) {
		l, _ := tx.Listeners.Get(b.production)
		if f := l.Default().ForwardAction(); !f.Sticky || f.StickySeconds != 60 {
			t.Errorf("stickiness is lost: %+v", f)
		}
	})
}

// The test listener gets the replacement before production does.
func TestTestTrafficComesFirst(t *testing.T) {
	b := newBench(t)
	b.group.Settings.Test = b.test
	b.Do(func(tx *world.Tx) {
		tx.Functions.Put("check", &world.Function{Name: "check", Result: world.FunctionSucceeds, After: time.Minute})
	})
	d := b.start("sim/web:v2", codedeployer.Hook{Event: "AfterAllowTestTraffic", Function: "check"})
	b.until("the hook", func() bool { return d.Event("AfterAllowTestTraffic").Status == codedeployer.InProgress })
	b.Do(func(tx *world.Tx) {
		l, _ := tx.Listeners.Get(b.test)
		if b.share(l.Default()) != "100" || strings.Join(b.shares, " ") != "0" {
			t.Errorf("test %s, production %v", b.share(l.Default()), b.shares)
		}
	})
	b.expect(d, codedeployer.Succeeded, "", servesV2)
}

// The original task set stays for the wait of the settings, until a person ends the wait, or always.
func TestTheOriginalIsKept(t *testing.T) {
	b := newBench(t)
	b.group.Settings.BlueWait = time.Hour
	d := b.start("sim/web:v2")
	b.until("the wait", func() bool { return d.Terminating })
	b.Run(59 * time.Minute)
	if d.HasEnded() || b.serving() != "sim/web:v1 ACTIVE, sim/web:v2 PRIMARY, 100 percent to web-b, deployed by "+d.ID {
		t.Errorf("during the wait: %s, %s", d.Status, b.serving())
	}
	b.Do(func(tx *world.Tx) {
		if !b.control.TerminateOriginal(tx, d) {
			t.Error("the wait cannot be ended")
		}
	})
	b.Run(time.Second)
	if !d.HasEnded() {
		t.Error("the wait goes on")
	}
	b.expect(d, codedeployer.Succeeded, "", servesV2)
	b.Do(func(tx *world.Tx) {
		if b.control.TerminateOriginal(tx, d) {
			t.Error("an ended deployment was waiting")
		}
	})

	b = newBench(t)
	b.group.Settings.KeepBlue = true
	b.expect(b.start("sim/web:v2"), codedeployer.Succeeded, "",
		"sim/web:v1 ACTIVE, sim/web:v2 PRIMARY, 100 percent to web-b")
}

// A kept task set of an earlier deployment is deleted before the next replacement is created.
func TestLeftTaskSetsAreClearedFirst(t *testing.T) {
	b := newBench(t)
	b.group.Settings.KeepBlue = true
	b.end(b.start("sim/web:v2"))
	b.group.Settings.KeepBlue = false
	next := b.start("sim/web:v3")
	b.until("the replacement", func() bool { return next.Green != nil })
	if n := len(b.service.TaskSets); n != 2 {
		t.Errorf("%d task sets: %s", n, b.serving())
	}
	if next.Blue.Definition.Containers[0].Image != "sim/web:v2" || next.GreenGroup.Name != "web-a" {
		t.Errorf("blue %s, green group %s", next.Blue.ID, next.GreenGroup.Name)
	}
	b.expect(next, codedeployer.Succeeded, "", "sim/web:v3 PRIMARY, 0 percent to web-b")
}

// Each hook is called with the deployment and must report success within an hour.
func TestHooks(t *testing.T) {
	for name, c := range map[string]struct {
		result string // of the function; empty: there is none
		code   string // of the lifecycle event; empty: it succeeds
		takes  time.Duration
	}{
		"it succeeds":   {world.FunctionSucceeds, "", time.Minute},
		"it fails":      {world.FunctionFails, "ScriptFailed", time.Minute},
		"it hangs":      {world.FunctionHangs, "ScriptTimedOut", time.Hour},
		"it is missing": {"", "ScriptMissing", 0},
	} {
		for _, event := range []string{"BeforeInstall", "AfterInstall", "BeforeAllowTraffic", "AfterAllowTraffic"} {
			t.Run(name+"/"+event, func(t *testing.T) {
				b := newBench(t)
				b.group.Settings.RollbackOn = []string{codedeployer.OnFailure}
				b.Do(func(tx *world.Tx) {
					if c.result != "" {
						tx.Functions.Put("check", &world.Function{Name: "check", Result: c.result, After: time.Minute})
					}
				})
				d := b.start("sim/web:v2", codedeployer.Hook{Event: event, Function: "check:live"})
				b.end(d)
				e := d.Event(event)
				if e.Error != c.code || e.End.Sub(e.Start) != c.takes {
					t.Errorf("%s after %s: %s", e.Error, e.End.Sub(e.Start), e.Message)
				}
				if c.code == "" {
					b.expect(d, codedeployer.Succeeded, "", servesV2)
					return
				}
				b.expect(d, codedeployer.Failed, "HOOK_EXECUTION_FAILURE", servesV1)
				if (d.RollbackID != "") != (event != "BeforeInstall") {
					t.Errorf("rolled back by %q: %s", d.RollbackID, d.RollbackMessage)
				}
			})
		}
	}
}

// A report counts once, and only while its event is in progress.
func TestLateReportsOfAHookAreIgnored(t *testing.T) {
	b := newBench(t)
	b.Do(func(tx *world.Tx) {
		tx.Functions.Put("check", &world.Function{Name: "check", Result: world.FunctionHangs})
	})
	d := b.start("sim/web:v2", codedeployer.Hook{Event: "BeforeInstall", Function: "check"})
	b.until("the hook", func() bool { return d.Event("BeforeInstall").Execution != "" })
	execution := d.Event("BeforeInstall").Execution
	b.Do(func(tx *world.Tx) {
		b.control.ReportHook(tx, d, "another", false)
		b.control.ReportHook(tx, d, execution, true)
		b.control.ReportHook(tx, d, execution, false)
	})
	b.expect(d, codedeployer.Succeeded, "", servesV2)
}

// With a ready wait, production traffic is shifted only after ContinueDeployment.
func TestReadyWait(t *testing.T) {
	wait := 30 * time.Minute
	for _, continued := range []bool{true, false} {
		b := newBench(t)
		b.group.Settings.Ready, b.group.Settings.RollbackOn = &wait, []string{codedeployer.OnFailure}
		d := b.start("sim/web:v2")
		b.until("ready", func() bool { return d.Status == codedeployer.Ready })
		b.Run(wait - time.Second)
		if d.Status != codedeployer.Ready || strings.Join(b.shares, " ") != "0" {
			t.Errorf("%s; shares %v", d.Status, b.shares)
		}
		if !continued {
			b.expect(d, codedeployer.Stopped, "TIMEOUT", servesV1)
			continue
		}
		b.Do(func(tx *world.Tx) {
			if !b.control.ContinueDeployment(tx, d) || b.control.ContinueDeployment(tx, d) {
				t.Error("it is continued once")
			}
		})
		b.expect(d, codedeployer.Succeeded, "", servesV2)
	}
}

// A replacement that ECS refuses, or whose tasks are never healthy, gets no request.
func TestReplacementThatDoesNotServe(t *testing.T) {
	b := newBench(t)
	b.ecs.refusal = errors.New("too many task sets")
	d := b.start("sim/web:v2")
	b.expect(d, codedeployer.Failed, "ECS_UPDATE_ERROR", servesV1)
	if !strings.Contains(d.Failure.Message, "too many task sets") {
		t.Errorf("%s", d.Failure.Message)
	}

	b = newBench(t)
	b.group.Settings.RollbackOn = []string{codedeployer.OnFailure}
	d = b.start("sim/web:v2?never-healthy=true")
	b.expect(d, codedeployer.Failed, "TIMEOUT", servesV1)
	if took := d.Completed.Sub(d.Started); took < time.Hour || strings.Join(b.shares, " ") != "0" {
		t.Errorf("after %s; shares %v", took, b.shares)
	}
}
