package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

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
			if one.Status != "ACTIVE" || two.Status != "PRIMARY" ||
				two.RolloutReason != "ECS deployment "+two.ID+" in progress." {
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
			if len(svc.TaskSets) != 1 ||
				told(svc, "(service api) (deployment "+two.ID+") deployment completed.") != 1 ||
				told(svc, "(service api) has reached a steady state.") != 2 {
				t.Errorf("%d deployments, events %v", len(svc.TaskSets), svc.Events)
			}
		})
	}
}

func wanted(ts *world.TaskSet) int {
	return ts.Count(func(x *world.Task) bool { return x.DesiredStatus == "RUNNING" })
}

func TestARollingUpdateThatCannotMoveIsReported(t *testing.T) {
	b := newBench(t, world.Options{})
	svc := b.service("ECS", 2)
	one := b.set(svc, "sim/web:v1", 100)
	b.until("the first deployment", 10*time.Minute, func() bool { return one.RolloutState == "COMPLETED" })
	svc.MinPercent, svc.MaxPercent = 75, 125
	two := b.set(svc, "sim/web:v2", 100)
	b.Run(time.Hour)
	text := "(service api) was unable to stop or start tasks during a deployment because of the service deployment " +
		"configuration."
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
