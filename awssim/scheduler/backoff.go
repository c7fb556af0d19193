package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxBackoff is the longest wait between starts (Developer Guide, "Service throttle logic").
const maxBackoff = 27 * time.Minute

// countFailedStart counts a start that did not reach RUNNING. All starts of one round count once.
// From the second failed round in a row on, the next start waits, twice as long each time.
func countFailedStart(tx *world.Tx, t *world.Task) {
	countFailure(t.Set)
	n := stateOfSet(t.Set)
	if stateOfTask(t).epoch != n.epoch {
		return
	}
	n.epoch++
	n.failedRounds++
	if n.failedRounds < 2 {
		return
	}
	n.noStartBefore = tx.Now().Add(backoffDelay(tx.Settings().RestartBackoff, n.failedRounds-2))
	if !n.impairedReported {
		n.impairedReported = true
		addEvent(tx, t.Service, "(service %s) is unable to consistently start tasks successfully.", t.Service.Name)
	}
}

// backoffDelay returns the wait after some doublings, at least one second: starts that fail
// immediately must not stop the world's time.
func backoffDelay(first time.Duration, doublings int) time.Duration {
	d := max(first, time.Second)
	for range doublings {
		if d *= 2; d >= maxBackoff {
			return maxBackoff
		}
	}
	return min(d, maxBackoff)
}

// noteStarted ends the backoff: a task reached RUNNING.
func noteStarted(t *world.Task) {
	resetBackoff(t.Set)
	noteRunning(t)
}

// resetBackoff clears the failed starts. It is also called at any change of the service.
func resetBackoff(ts *world.TaskSet) {
	n := stateOfSet(ts)
	n.failedRounds, n.noStartBefore, n.impairedReported, n.noPlaceReported, n.roleReported, n.unplacedInRow = 0,
		time.Time{}, false, false, false, 0
	n.epoch++
}
