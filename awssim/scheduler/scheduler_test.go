package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/scheduler/standin"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// bench is a world with a scheduler and one cluster.
type bench struct {
	*standin.Bench
	t     *testing.T
	law   *scheduler.Scheduler
	group string
}

func newBench(t *testing.T, o world.Options) *bench {
	t.Helper()
	b := &bench{Bench: standin.New(o), t: t}
	b.law = scheduler.New(b.World)
	b.Do(func(tx *world.Tx) { tx.Clusters.Put("web", &world.Cluster{Name: "web", ARN: tx.ARN("ecs", "cluster/web"), Status: "ACTIVE"}) })
	b.group = b.Group("blue")
	return b
}

func (b *bench) service(controller string, desired int) (svc *world.Service) {
	b.Do(func(tx *world.Tx) {
		c, _ := tx.Clusters.Get("web")
		svc = &world.Service{ARN: tx.ARN("ecs", "service/web/api"), Name: "api", Cluster: c, Controller: controller, Status: "ACTIVE",
			Desired: desired, MinPercent: 100, MaxPercent: 200, CreatedAt: tx.Now()}
		b.law.Found(tx, svc)
	})
	return svc
}

// set adds a task set (or a deployment) of an image.
func (b *bench) set(svc *world.Service, image string, scale float64, edit ...func(*world.TaskSet)) (ts *world.TaskSet) {
	b.Do(func(tx *world.Tx) {
		def := &world.TaskDefinition{Family: "api", Revision: 1, NetworkMode: "awsvpc", Containers: []world.ContainerSpec{{
			Name: "web", Image: image, Essential: true, Ports: []world.Port{{Container: 8080}}, StopTimeout: 30 * time.Second}}}
		ts = &world.TaskSet{ID: "ecs-svc/" + tx.NewDigits("set", 19), Service: svc, Definition: def, Status: "ACTIVE", Scale: scale,
			Subnets: standin.Subnets, LaunchType: "FARGATE",
			Attached: []world.Attachment{{TargetGroup: b.group, Container: "web", ContainerPort: 8080}}}
		for _, f := range edit {
			f(ts)
		}
		b.law.Add(tx, ts)
	})
	return ts
}

func plain(ts *world.TaskSet) { ts.Attached = nil }

func (b *bench) until(what string, limit time.Duration, f func() bool) {
	b.t.Helper()
	if err := b.Until(limit, f); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

func (b *bench) steady(ts *world.TaskSet) {
	b.t.Helper()
	b.until("steady state", 10*time.Minute, func() bool { return ts.Stability == "STEADY_STATE" })
}

func running(ts *world.TaskSet) int {
	return ts.Count(func(t *world.Task) bool { return t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" })
}

func (b *bench) tasks() (all []*world.Task) {
	b.Do(func(tx *world.Tx) { all = tx.Tasks.Values() })
	return all
}

func told(svc *world.Service, text string) (n int) {
	for _, e := range svc.Events {
		if strings.Contains(e.Message, text) {
			n++
		}
	}
	return n
}

func (b *bench) targets() *world.TargetGroup {
	var g *world.TargetGroup
	b.Do(func(tx *world.Tx) { g, _ = tx.TargetGroups.Get(b.group) })
	return g
}

func TestDesiredOfRoundsUpWithoutFloatNoise(t *testing.T) {
	for _, c := range []struct {
		desired int
		percent float64
		want    int
	}{{3, 10, 1}, {3, 90, 3}, {10, 1, 1}, {20, 35, 7}, {2, 60, 2}, {4, 0, 0}, {0, 50, 0}, {100, 29, 29}, {100, 57, 57}, {1000, 0.1, 1}} {
		if got := scheduler.DesiredOf(c.desired, c.percent); got != c.want {
			t.Errorf("%g %% of %d: %d, want %d", c.percent, c.desired, got, c.want)
		}
	}
}

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
		if x.StartedBy != ts.ID || x.Group != "service:api" || !x.Address.IsValid() || x.StartedAt.Sub(x.CreatedAt) < 16*time.Second {
			t.Errorf("task %+v", x)
		}
	}
	if len(zones) != 3 {
		t.Errorf("zones %v, want one task in each of three", zones)
	}
	for _, text := range []string{
		"(service api) has started 3 tasks: (task ", "(service api) registered 1 targets in (target-group " + b.group + ")",
		"(service api, taskSet " + ts.ID + ") has reached a steady state.",
	} {
		if told(svc, text) == 0 {
			t.Errorf("no event %q", text)
		}
	}
	if at, ok := b.World.NextDue(); ok {
		b.Run(time.Minute)
		if at, ok = b.World.NextDue(); ok {
			t.Errorf("something is due at %s in a world at rest", at)
		}
	}
}

func TestScaleInDrainsBeforeTheSignal(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 4)
	ts := b.set(svc, "sim/web:v1-term-5s", 100)
	b.steady(ts)
	b.Do(func(tx *world.Tx) { b.law.Scale(tx, ts, 50) })
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
		if x.StopCode != "ServiceSchedulerInitiated" || x.StoppedReason != "Scaling activity initiated by (deployment "+ts.ID+")" {
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
	if told(svc, ") has begun draining connections on 1 tasks.") == 0 || told(svc, "deregistered 1 targets in") == 0 || told(svc, "has stopped 2 running tasks") == 0 {
		t.Errorf("events: %v", svc.Events)
	}
}

func TestSIGKILLFollowsTheStopTimeout(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 1)
	ts := b.set(svc, "sim/web:v1-ignores-term", 100, plain)
	b.steady(ts)
	x := ts.Tasks[0]
	b.Do(func(tx *world.Tx) { b.law.Scale(tx, ts, 0) })
	b.until("gone", 5*time.Minute, func() bool { return len(ts.Tasks) == 0 })
	if d := x.ExecutionStoppedAt.Sub(x.SignalledAt); d != 30*time.Second || *x.Containers[0].ExitCode != 137 {
		t.Errorf("killed %s after the signal with %d, want 30s and 137", d, *x.Containers[0].ExitCode)
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
	b.Do(func(tx *world.Tx) { b.law.Retire(tx, one) })
	b.until("gone", 5*time.Minute, func() bool { return len(svc.TaskSets) == 1 })
	b.Do(func(tx *world.Tx) { b.law.Delete(tx, svc) })
	b.until("inactive", 5*time.Minute, func() bool { return svc.Status == "INACTIVE" })
	b.Run(2 * time.Hour)
	b.Do(func(tx *world.Tx) {
		if tx.Tasks.Len() != 0 || tx.Services.Len() != 0 || len(tx.TasksByAddress) != 0 {
			t.Errorf("left: %d tasks, %d services, %d addresses", tx.Tasks.Len(), tx.Services.Len(), len(tx.TasksByAddress))
		}
	})
}

func TestASickTaskIsReplacedBeforeItGoes(t *testing.T) {
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

func TestGraceProtectsASickTask(t *testing.T) {
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

func TestACrashedTaskIsReplaced(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 2)
	ts := b.set(svc, "sim/web:v1", 100)
	b.steady(ts)
	x := ts.Tasks[0]
	b.Do(func(tx *world.Tx) { b.law.Crash(tx, x, 3) })
	b.until("stopped", time.Minute, func() bool { return x.LastStatus == "STOPPED" })
	if x.StopCode != "EssentialContainerExited" || x.StoppedReason != "Essential container in task exited" || *x.Containers[0].ExitCode != 3 {
		t.Errorf("%s %s %d", x.StopCode, x.StoppedReason, *x.Containers[0].ExitCode)
	}
	b.steady(ts)
	if running(ts) != 2 || b.targets().Count("healthy") != 2 {
		t.Errorf("%d running, %d healthy", running(ts), b.targets().Count("healthy"))
	}
}

func TestACrashLoopGoesOnWithoutBackoff(t *testing.T) {
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
	ts := b.set(svc, "nobody/knows:this", 100)
	b.Run(3 * time.Hour)
	var starts []time.Time
	b.until("a start", time.Hour, func() bool { return len(ts.Tasks) > 0 })
	for _, e := range svc.Events {
		if strings.Contains(e.Message, "has started 2 tasks") {
			starts = append(starts, e.At)
		}
	}
	for i := 2; i < len(starts); i++ {
		if gap, later := starts[i-1].Sub(starts[i]), starts[i-2].Sub(starts[i-1]); later < gap-20*time.Second && later < 27*time.Minute {
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
	if x.StopCode != "TaskFailedToStart" || !strings.HasPrefix(x.StoppedReason, "CannotPullContainerError: ") || !x.StartedAt.IsZero() || x.Containers[0].ExitCode != nil {
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
	b.Do(func(tx *world.Tx) { tx.Troubles.NoCapacity = map[string]bool{"web": true} })
	svc := b.service("EXTERNAL", 2)
	ts := b.set(svc, "sim/web:v1", 100)
	b.Run(time.Hour)
	if len(ts.Tasks) != 0 || told(svc, "was unable to place a task. Reason: Capacity is unavailable at this time.") != 1 {
		t.Fatalf("%d tasks, events %v", len(ts.Tasks), svc.Events)
	}
	b.Do(func(tx *world.Tx) {
		tx.Troubles.NoCapacity = nil
		tx.Changed(world.TroubleChanged, nil)
	})
	b.steady(ts)
}

func TestALostZoneTakesItsTasksAndGetsNone(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("EXTERNAL", 6)
	ts := b.set(svc, "sim/web:v1", 100)
	b.steady(ts)
	b.Do(func(tx *world.Tx) {
		tx.Troubles.ZonesLost = map[string]bool{"eu-west-1a": true}
		tx.Changed(world.TroubleChanged, nil)
	})
	b.until("steady again", 10*time.Minute, func() bool { return running(ts) == 6 && ts.Stability == "STEADY_STATE" })
	for _, x := range ts.Tasks {
		if x.Zone == "eu-west-1a" {
			t.Errorf("task %s stands in the lost zone", x.ID)
		}
	}
}

func TestSlowStartTakesLonger(t *testing.T) {
	b := newBench(t, world.Options{})
	b.Do(func(tx *world.Tx) { tx.Troubles.SlowStart = []world.SlowStart{{Service: "api", By: 300}} })
	ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1", 100)
	b.steady(ts)
	if d := ts.Tasks[0].StartedAt.Sub(ts.Tasks[0].CreatedAt); d < 5*time.Minute {
		t.Errorf("started within %s", d)
	}
}

func checked(startPeriod time.Duration) func(*world.TaskSet) {
	return func(ts *world.TaskSet) {
		ts.Attached = nil
		ts.Definition.Containers[0].Health = &world.ContainerHealth{Interval: 10 * time.Second, Timeout: 5 * time.Second, Retries: 3, StartPeriod: startPeriod}
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
	if x.StoppedReason != "Task failed container health checks" || told(svc, "(task "+x.ID+") failed container health checks.") != 1 {
		t.Errorf("%s, events %v", x.StoppedReason, svc.Events)
	}
}

func TestStopTaskByAUserDoesNotWaitForTheDrain(t *testing.T) {
	for _, awaits := range []bool{false, true} {
		k := world.DefaultKnobs()
		k.StopTaskAwaitsDrain = awaits
		b := newBench(t, world.Options{Knobs: &k})
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

func TestARollingUpdateKeepsWithinItsPercentages(t *testing.T) {
	for _, c := range []struct{ min, max, desired, low, high int }{
		{100, 200, 4, 4, 8}, {50, 100, 4, 2, 4}, {75, 125, 4, 3, 5}, {0, 100, 3, 0, 3}, {100, 150, 3, 3, 4},
	} {
		t.Run(fmt.Sprintf("%d-%d of %d", c.min, c.max, c.desired), func(t *testing.T) {
			b := newBench(t, world.Options{})
			svc := b.service("ECS", c.desired)
			svc.MinPercent, svc.MaxPercent = c.min, c.max
			one := b.set(svc, "sim/web:v1", 100)
			b.until("the first deployment", 10*time.Minute, func() bool { return one.RolloutState == "COMPLETED" })
			two := b.set(svc, "sim/web:v2", 100)
			if one.Status != "ACTIVE" || two.Status != "PRIMARY" || two.RolloutReason != "ECS deployment "+two.ID+" in progress." {
				t.Fatalf("%s %s %s", one.Status, two.Status, two.RolloutReason)
			}
			low, high := c.desired, 0
			b.until("the second", time.Hour, func() bool {
				low = min(low, b.targets().Count("healthy"))
				high = max(high, wanted(one)+wanted(two))
				return two.RolloutState == "COMPLETED"
			})
			if low != c.low || high != c.high {
				t.Errorf("between %d and %d tasks, want %d and %d", low, high, c.low, c.high)
			}
			if len(svc.TaskSets) != 1 || told(svc, "(service api) (deployment "+two.ID+") deployment completed.") != 1 || told(svc, "(service api) has reached a steady state.") != 2 {
				t.Errorf("%d deployments, events %v", len(svc.TaskSets), svc.Events)
			}
		})
	}
}

func wanted(ts *world.TaskSet) int {
	return ts.Count(func(x *world.Task) bool { return x.DesiredStatus == "RUNNING" })
}

func TestARollingUpdateThatCannotMoveSaysSo(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("ECS", 2)
	one := b.set(svc, "sim/web:v1", 100)
	b.until("the first deployment", 10*time.Minute, func() bool { return one.RolloutState == "COMPLETED" })
	svc.MinPercent, svc.MaxPercent = 75, 125
	two := b.set(svc, "sim/web:v2", 100)
	b.Run(time.Hour)
	text := "(service api) was unable to stop or start tasks during a deployment because of the service deployment configuration."
	if len(two.Tasks) != 0 || wanted(one) != 2 || told(svc, text) != 1 {
		t.Errorf("%d new, %d old, events %v", len(two.Tasks), wanted(one), svc.Events)
	}
}

func TestATaskWithoutChecksCountsAfterFortySeconds(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("ECS", 1)
	one := b.set(svc, "sim/web:v1", 100, plain)
	b.until("the first deployment", 10*time.Minute, func() bool { return one.RolloutState == "COMPLETED" })
	old := one.Tasks[0]
	two := b.set(svc, "sim/web:v2", 100, plain)
	b.until("the old task stops", 10*time.Minute, func() bool { return old.DesiredStatus == "STOPPED" })
	if d := b.Clock.Now().Sub(two.Tasks[0].StartedAt); d < 40*time.Second {
		t.Errorf("stopped %s after the new one ran", d)
	}
}

func TestANewerDeploymentOvertakesABrokenOne(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("ECS", 2)
	one := b.set(svc, "sim/web:v1", 100)
	b.until("the first deployment", 10*time.Minute, func() bool { return one.RolloutState == "COMPLETED" })
	two := b.set(svc, "sim/web:v2-noboot", 100)
	b.Run(10 * time.Minute)
	if two.RolloutState != "IN_PROGRESS" || two.FailedTasks == 0 || b.targets().Count("healthy") != 2 {
		t.Fatalf("%s, %d failed, %d healthy", two.RolloutState, two.FailedTasks, b.targets().Count("healthy"))
	}
	three := b.set(svc, "sim/web:v3", 100)
	low := 2
	b.until("the third", 20*time.Minute, func() bool {
		low = min(low, b.targets().Count("healthy"))
		return three.RolloutState == "COMPLETED"
	})
	if low != 2 || len(svc.TaskSets) != 1 || three.FailedTasks != 0 {
		t.Errorf("low %d, %d deployments, %d failed", low, len(svc.TaskSets), three.FailedTasks)
	}
}

func TestProcessesOfTheHostTellTheirExit(t *testing.T) {
	b := newBench(t, world.Options{Images: image.Catalog{image.HostImages: {}}})
	var effects []world.Effect
	b.World.Sink(func(e world.Effect) { effects = append(effects, e) })
	svc := b.service("EXTERNAL", 1)
	ts := b.set(svc, "host:./server --flag", 100, plain)
	b.until("RUNNING", 5*time.Minute, func() bool { return running(ts) == 1 })
	x := ts.Tasks[0]
	start := effects[0].(world.StartProcess)
	if start.Address != x.Address || start.Ports[0] != 8080 || start.Service != "api" || start.StopTimeout != 30*time.Second {
		t.Errorf("%+v", start)
	}
	b.Do(func(tx *world.Tx) { b.law.StopByUser(tx, x, "bye") })
	b.until("signalled", time.Minute, func() bool { return x.LastStatus == "STOPPING" })
	b.Run(20 * time.Second)
	if x.LastStatus != "STOPPING" {
		t.Fatalf("%s before the process ended", x.LastStatus)
	}
	b.Do(func(tx *world.Tx) { b.law.Exited(tx, x.ARN, "web", 143) })
	b.until("stopped", time.Minute, func() bool { return x.LastStatus == "STOPPED" })
	if *x.Containers[0].ExitCode != 143 {
		t.Errorf("exit %d", *x.Containers[0].ExitCode)
	}
}
