package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestTheThresholdOfTheCircuitBreaker(t *testing.T) {
	for _, c := range []struct {
		b             scheduler.Breaker
		desired, want int
	}{
		{scheduler.Breaker{}, 0, 3}, {scheduler.Breaker{}, 1, 3}, {scheduler.Breaker{}, 6, 3},
		{scheduler.Breaker{}, 7, 4},
		{scheduler.Breaker{}, 25, 13}, {scheduler.Breaker{}, 400, 200}, {scheduler.Breaker{}, 800, 200},
		{scheduler.Breaker{Type: "BOUNDED_PERCENT", Value: 10}, 100, 10},
		{scheduler.Breaker{Type: "BOUNDED_PERCENT", Value: 1}, 100, 3},
		{scheduler.Breaker{Type: "BOUNDED_PERCENT", Value: 100}, 900, 200},
		{scheduler.Breaker{Type: "UNBOUNDED_PERCENT", Value: 1}, 1, 1},
		{scheduler.Breaker{Type: "UNBOUNDED_PERCENT", Value: 100}, 900, 900},
		{scheduler.Breaker{Type: "COUNT", Value: 1}, 400, 1}, {scheduler.Breaker{Type: "COUNT", Value: 7}, 1, 7},
	} {
		if got := c.b.Threshold(c.desired); got != c.want {
			t.Errorf("%+v of %d: %d, want %d", c.b, c.desired, got, c.want)
		}
	}
}

// rolling is a service with controller ECS whose first deployment is completed.
func rolling(t *testing.T, desired int, r scheduler.Rules) (*bench, *world.Service, *world.TaskSet) {
	t.Helper()
	b := newBench(t, world.Options{})
	svc := b.service("ECS", desired)
	b.Do(func(tx *world.Tx) { b.law.SetRules(tx, svc, r) })
	one := b.set(svc, "sim/web:v1", 100)
	b.until("the first deployment", 30*time.Minute, func() bool {
		return one.RolloutState == "COMPLETED" &&
			told(svc, "has reached a steady state") > 0
	})
	return b, svc, one
}

func (b *bench) newest(svc *world.Service) *scheduler.Rollout {
	all := scheduler.RolloutsOf(svc)
	return all[len(all)-1]
}

func (b *bench) status(svc *world.Service, status string) *scheduler.Rollout {
	b.t.Helper()
	r := b.newest(svc)
	b.until(status, 2*time.Hour, func() bool { return r.Status == status })
	return r
}

func on(rollback bool) scheduler.Rules {
	return scheduler.Rules{Breaker: scheduler.Breaker{Enable: true, Rollback: rollback}}
}

func withCheck(ts *world.TaskSet) {
	ts.Definition.Containers[0].Health = &world.ContainerHealth{Interval: 10 * time.Second, Timeout: 5 * time.Second,
		Retries: 3}
}

// Every way of a new version to fail opens the circuit breaker, and the service
// is what it was before.
func TestEveryFailureRollsBack(t *testing.T) {
	for image, edit := range map[string]func(*world.TaskSet){
		"sim/missing:v1-noboot":        plain,
		"sim/web:v2-noboot":            nil,
		"sim/web:v2-no-secret":         nil,
		"sim/web:v2-no-role":           plain,
		"sim/web:v2-exec-format":       plain,
		"sim/web:v2-crash-after-2s":    nil,
		"sim/web:v2-oom-after-20s":     plain,
		"sim/web:v2-never-healthy":     nil,
		"sim/web:v2-listen-9090":       nil,
		"sim/web:v2-never-healthy-x-y": withCheck,
	} {
		image = strings.TrimSuffix(image, "-x-y")
		t.Run(image, func(t *testing.T) {
			b, svc, one := rolling(t, 2, on(true))
			var edits []func(*world.TaskSet)
			if edit != nil {
				edits = append(edits, edit)
			}
			two := b.set(svc, image, 100, edits...)
			r, low := b.newest(svc), 2
			b.until("the rollback", 2*time.Hour, func() bool {
				low = min(low, b.targets().Count("healthy"))
				return r.Status == "ROLLBACK_SUCCESSFUL"
			})
			if low != 2 || svc.Primary() != one || len(svc.TaskSets) != 1 || len(scheduler.RolloutsOf(svc)) != 2 {
				t.Errorf("low %d, primary %s of %d, %d rollouts", low, svc.Primary().ID, len(svc.TaskSets),
					len(scheduler.RolloutsOf(svc)))
			}
			if one.RolloutState != "COMPLETED" || two.RolloutState != "FAILED" ||
				two.RolloutReason != "ECS deployment circuit breaker: tasks failed to start." {
				t.Errorf("%s, %s: %s", one.RolloutState, two.RolloutState, two.RolloutReason)
			}
			if strings.HasSuffix(image, "no-role") != (told(svc,
				"(service api) failed to launch a task with (error ECS was unable to assume the role") > 0) {
				t.Errorf("events %v", svc.Events)
			}
			if m := r.Breaker(); m.Status != "TRIGGERED" || m.Count < 3 || m.Threshold != 3 || r.Rollback.To != one {
				t.Errorf("breaker %+v, back %+v", m, r.Rollback)
			}
			for _, text := range []string{
				"(service api) (deployment " + two.ID + ") deployment failed: tasks failed to start.",
				"(service api) rolling back to deployment " + one.ID + ".",
			} {
				if told(svc, text) != 1 {
					t.Errorf("told %d times: %s", told(svc, text), text)
				}
			}
		})
	}
}

func TestARollbackIsSeenStepByStep(t *testing.T) {
	b, svc, one := rolling(t, 2, on(true))
	two := b.set(svc, "sim/web:v2-never-healthy", 100)
	var seen []string
	b.until("the rollback", time.Hour, func() bool {
		line := b.newest(svc).Status
		for i := len(svc.TaskSets) - 1; i >= 0; i-- {
			ts := svc.TaskSets[i]
			line += fmt.Sprintf(" | %s %s %s", map[*world.TaskSet]string{one: "one", two: "two"}[ts], ts.Status,
				ts.RolloutState)
		}
		if len(seen) == 0 || seen[len(seen)-1] != line {
			seen = append(seen, line)
		}
		if one.Status == "PRIMARY" && one.RolloutState == "IN_PROGRESS" &&
			one.RolloutReason != "ECS deployment circuit breaker: rolling back to deploymentId "+one.ID+"." {
			t.Errorf("reason %q", one.RolloutReason)
		}
		return b.newest(svc).HasEnded()
	})
	want := []string{
		"PENDING | two PRIMARY IN_PROGRESS | one ACTIVE COMPLETED",
		"IN_PROGRESS | two PRIMARY IN_PROGRESS | one ACTIVE COMPLETED",
		"ROLLBACK_IN_PROGRESS | one PRIMARY IN_PROGRESS | two ACTIVE IN_PROGRESS",
		"ROLLBACK_IN_PROGRESS | one PRIMARY IN_PROGRESS | two ACTIVE FAILED",
		"ROLLBACK_SUCCESSFUL | one PRIMARY COMPLETED",
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("seen\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

func TestWithoutRollbackADeploymentFailsAndStays(t *testing.T) {
	b, svc, one := rolling(t, 2, on(false))
	two := b.set(svc, "sim/web:v2-crash-after-2s", 100)
	r := b.status(svc, "STOPPED")
	if two.RolloutState != "FAILED" || two.Status != "PRIMARY" || one.Status != "ACTIVE" || r.StoppedAt.IsZero() ||
		r.FinishedAt.IsZero() {
		t.Errorf("%s %s, %s, %+v", two.Status, two.RolloutState, one.Status, r)
	}
	b.Run(10 * time.Minute)
	n := len(b.tasks())
	b.Run(6 * time.Minute)
	if len(b.tasks()) > n || wanted(one) != 2 || b.targets().Count("healthy") != 2 || wanted(two) != 0 {
		t.Errorf("%d tasks, then %d; old %d, new %d", n, len(b.tasks()), wanted(one), wanted(two))
	}
	three := b.set(svc, "sim/web:v3", 100)
	b.status(svc, "SUCCESSFUL")
	if svc.Primary() != three || len(svc.TaskSets) != 1 {
		t.Errorf("%d deployments", len(svc.TaskSets))
	}
}

func TestAFirstDeploymentHasNothingToGoBackTo(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("ECS", 1)
	b.Do(func(tx *world.Tx) { b.law.SetRules(tx, svc, on(true)) })
	ts := b.set(svc, "sim/web:v1-noboot", 100)
	r := b.status(svc, "ROLLBACK_FAILED")
	if ts.RolloutState != "FAILED" || r.Rollback != nil ||
		r.Reason != "No rollback candidate was found to run the rollback." {
		t.Errorf("%s, %+v", ts.RolloutState, r)
	}
	starts := told(svc, "has started")
	b.Run(time.Hour)
	if told(svc, "has started") != starts {
		t.Error("a failed deployment starts tasks")
	}
}

// What is being rolled back to cannot be rolled back to again.
func TestADeploymentDuringARollbackHasNothingToGoBackTo(t *testing.T) {
	b, svc, one := rolling(t, 2, on(true))
	b.set(svc, "sim/web:v2-noboot", 100)
	b.status(svc, "ROLLBACK_IN_PROGRESS")
	overtaken := b.newest(svc)
	three := b.set(svc, "sim/web:v3-noboot", 100)
	b.status(svc, "ROLLBACK_FAILED")
	if three.RolloutState != "FAILED" || one.RolloutState != "IN_PROGRESS" || wanted(one) != 2 {
		t.Errorf("%s, %s, %d old tasks", three.RolloutState, one.RolloutState, wanted(one))
	}
	if overtaken.Status != "STOP_REQUESTED" {
		t.Errorf("the overtaken rollout is %s", overtaken.Status)
	}
}

func TestARollbackThatFailsIsTheEnd(t *testing.T) {
	rules := on(true)
	rules.Bake = time.Hour
	b := newBench(t, world.Options{})
	svc := b.service("ECS", 1)
	one := b.set(svc, "sim/web:v1", 100)
	b.until("the first", 10*time.Minute, func() bool { return one.RolloutState == "COMPLETED" })
	b.Do(func(tx *world.Tx) { b.law.SetRules(tx, svc, rules) })
	b.set(svc, "sim/web:v2", 100)
	b.until("the old tasks are gone", 20*time.Minute, func() bool { return len(svc.TaskSets) == 1 })
	one.Definition.Containers[0].Image = "sim/web:v1-noboot"
	b.Do(func(tx *world.Tx) { b.law.StopRollout(tx, b.newest(svc)) })
	r := b.status(svc, "ROLLBACK_FAILED")
	if one.RolloutState != "FAILED" || r.Rollback.To != one || b.targets().Count("healthy") != 1 {
		t.Errorf("%s, back to %v, %d healthy", one.RolloutState, r.Rollback, b.targets().Count("healthy"))
	}
}

func TestStagesAndResetsOfTheCount(t *testing.T) {
	for _, c := range []struct {
		name       string
		cumulative bool
		want       string
	}{{"a healthy task sets the count back", false, "SUCCESSFUL"},
		{"the count is cumulative", true, "ROLLBACK_SUCCESSFUL"}} {
		t.Run(c.name, func(t *testing.T) {
			rules := on(true)
			rules.Breaker.Cumulative, rules.Breaker.Type, rules.Breaker.Value = c.cumulative, "COUNT", 4
			b, svc, _ := rolling(t, 4, rules)
			svc.MaxPercent = 125 // one at a time
			two := b.set(svc, "sim/web:v2", 100)
			r := b.newest(svc)
			crashed := map[*world.Task]bool{}
			b.until("an end", time.Hour, func() bool {
				for _, x := range two.Tasks {
					young := x.LastStatus == "RUNNING" && x.DesiredStatus == "RUNNING" &&
						b.targets().Find(x.Address.String(), 8080).State == "initial"
					if young && !crashed[x] && len(crashed)%3 < 2 {
						crashed[x] = true
						b.Do(func(tx *world.Tx) { b.law.CrashTask(tx, x, 1) })
					} else if young && !crashed[x] {
						crashed[x] = true // this one lives
					}
				}
				return r.HasEnded()
			})
			if r.Status != c.want {
				t.Errorf("%s after %d crashes: %+v", r.Status, len(crashed), r.Breaker())
			}
		})
	}
}

func TestFailedTasksAreNoLongerCountedOnceOneRanWell(t *testing.T) {
	b, svc, _ := rolling(t, 2, scheduler.Rules{})
	two := b.set(svc, "sim/web:v2-crash-after-1s", 100)
	b.until("failures", 10*time.Minute, func() bool { return two.FailedTasks > 2 })
	three := b.set(svc, "sim/web:v3", 100)
	b.until("completed", 20*time.Minute, func() bool { return three.RolloutState == "COMPLETED" })
	b.Do(func(tx *world.Tx) { b.law.CrashTask(tx, three.Tasks[0], 1) })
	b.Run(5 * time.Minute)
	if three.FailedTasks != 0 || three.RolloutState != "COMPLETED" || b.newest(svc).Status != "SUCCESSFUL" {
		t.Errorf("%d failed, %s", three.FailedTasks, three.RolloutState)
	}
}

func TestTheThresholdFollowsTheDesiredCount(t *testing.T) {
	b, svc, _ := rolling(t, 2, on(false))
	b.set(svc, "sim/web:v2-never-healthy", 100)
	r := b.newest(svc)
	b.Do(func(tx *world.Tx) { b.law.SetDesired(tx, svc, 40) })
	b.until("failures", time.Hour, func() bool { return r.Breaker().Count >= 3 })
	if m := r.Breaker(); m.Threshold != 20 || r.Status != "IN_PROGRESS" || m.Status != "MONITORING" {
		t.Errorf("%s %+v", r.Status, m)
	}
	b.status(svc, "STOPPED")
}

func TestNoPlaceOpensTheCircuitBreaker(t *testing.T) {
	for _, ignores := range []bool{false, true} {
		k := world.DefaultSettings()
		k.BreakerIgnoresPlacement = ignores
		b := newBench(t, world.Options{Settings: &k})
		svc := b.service("ECS", 1)
		b.Do(func(tx *world.Tx) { b.law.SetRules(tx, svc, on(true)) })
		one := b.set(svc, "sim/web:v1", 100)
		b.until("the first", 10*time.Minute, func() bool { return one.RolloutState == "COMPLETED" })
		b.Do(func(tx *world.Tx) { tx.ActiveFaults.NoCapacity = map[string]bool{"web": true} })
		b.set(svc, "sim/web:v2", 100)
		b.Run(30 * time.Minute)
		if want := map[bool]string{false: "ROLLBACK_SUCCESSFUL",
			true: "IN_PROGRESS"}[ignores]; b.newest(svc).Status != want {
			t.Errorf("ignores=%v: %s", ignores, b.newest(svc).Status)
		}
		if told(svc, "was unable to place a task.") != 1 || b.targets().Count("healthy") != 1 {
			t.Errorf("events %v", svc.Events)
		}
	}
}

func TestCrashesAreNotCountedIfTheSettingIsOff(t *testing.T) {
	k := world.DefaultSettings()
	k.BreakerIgnoresExits = true
	b := newBench(t, world.Options{Settings: &k})
	svc := b.service("ECS", 1)
	b.Do(func(tx *world.Tx) { b.law.SetRules(tx, svc, on(true)) })
	ts := b.set(svc, "sim/web:v1-crash-after-1s", 100)
	b.Run(20 * time.Minute)
	if ts.FailedTasks != 0 || b.newest(svc).Status != "IN_PROGRESS" || told(svc, "has started") < 10 {
		t.Errorf("%d failed, %s", ts.FailedTasks, b.newest(svc).Status)
	}
}

func TestAUserStopsARollout(t *testing.T) {
	b, svc, one := rolling(t, 2, scheduler.Rules{})
	b.set(svc, "sim/web:v2-healthy-after-90s", 100)
	b.Run(30 * time.Second)
	r := b.newest(svc)
	b.Do(func(tx *world.Tx) {
		if !b.law.StopRollout(tx, r) || r.Status != "ROLLBACK_REQUESTED" || r.StoppedAt.IsZero() ||
			b.law.StopRollout(tx, r) {
			t.Errorf("%+v", r)
		}
	})
	b.until("the end", time.Hour, r.HasEnded)
	if r.Status != "ROLLBACK_SUCCESSFUL" || svc.Primary() != one || b.targets().Count("healthy") != 2 ||
		r.Breaker().Status != "DISABLED" {
		t.Errorf("%s", r.Status)
	}
}

func TestANewerDeploymentStopsTheOlder(t *testing.T) {
	b, svc, one := rolling(t, 2, on(true))
	b.set(svc, "sim/web:v2-healthy-after-200s", 100)
	b.Run(40 * time.Second)
	older := b.newest(svc)
	three := b.set(svc, "sim/web:v3", 100)
	if older.Status != "STOP_REQUESTED" {
		t.Errorf("the older is %s", older.Status)
	}
	b.status(svc, "SUCCESSFUL")
	if older.Status != "STOPPED" || older.Target.Status != "INACTIVE" || one.Status != "INACTIVE" ||
		svc.Primary() != three || len(b.newest(svc).Sources) != 2 {
		t.Errorf("the older is %s, its deployment %s, %d sources", older.Status, older.Target.Status,
			len(b.newest(svc).Sources))
	}
}

func TestACompletedRollingServiceIsAtRest(t *testing.T) {
	b, svc, _ := rolling(t, 2, on(true))
	b.set(svc, "sim/web:v2-never-healthy", 100)
	b.status(svc, "ROLLBACK_SUCCESSFUL")
	b.Run(2 * time.Hour) // stopped tasks are forgotten
	if at, ok := b.World.NextDue(); ok {
		t.Errorf("something is due at %s in a world at rest", at)
	}
}

// Starts that failed before the first task ran are forgotten when one runs.
func TestTheFirstTaskThatRunsSetsTheCountBack(t *testing.T) {
	rules := on(true)
	rules.Breaker.Type, rules.Breaker.Value = "COUNT", 4
	b, svc, _ := rolling(t, 1, rules)
	two := b.set(svc, "sim/web:v2-noboot", 100)
	ended := func(code string) (n int) {
		for _, x := range b.tasks() {
			if x.Set == two && x.StopCode == code {
				n++
			}
		}
		return n
	}
	b.until("two starts that fail", time.Hour, func() bool { return ended("TaskFailedToStart") == 2 })
	two.Definition.Containers[0].Image = "sim/web:v2-healthy-after-1h-crash-after-2s-exit-3"
	b.status(svc, "ROLLBACK_SUCCESSFUL")
	if n := ended("EssentialContainerExited"); ended("TaskFailedToStart") == 2 && n != 4 {
		t.Errorf("%d crashes opened the circuit breaker, want four: the two failed starts before the first RUNNING "+
			"task do not count", n)
	}
}

// A rollback goes to a deployment that was completed, past one that was overtaken.
func TestARollbackPassesOverWhatWasNeverCompleted(t *testing.T) {
	b, svc, one := rolling(t, 1, on(true))
	two := b.set(svc, "sim/web:v2-noboot", 100)
	b.Run(20 * time.Second)
	b.set(svc, "sim/web:v3-noboot", 100)
	r := b.status(svc, "ROLLBACK_SUCCESSFUL")
	if r.Rollback.To != one || two.RolloutState == "COMPLETED" {
		t.Errorf("back to %s, which is %s; want the first deployment", r.Rollback.To.ID, r.Rollback.To.RolloutState)
	}
}

// A rollback that fails is not rolled back, although an older deployment was
// completed.
func TestARollbackThatFailsTriesNoOlderDeployment(t *testing.T) {
	rules := on(true)
	b, svc, one := rolling(t, 1, rules)
	two := b.set(svc, "sim/web:v2", 100)
	b.until("the second", 30*time.Minute, func() bool {
		return two.RolloutState == "COMPLETED" &&
			len(svc.TaskSets) == 1
	})
	rules.Bake = time.Hour
	b.Do(func(tx *world.Tx) { b.law.SetRules(tx, svc, rules) })
	b.set(svc, "sim/web:v3", 100)
	b.until("the old tasks are gone", 20*time.Minute, func() bool { return len(svc.TaskSets) == 1 })
	two.Definition.Containers[0].Image = "sim/web:v2-noboot"
	b.Do(func(tx *world.Tx) { b.law.StopRollout(tx, b.newest(svc)) })
	r := b.newest(svc)
	b.until("an end", 2*time.Hour, func() bool {
		return strings.HasPrefix(r.Status, "ROLLBACK_FAILED") || strings.HasPrefix(r.Status, "ROLLBACK_SUCC")
	})
	if r.Status != "ROLLBACK_FAILED" || r.Rollback.To != two || one.Status == "PRIMARY" {
		t.Errorf("%s, back to %s", r.Status, r.Rollback.To.ID)
	}
}
