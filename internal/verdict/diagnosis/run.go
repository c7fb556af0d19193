package diagnosis

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// ExplainRun returns why a task that was run to its end failed. failed is false if it stopped by
// itself and the watched container exited with 0. The exit codes of sidecars do not matter, since
// ECS stops them then. last are the last log lines of the watched container.
func ExplainRun(t sluice.TaskEnded, watch string, last []string) (c Cause, failed bool) {
	c = Cause{Text: runText(t, watch), Count: 1, Task: t.Task, Container: watch, Revision: t.Revision}
	if c.Text == "" {
		return Cause{}, false
	}
	end, _ := t.Container(watch)
	if isStoppedByOther(t) {
		c.Kind = StoppedByOther
		return c, true
	}
	c.Kind = kindOfEnd(t.Reason+" "+cmp.Or(end.Reason, containerReason(t)),
		t.StopCode == "EssentialContainerExited" || end.ExitCode != nil)
	return c.correctBy(Log{Task: t.Task, Container: watch, Lines: last}), true
}

// isStoppedByOther reports whether the watched container did not end by itself.
func isStoppedByOther(t sluice.TaskEnded) bool {
	return t.StoppedBy != "" || t.StopCode != "" && t.StopCode != "EssentialContainerExited" &&
		t.StopCode != "TaskFailedToStart"
}

func runText(t sluice.TaskEnded, watch string) string {
	c, known := t.Container(watch)
	waits := dependencyText(t.Reason + " " + containerReason(t))
	switch {
	case waits != "":
		return "it did not start: " + waits
	case t.StopCode == "TaskFailedToStart":
		return "it did not start: " + cmp.Or(containerReason(t), t.Reason, "no reason given")
	case t.StopCode != "" && t.StopCode != "EssentialContainerExited":
		return fmt.Sprintf("it was stopped (%s): %s", t.StopCode, cmp.Or(t.Reason, "no reason given"))
	case !known:
		return "container " + watch + " is not in the task"
	case t.StoppedBy != "":
		by, _ := t.Container(t.StoppedBy)
		return fmt.Sprintf("ECS stopped container %s, because essential %s first", watch, by)
	case c.ExitCode == nil || *c.ExitCode != 0:
		return containerText(c)
	}
	return ""
}

func containerText(c sluice.ContainerEnded) string {
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

func containerReason(t sluice.TaskEnded) string {
	for _, c := range t.Containers {
		if c.Reason != "" {
			return c.Reason
		}
	}
	return ""
}
