package codedeployer_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// halfway starts a deployment and returns when half of the requests reach version 2.
func (b *bench) halfway() *codedeployer.Deployment {
	b.t.Helper()
	b.group.Settings.Routing = codedeployer.Routing{Percent: 50, Every: 20 * time.Minute}
	d := b.start("sim/web:v2")
	b.until("half of the requests", func() bool { return d.Weight == 50 })
	return d
}

// A stop rolls back if the caller says so, and otherwise as the settings say.
func TestStop(t *testing.T) {
	yes, no := true, false
	for name, c := range map[string]struct {
		settings []string
		rollback *bool
		rolls    bool
	}{
		"settings that do not roll back": {nil, nil, false},
		"settings that roll back":        {[]string{codedeployer.OnRequest}, nil, true},
		"settings for failures":          {[]string{codedeployer.OnFailure}, nil, false},
		"the caller rolls back":          {nil, &yes, true},
		"the caller does not":            {[]string{codedeployer.OnRequest}, &no, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.group.Settings.RollbackOn = c.settings
			d := b.halfway()
			b.Do(func(tx *world.Tx) {
				b.control.StopDeployment(tx, d, c.rollback)
				b.control.StopDeployment(tx, d, c.rollback)
			})
			if !c.rolls {
				b.expect(d, codedeployer.Stopped, "MANUAL_STOP",
					"sim/web:v1 PRIMARY, sim/web:v2 ACTIVE, 50 percent to web-b")
				return
			}
			b.expect(d, codedeployer.Stopped, "MANUAL_STOP", servesV1)
			var back *codedeployer.Deployment
			b.Do(func(tx *world.Tx) { back, _ = codedeployer.StateOf(tx).Deployments.Get(d.RollbackID) })
			if back == nil || back.Status != codedeployer.Succeeded || back.Creator != codedeployer.ByRollback ||
				back.Triggered != d.ID || b.group.Successful != nil {
				t.Fatalf("the rollback is %+v", back)
			}
			if !strings.HasSuffix(events(d), "AllowTraffic Skipped, AfterAllowTraffic Skipped") {
				t.Errorf("events %s", events(d))
			}
		})
	}
}

// A rollback after all requests have moved makes the original task set PRIMARY again.
func TestRollbackAfterThePromotion(t *testing.T) {
	b := newBench(t)
	b.group.Settings.BlueWait = time.Hour
	d := b.start("sim/web:v2")
	b.until("the wait", func() bool { return d.Terminating })
	yes := true
	b.Do(func(tx *world.Tx) { b.control.StopDeployment(tx, d, &yes) })
	b.expect(d, codedeployer.Stopped, "MANUAL_STOP", servesV1)
}

// An alarm ends a deployment that names it: one that is raised before, during, or unknown.
func TestAlarms(t *testing.T) {
	errorsAlarm, unknown := codedeployer.Alarms{Names: []string{"errors"}}, codedeployer.Alarms{Names: []string{"latency"}}
	others := codedeployer.Alarms{Names: []string{"latency"}, IgnoreUnknown: true}
	raise := func(tx *world.Tx, a *world.Alarm) { tx.SetAlarm(a, world.AlarmRaised, "errors", "") }
	for name, c := range map[string]struct {
		alarms        codedeployer.Alarms
		before, after func(*world.Tx, *world.Alarm)
		rollsBack     bool
		status, code  string
	}{
		"not raised":        {errorsAlarm, nil, nil, true, codedeployer.Succeeded, ""},
		"raised before":     {errorsAlarm, raise, nil, true, codedeployer.Stopped, "ALARM_ACTIVE"},
		"raised during":     {errorsAlarm, nil, raise, true, codedeployer.Stopped, "ALARM_ACTIVE"},
		"another is raised": {others, nil, raise, true, codedeployer.Succeeded, ""},
		"unknown":           {unknown, nil, nil, true, codedeployer.Stopped, "ALARM_ACTIVE"},
		"no rollback":       {errorsAlarm, nil, raise, false, codedeployer.Stopped, "ALARM_ACTIVE"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.group.Settings.Alarms = c.alarms
			b.group.Settings.Routing = codedeployer.Routing{Percent: 50, Every: 20 * time.Minute}
			if c.rollsBack {
				b.group.Settings.RollbackOn = []string{codedeployer.OnAlarm}
			}
			alarm := &world.Alarm{Name: "errors", ARN: "alarm", State: world.AlarmOK}
			b.Do(func(tx *world.Tx) {
				tx.AddAlarm(alarm)
				if c.before != nil {
					c.before(tx, alarm)
				}
			})
			d := b.start("sim/web:v2")
			if c.after != nil {
				b.until("half of the requests", func() bool { return d.Weight == 50 })
				b.Do(func(tx *world.Tx) { c.after(tx, alarm) })
			}
			serves := servesV1
			switch {
			case c.status == codedeployer.Succeeded:
				serves = servesV2
			case !c.rollsBack:
				serves = "sim/web:v1 PRIMARY, sim/web:v2 ACTIVE, 50 percent to web-b"
			}
			b.expect(d, c.status, c.code, serves)
		})
	}
}

// A rollback goes on while the alarm is still raised.
func TestAlarmDoesNotStopARollback(t *testing.T) {
	b := newBench(t)
	b.group.Settings.RollbackOn = []string{codedeployer.OnAlarm}
	b.group.Settings.Alarms.Names = []string{"errors"}
	alarm := &world.Alarm{Name: "errors", ARN: "alarm", State: world.AlarmOK}
	b.Do(func(tx *world.Tx) { tx.AddAlarm(alarm) })
	d := b.halfway()
	b.Do(func(tx *world.Tx) { tx.SetAlarm(alarm, world.AlarmRaised, "errors", "") })
	b.until("the rollback", func() bool {
		return d.RollbackID != "" && b.group.Attempted.Status == codedeployer.InProgress
	})
	b.Do(func(tx *world.Tx) {
		tx.SetAlarm(alarm, world.AlarmOK, "none", "")
		tx.SetAlarm(alarm, world.AlarmRaised, "errors", "")
	})
	b.expect(d, codedeployer.Stopped, "ALARM_ACTIVE", servesV1)
}

// A deployment fails if a resource that it needs is deleted, and is not rolled back then.
func TestResourcesDeletedDuringADeployment(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bench)
		code   string
	}{
		"the application": {func(b *bench) { b.group.Application.Deleted = true }, "APPLICATION_MISSING"},
		"the group":       {func(b *bench) { b.group.Deleted = true }, "DEPLOYMENT_GROUP_MISSING"},
		"the service": {func(b *bench) {
			b.Do(func(tx *world.Tx) { b.ecs.DrainService(tx, b.service) })
		}, "INVALID_ECS_SERVICE"},
		"the controller": {func(b *bench) { b.service.Controller = "EXTERNAL" }, "INVALID_ECS_SERVICE"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.group.Settings.RollbackOn = []string{codedeployer.OnFailure}
			d := b.halfway()
			c.change(b)
			b.end(d)
			if d.Status != codedeployer.Failed || d.Failure.Code != c.code || d.RollbackID != "" ||
				!strings.Contains(d.RollbackMessage, "cannot be rolled back") {
				t.Errorf("%s %+v; rollback %q: %s", d.Status, d.Failure, d.RollbackID, d.RollbackMessage)
			}
			if b.service.DeployedBy != "" {
				t.Errorf("the service is deployed by %s", b.service.DeployedBy)
			}
		})
	}
}

// What is wrong with the target groups and listeners fails the deployment before ECS creates tasks.
func TestRoutesThatCannotBeShifted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bench, *world.Tx)
		text   string
	}{
		"no such target group": {func(b *bench, _ *world.Tx) { b.group.Settings.Pair[1] = "web-c" },
			"The target group web-c does not exist"},
		"the primary is behind another": {func(b *bench, _ *world.Tx) { b.group.Settings.Pair[0] = "others" },
			"target group is none of the deployment group's"},
		"the listener forwards to others": {func(b *bench, tx *world.Tx) {
			l, _ := tx.Listeners.Get(b.production)
			tx.SetActions(l.Default(), []world.Action{{Type: "fixed-response", Fixed: &world.Fixed{Status: 404}}})
		}, "must be behind listener listener-80"},
		"a canary behind a Network Load Balancer": {func(b *bench, tx *world.Tx) {
			l, _ := tx.Listeners.Get(b.production)
			l.Balancer.Type = "network"
			b.group.Settings.Routing = codedeployer.Routing{Percent: 10, Every: time.Minute}
		}, "ECSAllAtOnce only"},
		"the service has no primary": {func(b *bench, _ *world.Tx) { b.blue.Status = "ACTIVE" }, "no PRIMARY task set"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.AddGroup("others")
			b.Do(func(tx *world.Tx) { c.change(b, tx) })
			d := b.start("sim/web:v2")
			b.end(d)
			if d.Status != codedeployer.Failed || !strings.Contains(d.Failure.Message, c.text) ||
				len(b.service.TaskSets) != 1 || len(b.shares) > 1 {
				t.Errorf("%s %+v; %d task sets; shares %v", d.Status, d.Failure, len(b.service.TaskSets), b.shares)
			}
		})
	}
}

func TestTestListenerWithoutAPairRule(t *testing.T) {
	b := newBench(t)
	b.group.Settings.Test, b.group.Settings.RollbackOn = b.test, []string{codedeployer.OnFailure}
	others := b.AddGroup("others")
	b.Do(func(tx *world.Tx) {
		l, _ := tx.Listeners.Get(b.test)
		actions := slices.Clone(l.Default().Actions)
		actions[0].Forward = &world.Forward{Groups: []world.Share{{Group: others, Weight: 1}}}
		tx.SetActions(l.Default(), actions)
	})
	b.expect(b.start("sim/web:v2"), codedeployer.Failed, "ELASTIC_LOAD_BALANCING_INVALID", servesV1)
}

// A service that stays scaled out for five minutes before all requests have moved fails its deployment.
func TestScaleOutDuringADeployment(t *testing.T) {
	for name, c := range map[string]struct {
		back   time.Duration // when the count is restored; 0: never
		status string
	}{
		"it stays":          {0, codedeployer.Failed},
		"it is restored":    {4 * time.Minute, codedeployer.Succeeded},
		"restored too late": {6 * time.Minute, codedeployer.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.group.Settings.RollbackOn = []string{codedeployer.OnFailure}
			d := b.halfway()
			b.Do(func(tx *world.Tx) { b.ecs.SetDesired(tx, b.service, 3) })
			if c.back > 0 {
				b.Run(c.back)
				b.Do(func(tx *world.Tx) { b.ecs.SetDesired(tx, b.service, 2) })
			}
			if c.status == codedeployer.Succeeded {
				b.expect(d, c.status, "", servesV2)
				return
			}
			b.expect(d, c.status, "ECS_UPDATE_ERROR", servesV1)
		})
	}
}
