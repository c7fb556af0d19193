package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// countFailure counts a failed task of a set: one that could not be placed, did not run, ended
// before it was healthy, or was stopped as unhealthy. failedTasks is not counted after a task was
// healthy. The circuit breaker counts until the end of the rollout.
func failed(ts *world.TaskSet) {
	n := setNote(ts)
	if !n.proven {
		ts.FailedTasks++
	}
	if ts.RolloutState == "IN_PROGRESS" {
		n.failures++
	}
}

// countExit counts a task whose essential container ended by itself before the task was healthy.
func exited(tx *world.Tx, t *world.Task) {
	if t.Set != nil && !taskNote(t).proven && !tx.Knobs().BreakerIgnoresExits {
		failed(t.Set)
	}
}

// noteRunning ends the first stage of the circuit breaker: a task reached RUNNING.
func ran(t *world.Task) {
	n := setNote(t.Set)
	if !n.ran {
		n.ran = true
		forgive(t.Set)
	}
}

// noteHealthy records that a task is healthy for the first time.
func prove(t *world.Task) {
	n := taskNote(t)
	if n.proven {
		return
	}
	n.proven, setNote(t.Set).proven = true, true
	t.Set.FailedTasks = 0
	forgive(t.Set)
}

func forgive(ts *world.TaskSet) {
	if !serviceNote(ts.Service).rules.Breaker.Cumulative {
		setNote(ts).failures = 0
	}
}

// countUnplaced counts a start that could not be placed. With an enabled circuit breaker the
// scheduler tries again by itself; otherwise it waits for a change.
func (s *Scheduler) unplaced(tx *world.Tx, ts *world.TaskSet) {
	tellNoPlace(tx, ts)
	n, svc := setNote(ts), ts.Service
	if svc.Controller != "ECS" || ts.RolloutState != "IN_PROGRESS" || tx.Knobs().BreakerIgnoresPlacement {
		return
	}
	failed(ts)
	if !serviceNote(svc).rules.Breaker.Enable {
		return
	}
	n.heldTill = tx.Now().Add(hold(tx.Knobs().RestartBackoff, n.unplaced))
	n.unplaced++
	s.pokeAt(tx, svc, n.heldTill)
}
