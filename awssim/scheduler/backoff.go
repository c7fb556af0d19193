package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxBackoff is the longest wait between starts (Developer Guide, "Service throttle logic").
const longestHold = 27 * time.Minute

// countFailedStart counts a start that did not reach RUNNING. All starts of one round count once.
// From the second failed round in a row on, the next start waits, twice as long each time.
func (s *Scheduler) startFailed(tx *world.Tx, t *world.Task) {
	failed(t.Set)
	n := setNote(t.Set)
	if taskNote(t).epoch != n.epoch {
		return
	}
	n.epoch++
	n.failed++
	if n.failed < 2 {
		return
	}
	n.heldTill = tx.Now().Add(hold(tx.Knobs().RestartBackoff, n.failed-2))
	if !n.impaired {
		n.impaired = true
		tell(tx, t.Service, "(service %s) is unable to consistently start tasks successfully.", t.Service.Name)
	}
}

// backoffDelay returns the wait after some doublings, at least one second: starts that fail
// immediately must not stop the world's time.
func hold(first time.Duration, doublings int) time.Duration {
	d := max(first, time.Second)
	for range doublings {
		if d *= 2; d >= longestHold {
			return longestHold
		}
	}
	return min(d, longestHold)
}

// noteStarted ends the backoff: a task reached RUNNING.
func (s *Scheduler) startWorked(t *world.Task) {
	release(t.Set)
	ran(t)
}

// resetBackoff clears the failed starts. It is also called at any change of the service.
func release(ts *world.TaskSet) {
	n := setNote(ts)
	n.failed, n.heldTill, n.impaired, n.noPlace, n.refused, n.unplaced = 0, time.Time{}, false, false, false, 0
	n.epoch++
}
