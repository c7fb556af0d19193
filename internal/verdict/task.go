package verdict

import "time"

// NextRemovalPoll returns the time until the next poll of a wait for AWS to stop or remove something.
// still is the time since the last change. A drain takes the deregistration delay, 300 s by default,
// so a poll every two seconds would show nothing new.
func NextRemovalPoll(still time.Duration) time.Duration {
	return min(max((still/4).Truncate(time.Second), 2*time.Second), 5*time.Second)
}

// NextTaskPoll returns the time until the next poll of tasks that run to their end. still is the
// time since the last change. ordered: the order matters in which their containers end, which only polls in between show.
func NextTaskPoll(still time.Duration, ordered bool) time.Duration {
	if ordered {
		return time.Second
	}
	return min(max(still/5, time.Second), 10*time.Second)
}
