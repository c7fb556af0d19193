package diagnosis

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// Cause is a reason why tasks failed, and how often.
type Cause struct {
	Kind  Kind   `json:"kind"`
	Text  string `json:"text"` // "exit code 1 (container web): Essential container in task exited"
	Count int    `json:"count"`
	// Task is the id of one such task. It is empty for a cause that comes from an event, a target or
	// CodeDeploy.
	Task      string `json:"task,omitempty"`
	Container string `json:"-"` // of the task, if one explains its end
	Revision  string `json:"-"` // family:revision of the task
	Group     string `json:"-"` // ARN of the target group in which targets are missing
	Command   string `json:"-"` // that registers them again; empty: not known
}

// String returns the cause with its count and one of its tasks.
func (c Cause) String() string {
	if c.Task == "" {
		return c.Text
	}
	return fmt.Sprintf("%s stopped: %s (task %s)", sluice.Plural(c.Count, "task"), c.Text, c.Task)
}

// NextStep returns what to do about the cause, and then the command that follows it.
func (c Cause) NextStep(then string) string { return c.Advice() + "; " + then }

// Advice returns what to do about the cause: the remedy of its published reason, otherwise that of its kind.
func (c Cause) Advice() string {
	if c.Command != "" {
		return "find what deregistered the targets" + RegisterAgain + c.Command
	}
	r, _ := firstReason(c.Text, func(r reason) bool { return r.kind == c.Kind })
	return cmp.Or(r.advice, c.Kind.Advice())
}

// NeedsHealthCheck reports whether only a passed health check shows that the cause is over.
func (c Cause) NeedsHealthCheck() bool { return c.Kind.row().healthCheck }

// Stopped is a task that stopped or is stopping, with the deployment it belongs to.
type Stopped struct {
	sluice.StoppedTask
	Deployment string // "ecs-svc/<digits>" of its deployment or task set
	Revision   string // family:revision
}

// ran reports whether all containers of the task ran before it stopped.
func (t Stopped) ran() bool { return !t.StartedAt.IsZero() }

// ExplainStop returns why a task failed. It uses the stopped task and the reasons of failed health
// checks, by task, see [ProbeReasons]. ok is false for tasks that did not fail.
func ExplainStop(t Stopped, probes map[string]string) (c Cause, ok bool) {
	text, ok := stopText(t.StoppedTask)
	if !ok {
		return Cause{}, false
	}
	c = Cause{Kind: kindOfStop(t), Text: text, Task: t.ID, Container: t.Container, Revision: t.Revision}
	if said := probes[t.ID]; said != "" && c.Kind == BalancerHealth {
		c.Kind, c.Text = kindOfProbe(said), text+": "+said
	}
	return c, true
}

func kindOfStop(t Stopped) Kind {
	whole := t.StoppedReason + " " + t.ContainerReason
	switch {
	case strings.Contains(whole, "container health checks"):
		return ContainerHealth
	case strings.Contains(whole, "health checks"):
		return BalancerHealth
	}
	return kindOfEnd(whole, t.StopCode == "EssentialContainerExited" || t.ExitCode != nil)
}

// kindOfEnd returns the kind of the reasons why a container ended. Reasons of kinds that prevent a
// start do not explain a container that ran.
func kindOfEnd(reasons string, ran bool) Kind {
	kind := kindOfText(reasons)
	if ran && !kind.row().afterStart {
		return ExitCode
	}
	return kind
}

// stopText returns why a task failed, in words that are equal for all tasks that failed the same
// way. ok is false for tasks that did not fail: scaled in, stopped by a person, moved off a host.
func stopText(t sluice.StoppedTask) (text string, ok bool) {
	reason := t.StoppedReason
	if text := dependencyText(reason + " " + t.ContainerReason); text != "" {
		return text, true
	}
	switch t.StopCode {
	case "EssentialContainerExited":
		return exitText(t), true
	case "TaskFailedToStart":
		return cmp.Or(t.ContainerReason, reason, "the task failed to start"), true
	case "ServiceSchedulerInitiated":
		if strings.Contains(reason, "health checks") {
			return targetGroupPattern.ReplaceAllStringFunc(reason, shortenGroup), true
		}
		return "", false
	case "SpotInterruption", "TerminationNotice", "InfrastructureHealth", "UserInitiated":
		return "", false
	}
	if t.ExitCode != nil && *t.ExitCode != 0 {
		return exitText(t), true
	}
	return "", false
}

func exitText(t sluice.StoppedTask) string {
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

var targetGroupPattern = regexp.MustCompile(`\(target-group (\S+?)\)`)

// shortenGroup keeps only the name of a target group, since the rest of the ARN adds no information.
func shortenGroup(match string) string {
	arn := targetGroupPattern.FindStringSubmatch(match)[1]
	parts := strings.Split(arn, "/")
	if len(parts) < 2 {
		return match
	}
	return "(target-group " + parts[len(parts)-2] + ")"
}
