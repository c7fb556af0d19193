package scheduler_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// A task of the former revision that dies during a rolling update is replaced by its own revision, also
// if the new one never becomes healthy.
func TestAFormerTaskIsReplacedByItsOwnRevision(t *testing.T) {
	for name, end := range map[string]func(*bench, *world.Task){
		"it ends":       func(b *bench, x *world.Task) { b.Do(func(tx *world.Tx) { b.law.CrashTask(tx, x, 1) }) },
		"it is stopped": func(b *bench, x *world.Task) { b.Do(func(tx *world.Tx) { b.law.StopByUser(tx, x, "") }) },
		"it is unhealthy": func(b *bench, x *world.Task) {
			b.Do(func(tx *world.Tx) {
				for _, target := range b.targetsOf(tx, x) {
					tx.SetTarget(target, "unhealthy", "Target.Timeout", "Request timed out")
				}
			})
		},
	} {
		b, svc, one := rolling(t, 2, scheduler.Rules{})
		two := b.set(svc, "sim/web:v2-never-healthy", 100)
		b.Run(5 * time.Minute)
		x := one.Tasks[0]
		end(b, x)
		b.until(name+": the replacement serves", 10*time.Minute, func() bool {
			return x.DesiredStatus == "STOPPED" && b.targets().Count("healthy") == 2
		})
		b.Run(10 * time.Minute)
		if wanted(one) != 2 || wanted(one)+wanted(two) > 4 || svc.Primary() != two {
			t.Errorf("%s: %d former tasks, %d new ones", name, wanted(one), wanted(two))
		}
	}
}

func (b *bench) targetsOf(tx *world.Tx, x *world.Task) (all []*world.Target) {
	g, _ := tx.TargetGroups.Get(b.group)
	for _, t := range g.Targets {
		if t.Task == x {
			all = append(all, t)
		}
	}
	return all
}

// All former tasks die together: they come back, and the update ends when the new version is healthy.
func TestAllFormerTasksAreReplaced(t *testing.T) {
	b, svc, one := rolling(t, 2, scheduler.Rules{})
	two := b.set(svc, "sim/web:v2-never-healthy", 100)
	b.Run(2 * time.Minute)
	for _, x := range append([]*world.Task{}, one.Tasks...) {
		b.Do(func(tx *world.Tx) { b.law.CrashTask(tx, x, 1) })
	}
	b.until("they are back", 10*time.Minute, func() bool { return running(one) == 2 && b.targets().Count("healthy") == 2 })
	three := b.set(svc, "sim/web:v3", 100)
	b.until("the end", 30*time.Minute, func() bool { return three.RolloutState == "COMPLETED" })
	if len(svc.TaskSets) != 1 || two.Status != "INACTIVE" || one.Status != "INACTIVE" {
		t.Errorf("%d deployments", len(svc.TaskSets))
	}
}

// A scale-out during a rolling update starts tasks of both revisions, within maximumPercent. A scale-in
// stops none that callers need.
func TestAScaleOutAppliesToBothRevisions(t *testing.T) {
	b, svc, one := rolling(t, 2, scheduler.Rules{})
	two := b.set(svc, "sim/web:v2-never-healthy", 100)
	b.Run(2 * time.Minute)
	b.Do(func(tx *world.Tx) { b.law.SetDesired(tx, svc, 4) })
	b.until("both are scaled out", 10*time.Minute, func() bool { return b.targets().Count("healthy") == 4 && wanted(two) == 4 })
	b.Do(func(tx *world.Tx) { b.law.SetDesired(tx, svc, 3) })
	b.until("both are scaled in", 10*time.Minute, func() bool { return wanted(one) == 3 && wanted(two) == 3 })
	if n := b.targets().Count("healthy"); n < 3 {
		t.Errorf("%d healthy targets", n)
	}
}

// A former task that dies leaves no gap at maximumPercent 100: the new revision waits for its place.
func TestAFormerTaskKeepsItsPlace(t *testing.T) {
	b, svc, one := rolling(t, 4, scheduler.Rules{})
	svc.MinPercent, svc.MaxPercent = 50, 100
	two := b.set(svc, "sim/web:v2-never-healthy", 100)
	b.until("half of them are new", 5*time.Minute, func() bool { return wanted(one) == 2 && running(two) == 2 })
	b.Do(func(tx *world.Tx) { b.law.CrashTask(tx, one.Tasks[0], 1) })
	b.Run(5 * time.Minute)
	if wanted(one) != 2 || wanted(two) > 2 {
		t.Errorf("%d former tasks, %d new ones", wanted(one), wanted(two))
	}
}

// A deployment that failed leaves the former tasks. The next one that fails leaves them too.
func TestFormerTasksServeAfterTwoFailures(t *testing.T) {
	b, svc, _ := rolling(t, 4, scheduler.Rules{Breaker: scheduler.Breaker{Enable: true}})
	for range 2 {
		set := b.set(svc, "sim/web:v2-noboot", 100)
		b.until("it fails", 30*time.Minute, func() bool { return set.RolloutState == "FAILED" })
		b.Run(5 * time.Minute)
		if n := b.targets().Count("healthy"); n < 4 {
			t.Fatalf("%d healthy targets", n)
		}
	}
}
