package scheduler_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func (b *bench) alarm(name, state string) {
	b.Do(func(tx *world.Tx) {
		if a, ok := tx.Alarms.Get(name); ok {
			tx.SetAlarm(a, state, "", "")
			return
		}
		tx.AddAlarm(&world.Alarm{Name: name, State: state, Period: time.Minute, EvaluationPeriods: 3})
	})
}

func watched(rollback bool) scheduler.Rules {
	return scheduler.Rules{Alarms: scheduler.Alarms{Enable: true, Rollback: rollback,
		Names: []string{"5xx", "latency", "nobody-made-it"}}}
}

func TestAnAlarmEndsARollout(t *testing.T) {
	for _, rollback := range []bool{true, false} {
		b, svc, one := rolling(t, 2, watched(rollback))
		b.alarm("latency", "OK")
		two := b.set(svc, "sim/web:v2", 100)
		b.Run(45 * time.Second)
		b.alarm("latency", "ALARM")
		r := b.newest(svc)
		b.until("the end", time.Hour, r.HasEnded)
		want := map[bool]string{true: "ROLLBACK_SUCCESSFUL", false: "STOPPED"}[rollback]
		if m := r.Alarms(); r.Status != want || m.Status != "TRIGGERED" || len(m.Raised) != 1 ||
			m.Raised[0] != "latency" {
			t.Errorf("rollback=%v: %s %+v", rollback, r.Status, m)
		}
		if two.RolloutState != "FAILED" ||
			told(svc, "(deployment "+two.ID+") deployment failed: alarm detected.") != 1 ||
			rollback != (svc.Primary() == one) {
			t.Errorf("rollback=%v: %s, %v", rollback, two.RolloutState, svc.Events)
		}
	}
}

func TestAnAlarmDuringTheBakeBringsBackWhatWasGone(t *testing.T) {
	b, svc, one := rolling(t, 2, watched(true))
	b.alarm("5xx", "INSUFFICIENT_DATA")
	two := b.set(svc, "sim/web:v2", 100)
	b.until("the old tasks are gone", 20*time.Minute, func() bool { return one.Status == "INACTIVE" })
	b.Run(2 * time.Minute)
	if two.RolloutState != "IN_PROGRESS" || b.newest(svc).Status != "IN_PROGRESS" || told(svc, "steady state") != 1 {
		t.Fatalf("%s during the bake", two.RolloutState)
	}
	b.alarm("5xx", "ALARM")
	b.status(svc, "ROLLBACK_SUCCESSFUL")
	if svc.Primary() != one || one.RolloutState != "COMPLETED" || len(svc.TaskSets) != 1 ||
		b.targets().Count("healthy") != 2 {
		t.Errorf("%s, %d deployments", one.RolloutState, len(svc.TaskSets))
	}
}

func TestTheBakeIsAsLongAsTheAlarmsNeed(t *testing.T) {
	for _, c := range []struct {
		rules scheduler.Rules
		want  time.Duration
	}{
		{watched(true), 3 * time.Minute},
		{scheduler.Rules{Alarms: scheduler.Alarms{Enable: true, Names: []string{"nobody-made-it"}}}, time.Minute},
		{scheduler.Rules{Bake: 10 * time.Minute}, 10 * time.Minute},
		{scheduler.Rules{Alarms: scheduler.Alarms{Names: []string{"5xx"}}}, 0},
	} {
		b, svc, one := rolling(t, 1, c.rules)
		b.alarm("5xx", "OK")
		two := b.set(svc, "sim/web:v2", 100)
		b.until("the old tasks are gone", 20*time.Minute, func() bool { return one.Status == "INACTIVE" })
		gone := b.Clock.Now()
		b.until("completed", time.Hour, func() bool { return two.RolloutState == "COMPLETED" })
		if d := b.Clock.Now().Sub(gone); d < c.want || d > c.want+11*time.Second {
			t.Errorf("%+v: baked %s, want %s", c.rules, d, c.want)
		}
	}
}

func TestAnAlarmRaisedBeforeIsIgnored(t *testing.T) {
	b, svc, _ := rolling(t, 1, watched(true))
	b.alarm("5xx", "ALARM")
	b.set(svc, "sim/web:v2", 100)
	b.Run(40 * time.Second)
	b.alarm("5xx", "OK")
	b.Run(20 * time.Second)
	b.alarm("5xx", "ALARM")
	r := b.status(svc, "SUCCESSFUL")
	if m := r.Alarms(); m.Status != "MONITORING_COMPLETE" || len(m.Raised) != 0 {
		t.Errorf("%+v", m)
	}
	b.alarm("latency", "ALARM")
	b.Run(10 * time.Minute)
	if r.Status != "SUCCESSFUL" || svc.Primary().RolloutState != "COMPLETED" {
		t.Errorf("an alarm after the end: %s", r.Status)
	}
}

func TestEarlySuccess(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		rules := scheduler.Rules{Early: scheduler.Early{Enable: true, HealthyPercent: 50, Deferred: deferred}}
		b, svc, one := rolling(t, 4, rules)
		svc.MinPercent, svc.MaxPercent = 50, 125
		two := b.set(svc, "sim/web:v2", 100)
		r, low := b.newest(svc), 4
		b.until("success", time.Hour, func() bool {
			low = min(low, b.targets().Count("healthy"))
			return r.Status == "SUCCESSFUL"
		})
		if n := running(two); n >= 4 && deferred || low < 2 {
			t.Errorf("deferred=%v: %d tasks at the success, %d healthy at least", deferred, n, low)
		}
		if deferred != (one.Status == "ACTIVE") {
			t.Errorf("deferred=%v: the former deployment is %s", deferred, one.Status)
		}
		b.until("steady", time.Hour, func() bool { return told(svc, "has reached a steady state") == 2 })
		if running(two) != 4 || len(svc.TaskSets) != 1 || r.Status != "SUCCESSFUL" {
			t.Errorf("deferred=%v: %d run, %d deployments", deferred, running(two), len(svc.TaskSets))
		}
	}
}

func TestNoRollbackAfterAnEarlySuccess(t *testing.T) {
	rules := on(true)
	rules.Early = scheduler.Early{Enable: true, HealthyPercent: 50, Deferred: true}
	b, svc, _ := rolling(t, 2, rules)
	svc.MinPercent, svc.MaxPercent = 50, 150
	two := b.set(svc, "sim/web:v2", 100)
	r := b.status(svc, "SUCCESSFUL")
	for range 8 {
		b.Run(time.Minute)
		b.Do(func(tx *world.Tx) {
			for _, x := range two.Tasks {
				b.law.CrashTask(tx, x, 1)
			}
		})
	}
	if r.Status != "SUCCESSFUL" || svc.Primary() != two || two.RolloutState != "COMPLETED" {
		t.Errorf("%s %s", r.Status, two.RolloutState)
	}
}

func TestRolloutsAreKeptForNinetyDays(t *testing.T) {
	b, svc, _ := rolling(t, 1, scheduler.Rules{})
	for _, days := range []time.Duration{1, 60, 60} {
		b.Run(days * 24 * time.Hour)
		b.set(svc, "sim/web:v2", 100)
		b.status(svc, "SUCCESSFUL")
	}
	if n := len(scheduler.RolloutsOf(svc)); n != 2 {
		t.Errorf("%d rollouts, want the newest two", n)
	}
}
