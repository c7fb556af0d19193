package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// countFailure counts a failed task of a set: one that could not be placed, did not run, ended
// before it was healthy, or was stopped as unhealthy. failedTasks is not counted after a task was
// healthy. The circuit breaker counts until the end of the rollout.
func countFailure(ts *world.TaskSet) {
	n := stateOfSet(ts)
	if !n.wasHealthy {
		ts.FailedTasks++
	}
	if ts.RolloutState == "IN_PROGRESS" {
		n.failures++
	}
}

// countExit counts a task whose essential container ended by itself before the task was healthy.
func countExit(tx *world.Tx, t *world.Task) {
	if t.Set != nil && !stateOfTask(t).wasHealthy && !tx.Settings().BreakerIgnoresExits {
		countFailure(t.Set)
	}
}

// noteRunning ends the first stage of the circuit breaker: a task reached RUNNING.
func noteRunning(t *world.Task) {
	n := stateOfSet(t.Set)
	if !n.reachedRunning {
		n.reachedRunning = true
		resetFailures(t.Set)
	}
}

// noteHealthy records that a task is healthy for the first time.
func noteHealthy(t *world.Task) {
	n := stateOfTask(t)
	if n.wasHealthy {
		return
	}
	n.wasHealthy, stateOfSet(t.Set).wasHealthy = true, true
	t.Set.FailedTasks = 0
	resetFailures(t.Set)
}

func resetFailures(ts *world.TaskSet) {
	if !stateOfService(ts.Service).rules.Breaker.Cumulative {
		stateOfSet(ts).failures = 0
	}
}

// countUnplaced counts a start that could not be placed. With an enabled circuit breaker the
// scheduler tries again by itself; otherwise it waits for a change.
func countUnplaced(tx *world.Tx, ts *world.TaskSet, why *Obstacle) {
	addNoPlaceEvent(tx, ts, why)
	n, svc := stateOfSet(ts), ts.Service
	if svc.Controller != "ECS" || ts.RolloutState != "IN_PROGRESS" || tx.Settings().BreakerIgnoresPlacement {
		return
	}
	countFailure(ts)
	if !stateOfService(svc).rules.Breaker.Enable {
		return
	}
	n.noStartBefore = tx.Now().Add(backoffDelay(tx.Settings().RestartBackoff, n.unplacedInRow))
	n.unplacedInRow++
	reconcileAt(tx, svc, n.noStartBefore)
}
