package verdict

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// TaskFailure returns why a task that was run to its end failed; "" if it succeeded. Success means
// that it stopped by itself and the watched container exited with 0. The exit codes of sidecars do
// not matter, since ECS stops them then.
func TaskFailure(t sluice.TaskEnded, watch string) string {
	c, known := t.Container(watch)
	switch {
	case t.StopCode == "TaskFailedToStart":
		return "it did not start: " + firstNonEmpty(reasonOf(t), t.Reason, "no reason given")
	case t.StopCode != "" && t.StopCode != "EssentialContainerExited":
		return fmt.Sprintf("it was stopped (%s): %s", t.StopCode, firstNonEmpty(t.Reason, "no reason given"))
	case !known:
		return "container " + watch + " is not in the task"
	case c.ExitCode == nil || *c.ExitCode != 0:
		return taskExit(c)
	}
	return ""
}

func taskExit(c sluice.ContainerEnded) string {
	text := c.String()
	if c.ExitCode == nil {
		return text
	}
	if meaning := exitMeaning(*c.ExitCode); meaning != "" {
		text = strings.Replace(text, fmt.Sprintf("exited with %d", *c.ExitCode),
			fmt.Sprintf("exited with %d (%s)", *c.ExitCode, meaning), 1)
	}
	return text
}

func reasonOf(t sluice.TaskEnded) string {
	for _, c := range t.Containers {
		if c.Reason != "" {
			return c.Reason
		}
	}
	return ""
}

// NextRemovalPoll returns the time until the next poll of a wait for AWS to stop or remove something.
// still is the time since the last change. A drain takes the deregistration delay, 300 s by default,
// so a poll every two seconds would show nothing new.
func NextRemovalPoll(still time.Duration) time.Duration {
	return min(max((still/4).Truncate(time.Second), 2*time.Second), 5*time.Second)
}

// NextTaskPoll returns the time until the next poll of tasks that run to their end. still is the
// time since the last change.
func NextTaskPoll(still time.Duration) time.Duration {
	return min(max(still/5, time.Second), 10*time.Second)
}
