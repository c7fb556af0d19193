package verdict

import "time"

// NextTaskPoll returns the time until the next poll of tasks that run to their end. still is the
// time since the last change.
func NextTaskPoll(still time.Duration) time.Duration {
	return min(max(still/5, time.Second), 10*time.Second)
}
