package autoscaler_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func asIs(*autoscaler.Tracking) {}

func TestBoundsMoveTheDesiredCount(t *testing.T) {
	for name, c := range map[string]struct{ lo, hi, want int }{
		"inside the bounds": {2, 8, 4}, "below the minimum": {6, 8, 6}, "above the maximum": {1, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "EXTERNAL", 4)
			b.Do(func(tx *world.Tx) {
				b.scaler.SetBounds(tx, b.target, c.lo, c.hi, autoscaler.Suspended{In: true, Out: true, Scheduled: true})
			})
			b.expectDesired("at once", c.want)
			b.awaitRunning()
			var activities []*autoscaler.Activity
			b.Do(func(tx *world.Tx) { activities = autoscaler.StateOf(tx).Activities })
			if (len(activities) == 1) != (c.want != 4) || c.want != 4 && activities[0].Desired != c.want {
				t.Errorf("%d activities", len(activities))
			}
		})
	}
}

// A service that is not ACTIVE is not scaled.
func TestBoundsOfADeletedServiceChangeNothing(t *testing.T) {
	b := newBench(t, "EXTERNAL", 4)
	b.Do(func(tx *world.Tx) {
		b.service.Status = "DRAINING"
		b.scaler.SetBounds(tx, b.target, 6, 8, autoscaler.Suspended{})
	})
	b.expectDesired("deleted", 4)
}

// The high alarm needs three minutes above the target; the count then is what brings the tasks to it.
func TestScalesOutAfterThreeMinutes(t *testing.T) {
	b := newBench(t, "EXTERNAL", 2)
	b.track(180, func(p *autoscaler.Tracking) { p.Out = 10 * time.Minute })
	b.Run(2*time.Minute + 59*time.Second)
	b.expectDesired("before three minutes", 2)
	b.Run(time.Second)
	b.expectDesired("after three minutes", 4) // two tasks at 90 percent, for 50 percent each
	b.Do(func(tx *world.Tx) { tx.SetDemand(b.service, 400) })
	b.Run(9 * time.Minute)
	b.expectDesired("during the cooldown", 4)
	b.Run(time.Minute)
	b.expectDesired("after the cooldown", 8)
	b.Run(time.Hour)
	b.expectDesired("at the target", 8)
}

// The low alarm needs fifteen minutes below nine tenths of the target.
func TestScalesInAfterFifteenMinutes(t *testing.T) {
	for name, c := range map[string]struct {
		demand float64
		edit   func(*autoscaler.Tracking)
		want   int
	}{
		"far below the target":    {60, asIs, 2},
		"above nine tenths of it": {182, asIs, 4},
		"scale-in is disabled":    {60, func(p *autoscaler.Tracking) { p.DisableScaleIn = true }, 4},
		"no demand":               {0, asIs, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "EXTERNAL", 4)
			b.track(c.demand, c.edit)
			b.Run(14 * time.Minute)
			b.expectDesired("after 14 minutes", 4)
			b.Run(time.Minute)
			b.expectDesired("after 15 minutes", c.want)
		})
	}
}

// Scaling needs the consent of every policy to scale in, and of one to scale out.
func TestEveryPolicyMustWantToScaleIn(t *testing.T) {
	b := newBench(t, "EXTERNAL", 4)
	b.track(60, asIs)
	b.Do(func(tx *world.Tx) {
		b.scaler.PutPolicy(tx, b.target, &autoscaler.Policy{Name: "low", Tracking: &autoscaler.Tracking{Target: 15}})
	})
	b.Run(time.Hour)
	b.expectDesired("one policy is at its target", 4)
	b.Do(func(tx *world.Tx) { tx.SetDemand(b.service, 80) })
	b.Run(3 * time.Minute)
	b.expectDesired("one policy is above its target", 6)
}

// Without a metric no policy scales.
func TestNoScalingWithoutAMetric(t *testing.T) {
	b := newBench(t, "EXTERNAL", 4)
	b.track(400, asIs)
	b.Do(func(*world.Tx) { b.service.Demand = nil })
	b.Run(time.Hour)
	b.expectDesired("no metric", 4)
	b.Do(func(tx *world.Tx) { tx.SetDemand(b.service, 400) })
	b.Run(3 * time.Minute)
	b.expectDesired("a metric", 8)
}

// A suspended direction does not scale. When it is resumed while its alarm is raised, it does at once.
func TestSuspendedDirections(t *testing.T) {
	for name, c := range map[string]struct {
		demand    float64
		suspended autoscaler.Suspended
		resumed   int // the desired count when nothing is suspended any more
	}{
		"out": {400, autoscaler.Suspended{Out: true}, 8},
		"in":  {60, autoscaler.Suspended{In: true}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "EXTERNAL", 4)
			b.suspend(c.suspended)
			b.track(c.demand, asIs)
			b.Run(time.Hour)
			b.expectDesired("suspended", 4)
			b.suspend(autoscaler.Suspended{})
			b.expectDesired("resumed", c.resumed)
		})
	}
}

// Scale-in waits while CodeDeploy deploys. With the controller EXTERNAL it does not, because AWS does
// not know of the deployment.
func TestScaleInDuringADeployment(t *testing.T) {
	for controller, want := range map[string]int{"EXTERNAL": 2, "CODE_DEPLOY": 4} {
		t.Run(controller, func(t *testing.T) {
			b := newBench(t, controller, 4)
			b.Do(func(*world.Tx) { b.service.DeployedBy = "d-1" })
			b.track(60, asIs)
			b.Run(time.Hour)
			b.expectDesired("during the deployment", want)
			b.Do(func(*world.Tx) { b.service.DeployedBy = "" })
			b.Run(time.Minute)
			b.expectDesired("after it", 2)
		})
	}
}

func TestNothingScalesARemovedTarget(t *testing.T) {
	b := newBench(t, "EXTERNAL", 4)
	b.track(400, asIs)
	six := 6
	b.Do(func(tx *world.Tx) {
		b.scaler.AddScheduled(tx, b.target, &autoscaler.Scheduled{Name: "more", Min: &six}, time.Time{}, time.Minute)
		b.scaler.RemoveTarget(tx, b.target)
	})
	b.Run(time.Hour)
	b.expectDesired("removed", 4)
	b.Do(func(tx *world.Tx) {
		if n := autoscaler.StateOf(tx).Targets.Len(); n != 0 {
			t.Errorf("%d targets are left", n)
		}
	})
}

// Each case adds a scheduled action at noon that raises the minimum of 4 running tasks to 6.
func TestScheduledActions(t *testing.T) {
	six := 6
	for name, c := range map[string]struct {
		at         time.Duration // after noon; 0: it has no such time
		every      time.Duration
		start, end time.Duration // after noon; 0: none
		suspended  bool
		runs       time.Duration // when it runs first; 0: never
	}{
		"once":                       {at: 30 * time.Minute, runs: 30 * time.Minute},
		"once, in the past":          {at: -time.Minute},
		"repeatedly":                 {every: 20 * time.Minute, runs: 20 * time.Minute},
		"repeatedly from a start on": {every: 20 * time.Minute, start: time.Hour, runs: 80 * time.Minute},
		"after its end":              {every: 20 * time.Minute, end: 10 * time.Minute},
		"suspended":                  {every: 20 * time.Minute, suspended: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "EXTERNAL", 4)
			noon := b.Clock.Now()
			after := func(d time.Duration) time.Time {
				if d == 0 {
					return time.Time{}
				}
				return noon.Add(d)
			}
			b.suspend(autoscaler.Suspended{Scheduled: c.suspended})
			b.Do(func(tx *world.Tx) {
				b.scaler.AddScheduled(tx, b.target, &autoscaler.Scheduled{Name: "more", Min: &six, Start: after(c.start),
					End: after(c.end)}, after(c.at), c.every)
			})
			if c.runs == 0 {
				b.Run(24 * time.Hour)
				b.expectDesired("a day later", 4)
				return
			}
			b.Run(c.runs - time.Second)
			b.expectDesired("before its time", 4)
			b.Run(time.Second)
			b.expectDesired("at its time", 6)
		})
	}
}

// A repeated action runs again, an action of the same name replaces it, and a removed one never runs.
func TestScheduledActionsAreReplacedAndRemoved(t *testing.T) {
	b := newBench(t, "EXTERNAL", 4)
	two, six, eight := 2, 6, 8
	add := func(a *autoscaler.Scheduled) {
		b.Do(func(tx *world.Tx) { b.scaler.AddScheduled(tx, b.target, a, time.Time{}, time.Hour) })
	}
	lower := func() {
		b.Do(func(tx *world.Tx) { b.scaler.SetBounds(tx, b.target, 1, 4, autoscaler.Suspended{}) })
	}
	add(&autoscaler.Scheduled{Name: "more", Min: &six})
	b.Run(time.Hour)
	b.expectDesired("the first run", 6)
	lower()
	b.Run(time.Hour)
	b.expectDesired("the second run", 6)
	lower()
	more := &autoscaler.Scheduled{Name: "more", Min: &eight}
	add(more)
	b.Run(time.Hour)
	b.expectDesired("replaced", 8)
	lower()
	b.Do(func(tx *world.Tx) { b.scaler.RemoveScheduled(tx, b.target, more) })
	b.Run(24 * time.Hour)
	b.expectDesired("removed", 4)
	add(&autoscaler.Scheduled{Name: "fewer", Max: &two})
	b.Run(time.Hour)
	b.expectDesired("a lower maximum", 2)
}
