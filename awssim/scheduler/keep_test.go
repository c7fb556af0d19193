package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestDesiredOfRoundsUpWithoutFloatNoise(t *testing.T) {
	for _, c := range []struct {
		desired int
		percent float64
		want    int
	}{{3, 10, 1}, {3, 90, 3}, {10, 1, 1}, {20, 35, 7}, {2, 60, 2}, {4, 0, 0}, {0, 50, 0}, {100, 29, 29}, {100, 57, 57},
		{1000, 0.1, 1}} {
		if got := scheduler.ComputedCount(c.desired, c.percent); got != c.want {
			t.Errorf("%g %% of %d: %d, want %d", c.percent, c.desired, got, c.want)
		}
	}
}

func TestScaleInDrainsBeforeTheSignal(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 4)
	ts := b.set(svc, "sim/web:v1-term-5s", 100)
	b.steady(ts)
	b.Do(func(tx *world.Tx) { b.law.SetScale(tx, ts, 50) })
	if ts.Stability != "STABILIZING" || ts.Computed != 2 {
		t.Fatalf("after the scale %s, computed %d", ts.Stability, ts.Computed)
	}
	b.until("two tasks left", 5*time.Minute, func() bool { return len(ts.Tasks) == 2 })
	if n := b.targets().Count("healthy"); n != 2 || len(b.targets().Targets) != 2 {
		t.Errorf("%d targets, %d healthy, want 2", len(b.targets().Targets), n)
	}
	for _, x := range b.tasks() {
		if x.LastStatus != "STOPPED" {
			continue
		}
		if x.StopCode != "ServiceSchedulerInitiated" ||
			x.StoppedReason != "Scaling activity initiated by (deployment "+ts.ID+")" {
			t.Errorf("stopped by %s: %s", x.StopCode, x.StoppedReason)
		}
		if d := x.SignalledAt.Sub(x.StoppingAt); d < b.Drain {
			t.Errorf("signalled %s after the stop, the drain takes %s", d, b.Drain)
		}
		if d := x.ExecutionStoppedAt.Sub(x.SignalledAt); d != 5*time.Second || *x.Containers[0].ExitCode != 0 {
			t.Errorf("exited %s after the signal with %d", d, *x.Containers[0].ExitCode)
		}
	}
	b.steady(ts)
	if told(svc, ") has begun draining connections on 1 tasks.") == 0 || told(svc, "deregistered 1 targets in") == 0 ||
		told(svc, "has stopped 2 running tasks") == 0 {
		t.Errorf("events: %v", svc.Events)
	}
}

func TestADrainedTaskSetVanishesAndAServiceEnds(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 2)
	one, two := b.set(svc, "sim/web:v1", 100), b.set(svc, "sim/web:v2", 50)
	b.Do(func(tx *world.Tx) { b.law.Promote(tx, one) })
	b.steady(one)
	b.steady(two)
	b.Do(func(tx *world.Tx) { b.law.Promote(tx, two) })
	if svc.Primary() != two || one.Status != "ACTIVE" || one.Computed != 2 {
		t.Fatalf("after the promotion: %s %s", one.Status, two.Status)
	}
	b.Do(func(tx *world.Tx) { b.law.DrainTaskSet(tx, one) })
	b.until("gone", 5*time.Minute, func() bool { return len(svc.TaskSets) == 1 })
	b.Do(func(tx *world.Tx) { b.law.DrainService(tx, svc) })
	b.until("inactive", 5*time.Minute, func() bool { return svc.Status == "INACTIVE" })
	b.Run(2 * time.Hour)
	b.Do(func(tx *world.Tx) {
		if tx.Tasks.Len() != 0 || tx.Services.Len() != 0 || len(tx.TasksByAddress) != 0 {
			t.Errorf("left: %d tasks, %d services, %d addresses", tx.Tasks.Len(), tx.Services.Len(),
				len(tx.TasksByAddress))
		}
	})
}

func TestAnUnhealthyTaskIsReplacedBeforeItStops(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 1)
	ts := b.set(svc, "sim/web:v1", 100)
	b.steady(ts)
	sick := ts.Tasks[0]
	b.Do(func(tx *world.Tx) {
		tx.SetTarget(b.find(tx, sick), "unhealthy", "Target.Timeout", "Request timed out")
	})
	b.until("a second task", time.Minute, func() bool { return len(ts.Tasks) == 2 })
	if sick.DesiredStatus != "RUNNING" {
		t.Fatal("the sick task was stopped before its replacement was there")
	}
	b.until("the sick one stops", 5*time.Minute, func() bool { return sick.DesiredStatus == "STOPPED" })
	if n := b.targets().Count("healthy"); n != 1 {
		t.Errorf("%d healthy targets when the sick task stops, want 1", n)
	}
	if want := "Task failed ELB health checks in (target-group " + b.group + ")"; sick.StoppedReason != want {
		t.Errorf("reason %q", sick.StoppedReason)
	}
	if told(svc, "(port 8080) is unhealthy in (target-group "+b.group+") due to (reason Request timed out)") != 1 {
		t.Errorf("events: %v", svc.Events)
	}
	b.steady(ts)
}

func (b *bench) find(tx *world.Tx, x *world.Task) *world.Target {
	g, _ := tx.TargetGroups.Get(b.group)
	return g.Find(x.Address.String(), 8080)
}

func TestGraceProtectsAnUnhealthyTask(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 1)
	svc.Grace = 5 * time.Minute
	ts := b.set(svc, "sim/web:v1-never-healthy", 100)
	b.until("unhealthy", 2*time.Minute, func() bool { return b.targets().Count("unhealthy") == 1 })
	started := ts.Tasks[0].StartedAt
	b.until("a replacement", 10*time.Minute, func() bool { return len(ts.Tasks) == 2 })
	if d := ts.Tasks[1].CreatedAt.Sub(started); d < 5*time.Minute {
		t.Errorf("replaced %s after its start, within the grace period", d)
	}
}

func TestNeverHealthyTasksAreReplacedForEverWithinTheMaximum(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 2)
	ts := b.set(svc, "sim/web:v1-never-healthy", 100)
	most := 0
	for range 200 {
		b.Run(5 * time.Second)
		most = max(most, ts.Count(func(x *world.Task) bool { return x.DesiredStatus == "RUNNING" }))
	}
	stopped := 0
	for _, x := range b.tasks() {
		if x.LastStatus == "STOPPED" && strings.HasPrefix(x.StoppedReason, "Task failed ELB health checks") {
			stopped++
		}
	}
	if most != 4 || stopped < 8 || ts.Stability != "STABILIZING" {
		t.Errorf("at most %d at once (want 4), %d replaced (want 8 or more), %s", most, stopped, ts.Stability)
	}
}
