package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// failed counts a task of a set that could not be placed, never ran, ended
// before it was healthy or was stopped as sick. failedTasks is no longer counted
// once a task ran well; the circuit breaker goes on counting, until the end of
// the rollout.
func failed(ts *world.TaskSet) {
	n := setNote(ts)
	if !n.proven {
		ts.FailedTasks++
	}
	if ts.RolloutState == "IN_PROGRESS" {
		n.failures++
	}
}

// exited counts a task whose essential container ended by itself before the task
// was ever healthy.
func exited(tx *world.Tx, t *world.Task) {
	if t.Set != nil && !taskNote(t).proven && !tx.Knobs().BreakerIgnoresExits {
		failed(t.Set)
	}
}

// ran ends the first stage of the circuit breaker: a task reached RUNNING.
func ran(t *world.Task) {
	n := setNote(t.Set)
	if !n.ran {
		n.ran = true
		forgive(t.Set)
	}
}

// prove notes that a task is healthy for the first time.
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

// unplaced counts a start that no place was found for. A circuit breaker that
// watches makes the scheduler try again by itself; else it waits for a change.
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
