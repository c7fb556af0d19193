package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// waits makes the container web wait for a container setup that is not essential.
func waits(image, condition string, edit ...func(*world.ContainerSpec)) func(*world.TaskSet) {
	return func(ts *world.TaskSet) {
		ts.Attached = nil
		setup := world.ContainerSpec{Name: "setup", Image: image, StopTimeout: 30 * time.Second}
		for _, f := range edit {
			f(&setup)
		}
		web := &ts.Definition.Containers[0]
		web.DependsOn = []world.Dependency{{Container: "setup", Condition: condition}}
		ts.Definition.Containers = append(ts.Definition.Containers, setup)
	}
}

func checkedEvery10s(s *world.ContainerSpec) {
	s.Health = &world.ContainerHealth{Interval: 10 * time.Second, Timeout: 5 * time.Second, Retries: 3}
}

// A container starts when the one that it depends on is as far as its condition says, and the task
// is RUNNING when all containers were started.
func TestContainersStartInTheirOrder(t *testing.T) {
	for _, c := range []struct {
		image, condition string
		after            time.Duration
		edit             []func(*world.ContainerSpec)
	}{
		{"sim/setup:v1", "START", 0, nil},
		{"sim/setup:v1-crash-after-20s-exit-1", "COMPLETE", 20 * time.Second, nil},
		{"sim/setup:v1-crash-after-20s-exit-0", "SUCCESS", 20 * time.Second, nil},
		{"sim/setup:v1", "SUCCESS", 5 * time.Second, nil}, // its image says nothing about its end
		{"sim/setup:v1-healthy-after-25s", "HEALTHY", 30 * time.Second, []func(*world.ContainerSpec){checkedEvery10s}},
	} {
		b := newBench(t, world.Options{})
		ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1", 100, waits(c.image, c.condition, c.edit...))
		b.until("the first container runs", 5*time.Minute, func() bool {
			return len(ts.Tasks) == 1 && ts.Tasks[0].Containers[1].Status == "RUNNING"
		})
		x := ts.Tasks[0]
		if is := x.LastStatus; c.after > 0 && (is != "ACTIVATING" || x.Containers[0].Status != "PENDING") {
			t.Errorf("%s: the task is %s while setup runs", c.condition, is)
		}
		b.steady(ts)
		web, setup := x.Containers[0], x.Containers[1]
		if d := web.StartedAt.Sub(setup.StartedAt); d != c.after || !x.StartedAt.Equal(web.StartedAt) {
			t.Errorf("%s: web started %s after setup, the task at %s", c.condition, d, x.StartedAt)
		}
	}
}

// A dependency that cannot be met stops the task with the reason of AWS's agent.
func TestADependencyThatCannotBeMetStopsTheTask(t *testing.T) {
	slow := func(s *world.ContainerSpec) { checkedEvery10s(s); s.StartTimeout = 25 * time.Second }
	for want, edit := range map[string]func(*world.TaskSet){
		"[setup(sim/setup:v1-crash-after-5s-exit-3) (STOPPED->RUNNING) - Exit: 3] for target [web(sim/web:v1) " +
			"(NONE->RUNNING)] as dependency did not exit successfully.": waits("sim/setup:v1-crash-after-5s-exit-3", "SUCCESS"),
		"[setup(sim/setup:v1-never-healthy) (RUNNING->RUNNING)] for target [web(sim/web:v1) (NONE->RUNNING)] " +
			"has timed out.": waits("sim/setup:v1-never-healthy", "HEALTHY", slow),
	} {
		b := newBench(t, world.Options{})
		svc := b.service("EXTERNAL", 1)
		ts := b.set(svc, "sim/web:v1", 100, edit)
		b.until("a stopped task", 5*time.Minute, func() bool { return len(b.stopped()) > 0 })
		x := b.stopped()[0]
		web := x.Containers[0]
		if x.StopCode != "TaskFailedToStart" || !x.StartedAt.IsZero() ||
			!strings.HasPrefix(web.Reason, "CannotStartContainerError: dependency graph: ") ||
			!strings.HasSuffix(web.Reason, want) || *web.ExitCode != 143 {
			t.Errorf("%s %q, web %q", x.StopCode, x.StoppedReason, web.Reason)
		}
		if ts.FailedTasks == 0 {
			t.Error("the failure does not count")
		}
	}
}

func (b *bench) stopped() (all []*world.Task) {
	for _, x := range b.tasks() {
		if x.LastStatus == "STOPPED" {
			all = append(all, x)
		}
	}
	return all
}

// A container that is not essential and never starts leaves the task running.
func TestATaskRunsWithoutAContainerThatIsNotEssential(t *testing.T) {
	b := newBench(t, world.Options{})
	ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1", 100, func(ts *world.TaskSet) {
		ts.Attached = nil
		ts.Definition.Containers = append(ts.Definition.Containers,
			world.ContainerSpec{Name: "setup", Image: "sim/setup:v1-crash-after-5s-exit-1"},
			world.ContainerSpec{Name: "copy", Image: "sim/copy:v1",
				DependsOn: []world.Dependency{{Container: "setup", Condition: "SUCCESS"}}},
			world.ContainerSpec{Name: "read", Image: "sim/read:v1",
				DependsOn: []world.Dependency{{Container: "copy", Condition: "START"}}})
	})
	b.steady(ts)
	c := ts.Tasks[0].Containers
	if *c[2].ExitCode != 143 || !strings.HasSuffix(c[3].Reason, "because dependency will never start") {
		t.Errorf("copy %+v, read %+v", c[2], c[3])
	}
}

// A task that is stopped while a container waits gives the running ones their stop signal.
func TestATaskThatStillStartsIsStopped(t *testing.T) {
	b := newBench(t, world.Options{})
	ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1", 100, waits("sim/setup:v1-never-healthy", "HEALTHY", checkedEvery10s))
	b.until("setup runs", 5*time.Minute, func() bool {
		return len(ts.Tasks) == 1 && ts.Tasks[0].Containers[1].Status == "RUNNING"
	})
	x := ts.Tasks[0]
	b.Do(func(tx *world.Tx) { b.law.StopByUser(tx, x, "") })
	b.until("STOPPED", 5*time.Minute, func() bool { return x.LastStatus == "STOPPED" })
	if x.SignalledAt.IsZero() || x.Containers[1].ExitCode == nil || x.Containers[0].ExitCode != nil {
		t.Errorf("signalled %s, %+v, %+v", x.SignalledAt, x.Containers[0], x.Containers[1])
	}
}

// Only essential containers decide the health of a task, and so of a deployment.
func TestASidecarDoesNotDecideHealth(t *testing.T) {
	for _, essential := range []bool{false, true} {
		b, svc, _ := rolling(t, 1, on(true))
		two := b.set(svc, "sim/web:v2", 100, func(ts *world.TaskSet) {
			withCheck(ts)
			side := world.ContainerSpec{Name: "agent", Image: "sim/agent:v1-never-healthy", Essential: essential}
			checkedEvery10s(&side)
			ts.Definition.Containers = append(ts.Definition.Containers, side)
		})
		want := "SUCCESSFUL"
		if essential {
			want = "ROLLBACK_SUCCESSFUL"
		}
		b.status(svc, want)
		if essential {
			continue
		}
		if x := two.Tasks[0]; x.Health != "HEALTHY" || x.Containers[1].Health != "UNHEALTHY" {
			t.Errorf("task %s, agent %s", x.Health, x.Containers[1].Health)
		}
	}
}
