package scheduler_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestATaskSetStartsRegistersAndBecomesSteady(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 3)
	ts := b.set(svc, "sim/web:v1", 100)
	if ts.Stability != "STABILIZING" || ts.Computed != 3 {
		t.Fatalf("at first %s, computed %d", ts.Stability, ts.Computed)
	}
	b.steady(ts)
	if n := b.targets().Count("healthy"); n != 3 || running(ts) != 3 {
		t.Errorf("%d healthy targets, %d running tasks, want 3 and 3", n, running(ts))
	}
	zones := map[string]int{}
	for _, x := range ts.Tasks {
		zones[x.Zone]++
		if x.StartedBy != ts.ID || x.Group != "service:api" || !x.Address.IsValid() ||
			x.StartedAt.Sub(x.CreatedAt) < 16*time.Second {
			t.Errorf("task %+v", x)
		}
	}
	if len(zones) != 3 {
		t.Errorf("zones %v, want one task in each of three", zones)
	}
	for _, text := range []string{
		"(service api) has started 3 tasks: (task ", "(service api) registered 1 targets in (target-group " + b.group +
			")",
		"(service api, taskSet " + ts.ID + ") has reached a steady state.",
	} {
		if told(svc, text) == 0 {
			t.Errorf("no event %q", text)
		}
	}
	b.Run(time.Minute)
	if at, ok := b.World.NextDue(); ok {
		t.Errorf("something is due at %s in a world at rest", at)
	}
}

func TestSIGKILLFollowsTheStopTimeout(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 1)
	ts := b.set(svc, "sim/web:v1-ignores-term", 100, plain)
	b.steady(ts)
	x := ts.Tasks[0]
	b.Do(func(tx *world.Tx) { b.law.SetScale(tx, ts, 0) })
	b.until("gone", 5*time.Minute, func() bool { return len(ts.Tasks) == 0 })
	if d := x.ExecutionStoppedAt.Sub(x.SignalledAt); d != 30*time.Second || *x.Containers[0].ExitCode != 137 {
		t.Errorf("killed %s after the signal with %d, want 30s and 137", d, *x.Containers[0].ExitCode)
	}
}

func TestSlowStartTakesLonger(t *testing.T) {
	b := newBench(t, world.Options{})
	b.Do(func(tx *world.Tx) { tx.ActiveFaults.SlowStart = []world.SlowStart{{Service: "api", By: 300}} })
	ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1", 100)
	b.steady(ts)
	if d := ts.Tasks[0].StartedAt.Sub(ts.Tasks[0].CreatedAt); d < 5*time.Minute {
		t.Errorf("started within %s", d)
	}
}

func checked(startPeriod time.Duration) func(*world.TaskSet) {
	return func(ts *world.TaskSet) {
		ts.Attached = nil
		ts.Definition.Containers[0].Health = &world.ContainerHealth{Interval: 10 * time.Second,
			Timeout: 5 * time.Second, Retries: 3, StartPeriod: startPeriod}
	}
}

func TestContainerHealthChecks(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 1)
	ts := b.set(svc, "sim/web:v1-healthy-after-25s-unhealthy-after-3m", 100, checked(time.Minute))
	b.until("RUNNING", time.Minute, func() bool { return running(ts) == 1 })
	x := ts.Tasks[0]
	if x.Health != "UNKNOWN" || ts.Stability != "STABILIZING" {
		t.Errorf("at first %s, %s", x.Health, ts.Stability)
	}
	b.until("HEALTHY", time.Minute, func() bool { return x.Health == "HEALTHY" })
	if d := b.Clock.Now().Sub(x.StartedAt); d != 30*time.Second {
		t.Errorf("healthy after %s, want the third check", d)
	}
	b.steady(ts)
	b.until("UNHEALTHY", 5*time.Minute, func() bool { return x.Health == "UNHEALTHY" })
	if d := b.Clock.Now().Sub(x.StartedAt); d != 3*time.Minute+20*time.Second {
		t.Errorf("unhealthy after %s, want three checks from 3m on", d)
	}
	b.until("replaced", 5*time.Minute, func() bool { return x.DesiredStatus == "STOPPED" })
	if x.StoppedReason != "Task failed container health checks" ||
		told(svc, "(task "+x.ID+") failed container health checks.") != 1 {
		t.Errorf("%s, events %v", x.StoppedReason, svc.Events)
	}
}

func TestStopTaskByAUserDoesNotWaitForTheDrain(t *testing.T) {
	for _, awaits := range []bool{false, true} {
		k := world.DefaultSettings()
		k.StopTaskAwaitsDrain = awaits
		b := newBench(t, world.Options{Settings: &k})
		svc := b.service("EXTERNAL", 1)
		ts := b.set(svc, "sim/web:v1", 100)
		b.steady(ts)
		x := ts.Tasks[0]
		b.Do(func(tx *world.Tx) { b.law.StopByUser(tx, x, "") })
		b.until("signalled", 5*time.Minute, func() bool { return !x.SignalledAt.IsZero() })
		if waited := x.SignalledAt.Sub(x.StoppingAt) >= b.Drain; waited != awaits {
			t.Errorf("awaits=%v: signalled after %s", awaits, x.SignalledAt.Sub(x.StoppingAt))
		}
		if x.StopCode != "UserInitiated" || x.StoppedReason != "Task stopped by user" {
			t.Errorf("%s %s", x.StopCode, x.StoppedReason)
		}
		b.steady(ts)
	}
}

func TestProcessesOfTheHostReportTheirExit(t *testing.T) {
	b := newBench(t, world.Options{Images: image.Catalog{image.HostImages: {}}})
	var effects []world.Effect
	b.World.SetSink(func(e world.Effect) { effects = append(effects, e) })
	svc := b.service("EXTERNAL", 1)
	ts := b.set(svc, "host:./server --flag", 100, plain)
	b.until("RUNNING", 5*time.Minute, func() bool { return running(ts) == 1 })
	x := ts.Tasks[0]
	start := effects[0].(world.StartProcess)
	if start.Address != x.Address || start.Ports[0] != 8080 || start.Service != "api" ||
		start.StopTimeout != 30*time.Second {
		t.Errorf("%+v", start)
	}
	b.Do(func(tx *world.Tx) { b.law.StopByUser(tx, x, "bye") })
	b.until("signalled", time.Minute, func() bool { return x.LastStatus == "STOPPING" })
	b.Run(20 * time.Second)
	if x.LastStatus != "STOPPING" {
		t.Fatalf("%s before the process ended", x.LastStatus)
	}
	b.Do(func(tx *world.Tx) { b.law.ProcessExited(tx, x.ARN, "web", 143) })
	b.until("stopped", time.Minute, func() bool { return x.LastStatus == "STOPPED" })
	if *x.Containers[0].ExitCode != 143 {
		t.Errorf("exit %d", *x.Containers[0].ExitCode)
	}
}

// Failures in the start period are not counted; a task on Fargate is killed after
// 120 s at most, one on EC2 when its stop timeout is over.
func TestFailuresInTheStartPeriodDoNotCount(t *testing.T) {
	b := newBench(t, world.Options{})
	ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1-healthy-after-45s", 100, checked(time.Minute))
	b.until("RUNNING", time.Minute, func() bool { return running(ts) == 1 })
	x := ts.Tasks[0]
	b.until("judged", 2*time.Minute, func() bool { return x.Health != "UNKNOWN" })
	if x.Health != "HEALTHY" {
		t.Errorf("%s %s after its start, although its first minute does not count", x.Health,
			b.Clock.Now().Sub(x.StartedAt))
	}
}

func TestTheStopTimeoutOnFargateIsTwoMinutesAtMost(t *testing.T) {
	for launch, want := range map[string]time.Duration{"FARGATE": 2 * time.Minute, "EC2": 10 * time.Minute} {
		b := newBench(t, world.Options{})
		ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1-ignores-term", 100, plain, func(ts *world.TaskSet) {
			ts.LaunchType = launch
			ts.Definition.Containers[0].StopTimeout = 10 * time.Minute
		})
		b.steady(ts)
		x := ts.Tasks[0]
		b.Do(func(tx *world.Tx) { b.law.SetScale(tx, ts, 0) })
		b.until("gone", 15*time.Minute, func() bool { return len(ts.Tasks) == 0 })
		if d := x.ExecutionStoppedAt.Sub(x.SignalledAt); d != want {
			t.Errorf("%s: killed %s after the signal, want %s", launch, d, want)
		}
	}
}

func TestATaskWithoutItsLogGroupDoesNotStart(t *testing.T) {
	for launch, reason := range map[string]string{
		"FARGATE": "ResourceInitializationError: failed to validate logger args: create stream has been retried 1 " +
			"times: failed to create Cloudwatch log stream: ResourceNotFoundException: The specified log group does " +
			"not exist. : exit status 1",
		"EC2": "CannotStartContainerError: Error response from daemon: failed to initialize logging driver: " +
			"failed to create Cloudwatch log stream: ResourceNotFoundException: The specified log group does not " +
			"exist.",
	} {
		for _, ignored := range []bool{false, true} {
			k := world.DefaultSettings()
			k.StartsWithoutLogGroup = ignored
			b := newBench(t, world.Options{Settings: &k})
			log := &world.ContainerLog{Group: "/ecs/api"}
			ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1", 100, plain, func(ts *world.TaskSet) {
				ts.LaunchType, ts.Definition.Containers[0].Log = launch, log
			})
			if ignored {
				b.steady(ts)
				continue
			}
			b.until("stopped", 5*time.Minute, func() bool {
				return len(b.tasks()) > 0 &&
					b.tasks()[0].LastStatus == "STOPPED"
			})
			if x := b.tasks()[0]; x.StopCode != "TaskFailedToStart" || x.StoppedReason != reason ||
				!x.StartedAt.IsZero() {
				t.Errorf("%s: %s %s", launch, x.StopCode, x.StoppedReason)
			}
			b.Do(func(tx *world.Tx) { tx.AddLogGroup("/ecs/api") })
			b.steady(ts)
		}
	}
}

func TestTaskStartsHaveAQuota(t *testing.T) {
	for name, c := range map[string]struct {
		edit         func(*world.Settings)
		first, later int // started at once, and ten seconds later
	}{
		"of a service":  {func(k *world.Settings) { k.TaskStartsPerMinute = 6 }, 6, 7},
		"of Fargate":    {func(k *world.Settings) { k.FargateStartsPerSecond = 1 }, 5, 15},
		"without quota": {func(k *world.Settings) { k.TaskStartsPerMinute, k.FargateStartsPerSecond = 0, 0 }, 20, 20},
	} {
		k := world.NoDelays()
		k.SchedulerLoop = world.Range{Min: time.Second, Max: time.Second}
		k.Provisioning = world.Range{Min: time.Hour, Max: time.Hour}
		c.edit(&k)
		b := newBench(t, world.Options{Settings: &k})
		ts := b.set(b.service("EXTERNAL", 20), "sim/web:v1", 100, plain)
		b.Run(1500 * time.Millisecond)
		if n := len(ts.Tasks); n != c.first {
			t.Errorf("%s: %d tasks started at once, want %d", name, n, c.first)
		}
		b.Run(10 * time.Second)
		if n := len(ts.Tasks); n != c.later {
			t.Errorf("%s: %d tasks started ten seconds later, want %d", name, n, c.later)
		}
	}
}
