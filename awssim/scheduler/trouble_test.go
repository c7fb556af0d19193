package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestACrashedTaskIsReplaced(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 2)
	ts := b.set(svc, "sim/web:v1", 100)
	b.steady(ts)
	x := ts.Tasks[0]
	b.Do(func(tx *world.Tx) { b.law.CrashTask(tx, x, 3) })
	b.until("stopped", time.Minute, func() bool { return x.LastStatus == "STOPPED" })
	if x.StopCode != "EssentialContainerExited" || x.StoppedReason != "Essential container in task exited" ||
		*x.Containers[0].ExitCode != 3 {
		t.Errorf("%s %s %d", x.StopCode, x.StoppedReason, *x.Containers[0].ExitCode)
	}
	b.steady(ts)
	if running(ts) != 2 || b.targets().Count("healthy") != 2 {
		t.Errorf("%d running, %d healthy", running(ts), b.targets().Count("healthy"))
	}
}

func TestACrashLoopContinuesWithoutBackoff(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 1)
	b.set(svc, "sim/web:v1-crash-after-2s-exit-7", 100)
	b.Run(10 * time.Minute)
	n := 0
	for _, x := range b.tasks() {
		if x.StopCode == "EssentialContainerExited" && *x.Containers[0].ExitCode == 7 {
			n++
		}
	}
	if n < 8 || told(svc, "unable to consistently start") != 0 {
		t.Errorf("%d crashes in 10 minutes, events %v", n, svc.Events)
	}
}

func TestStartsThatFailAreHeldBackLongerAndLonger(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 2)
	ts := b.set(svc, "sim/missing:v1-noboot", 100)
	b.Run(3 * time.Hour)
	var starts []time.Time
	b.until("a start", time.Hour, func() bool { return len(ts.Tasks) > 0 })
	for _, e := range svc.Events {
		if strings.Contains(e.Message, "has started 2 tasks") {
			starts = append(starts, e.At)
		}
	}
	for i := 2; i < len(starts); i++ {
		if gap, later := starts[i-1].Sub(starts[i]), starts[i-2].Sub(starts[i-1]); later < gap-20*time.Second &&
			later < 27*time.Minute {
			t.Errorf("a gap of %s after one of %s", later, gap)
		}
	}
	if gap := starts[0].Sub(starts[1]); gap < 27*time.Minute || gap > 29*time.Minute {
		t.Errorf("the last gap is %s, want 27 minutes and a start", gap)
	}
	if told(svc, "(service api) is unable to consistently start tasks successfully.") != 1 {
		t.Errorf("events: %v", svc.Events)
	}
	x := b.tasks()[0]
	if x.StopCode != "TaskFailedToStart" || !strings.HasPrefix(x.StoppedReason, "CannotPullContainerError: ") ||
		!x.StartedAt.IsZero() || x.Containers[0].ExitCode != nil {
		t.Errorf("%+v", x)
	}
	b.Do(func(tx *world.Tx) { b.law.SetDesired(tx, svc, 3) })
	before := starts[0]
	b.until("a start after the change", time.Minute, func() bool {
		return strings.Contains(svc.Events[0].Message, "has started") && svc.Events[0].At.After(before)
	})
}

func TestNoCapacityWaitsUntilItIsBack(t *testing.T) {
	b := newBench(t, world.Options{})
	b.Do(func(tx *world.Tx) { tx.ActiveFaults.NoCapacity = map[string]bool{"web": true} })
	svc := b.service("EXTERNAL", 2)
	ts := b.set(svc, "sim/web:v1", 100)
	b.Run(time.Hour)
	if len(ts.Tasks) != 0 ||
		told(svc, "was unable to place a task. Reason: Capacity is unavailable at this time.") != 1 {
		t.Fatalf("%d tasks, events %v", len(ts.Tasks), svc.Events)
	}
	b.Do(func(tx *world.Tx) {
		tx.ActiveFaults.NoCapacity = nil
		tx.Changed(world.FaultsChanged, nil)
	})
	b.steady(ts)
}

func TestALostZoneTakesItsTasksAndGetsNone(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 6)
	ts := b.set(svc, "sim/web:v1", 100)
	b.steady(ts)
	b.Do(func(tx *world.Tx) {
		tx.ActiveFaults.ZonesLost = map[string]bool{"eu-west-1a": true}
		tx.Changed(world.FaultsChanged, nil)
	})
	b.until("steady again", 10*time.Minute, func() bool { return running(ts) == 6 && ts.Stability == "STEADY_STATE" })
	for _, x := range ts.Tasks {
		if x.Zone == "eu-west-1a" {
			t.Errorf("task %s stands in the lost zone", x.ID)
		}
	}
}

func TestATargetDeregisteredByAUserUnsettlesItsTaskSet(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 2)
	ts := b.set(svc, "sim/web:v1", 100)
	b.steady(ts)
	b.Do(func(tx *world.Tx) {
		x := b.find(tx, ts.Tasks[0])
		tx.DeregisterTarget(x.Group, x.ID, x.Port)
	})
	b.until("unsettled", 5*time.Minute, func() bool {
		return ts.Stability == "STABILIZING" &&
			len(b.targets().Targets) == 1
	})
	if told(svc, "due to TARGET IS NOT FOUND") != 1 || ts.Tasks[0].DesiredStatus != "RUNNING" {
		t.Errorf("task %s, events %v", ts.Tasks[0].DesiredStatus, svc.Events)
	}
	b.Do(func(tx *world.Tx) { b.law.SetScale(tx, ts, 0) })
	b.until("gone", 5*time.Minute, func() bool { return len(ts.Tasks) == 0 })
}

func TestAWorldWithoutDelaysStillMovesOn(t *testing.T) {
	k := world.NoDelays()
	k.RestartBackoff = 0
	b := newBench(t, world.Options{Settings: &k})
	svc := b.service("EXTERNAL", 3)
	good, bad := b.set(svc, "sim/web:v1", 100), b.set(svc, "sim/web:v2-noboot", 100)
	b.until("running", time.Second, func() bool { return running(good) == 3 })
	b.Run(time.Hour)
	if good.Stability != "STEADY_STATE" || bad.Stability != "STABILIZING" || running(bad) != 0 {
		t.Errorf("%s with %d, %s with %d", good.Stability, running(good), bad.Stability, running(bad))
	}
}
