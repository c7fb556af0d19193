package verdict

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sluice-ecs/sluice"
)

var targetGroupPattern = regexp.MustCompile(`\(target-group (\S+?)\)`)

// CauseOf returns why a task failed, in words that are equal for all tasks that failed the same
// way. ok is false for tasks that did not fail: scaled in, stopped by a person, moved off a host.
func CauseOf(t sluice.StoppedTask) (text string, ok bool) {
	reason := t.StoppedReason
	switch t.StopCode {
	case "EssentialContainerExited":
		return exitCause(t), true
	case "TaskFailedToStart":
		return firstNonEmpty(t.ContainerReason, reason, "the task failed to start"), true
	case "ServiceSchedulerInitiated":
		if strings.Contains(reason, "health checks") {
			return targetGroupPattern.ReplaceAllStringFunc(reason, shortGroup), true
		}
		return "", false
	case "SpotInterruption", "TerminationNotice", "InfrastructureHealth", "UserInitiated":
		return "", false
	}
	if t.ExitCode != nil && *t.ExitCode != 0 {
		return exitCause(t), true
	}
	return "", false
}

func exitCause(t sluice.StoppedTask) string {
	var b strings.Builder
	if t.ExitCode != nil {
		fmt.Fprintf(&b, "exit code %d", *t.ExitCode)
		if meaning := exitMeaning(*t.ExitCode); meaning != "" {
			fmt.Fprintf(&b, " (%s)", meaning)
		}
	} else {
		b.WriteString("essential container exited")
	}
	if t.Container != "" {
		fmt.Fprintf(&b, " of container %s", t.Container)
	}
	if t.ContainerReason != "" {
		fmt.Fprintf(&b, ": %s", t.ContainerReason)
	}
	return b.String()
}

// exitMeaning explains exit codes that the kernel and shells give (ECS Developer Guide, "Amazon ECS
// stopped tasks error messages").
func exitMeaning(code int) string {
	switch code {
	case 126:
		return "the command cannot be executed"
	case 127:
		return "command not found"
	case 137:
		return "killed: SIGKILL, often out of memory"
	case 139:
		return "segmentation fault"
	case 143:
		return "SIGTERM"
	}
	return ""
}

// shortGroup keeps only the name of a target group, since the rest of the ARN adds no information.
func shortGroup(match string) string {
	arn := targetGroupPattern.FindStringSubmatch(match)[1]
	parts := strings.Split(arn, "/")
	if len(parts) < 2 {
		return match
	}
	return "(target-group " + parts[len(parts)-2] + ")"
}

func firstNonEmpty(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}
