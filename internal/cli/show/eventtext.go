package show

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

// level is the importance of a line.
type level int

const (
	plain level = iota
	faint
	title
	success
	warning
	failure
)

// line is an event as text. The text is empty for an event that is not shown.
type line struct {
	level    level
	text     string
	verbatim bool // the text is another program's, and keeps its ARNs
}

// eventLine returns an event as text.
func eventLine(of sluice.Envelope) line {
	ev := of.Open()
	switch e := ev.(type) {
	case sluice.DeploymentStarted:
		return line{level: title, text: "deployment " + of.Deployment + " of " + e.Cluster + "/" + e.Service + " in " + e.Region +
			", " + e.Trigger}
	case sluice.DeploymentEnded:
		return endedLine(e)
	case sluice.DeploymentPaused:
		return line{level: warning, text: "paused: " + e.Why}
	case sluice.DeploymentResumed:
		return line{level: plain, text: "resumed by " + e.By}
	case sluice.StageStarted:
		return line{level: title, text: stageStartedText(e)}
	case sluice.StageEnded:
		return stageEndedLine(e)
	case sluice.RollbackStarted:
		return line{level: warning, text: "rolling back: " + e.Cause}
	case sluice.ApprovalAwaited:
		return line{level: warning, text: approvalAwaitedText(e)}
	case sluice.Approved:
		return line{level: plain, text: "approved by " + e.By}
	}
	return stepLine(ev)
}

// briefStatuses are those of a task of a job of which no line tells: the next status follows within seconds, and
// TaskEnded has the exit code.
var briefStatuses = []string{"ACTIVATING", "DEACTIVATING", "STOPPING", "DEPROVISIONING", "STOPPED"}

// stepLine returns an event within a stage as text.
func stepLine(ev sluice.Event) line {
	switch e := ev.(type) {
	case sluice.Waiting:
		return line{level: faint, text: waitingText(e)}
	case sluice.Writing:
		return line{} // Wrote reports the result
	case sluice.Wrote:
		return wroteLine(e)
	case sluice.Adopted:
		return line{level: plain, text: "found " + e.Resource + ", created by an earlier attempt; continuing with it"}
	case sluice.CapacityChanged:
		if e.Variant == sluice.Leaving {
			return line{} // Waiting reports the progress
		}
		return line{level: plain, text: string(e.Variant) + " " + e.Revision + ": " + capacityText(e)}
	case sluice.TrafficShifted:
		return line{level: success, text: shiftText(e)}
	case sluice.RequestsCounted:
		return line{level: faint, text: e.Text()}
	case sluice.GateRead:
		return line{level: gateLevel(e.Verdict), text: e.Text()}
	case sluice.LifecycleChanged:
		return lifecycleLine(e)
	case sluice.TaskChanged:
		if slices.Contains(briefStatuses, e.Status) {
			return line{}
		}
		return line{level: plain, text: "task " + e.Task + ": " + e.Status}
	case sluice.TaskEnded:
		return taskEndedLine(e)
	case sluice.Printed:
		return line{level: faint, text: e.Container + " | " + e.Line, verbatim: true}
	case sluice.FailureSeen:
		return line{level: failure, text: failureText(e)}
	case sluice.Warned:
		return line{level: warning, text: "warning: " + e.Message}
	case sluice.Noted:
		return line{level: plain, text: e.Message}
	case sluice.Unanswered:
		return line{level: warning, text: e.Text()}
	case sluice.Unknown:
		return line{level: faint, text: e.Name + " " + compactJSON(e.Data), verbatim: true}
	}
	return line{}
}

func endedLine(e sluice.DeploymentEnded) line {
	text := string(e.Outcome)
	if e.Cause != "" {
		text += ": " + e.Cause
	}
	if e.Outcome == sluice.Succeeded {
		return line{level: success, text: text}
	}
	return line{level: failure, text: text}
}

func stageStartedText(e sluice.StageStarted) string {
	text := fmt.Sprintf("%d %s", e.Index+1, e.Name)
	if e.Desc != "" {
		text += ": " + e.Desc
	}
	if e.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", e.Attempt)
	}
	return text
}

func stageEndedLine(e sluice.StageEnded) line {
	switch e.Status {
	case "done":
		return line{level: success, text: "done"}
	case "failed":
		return line{level: failure, text: e.Result() + ": " + e.Cause}
	}
	return line{level: plain, text: e.Status}
}

func waitingText(e sluice.Waiting) string {
	text := "waiting for " + e.For
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if !e.Until.IsZero() {
		text += ", until " + FormatTime(e.Until)
	}
	return text
}

func wroteLine(e sluice.Wrote) line {
	what := e.Operation + " " + e.Resource
	if e.Cause != "" {
		return line{level: failure, text: what + ": failed: " + e.Cause}
	}
	if e.Result != "" {
		what += ": " + e.Result
	}
	return line{level: plain, text: what}
}

func capacityText(e sluice.CapacityChanged) string {
	text := sluice.RunningText(e.Running, e.Desired)
	if e.Pending > 0 {
		text += fmt.Sprintf(", %d pending", e.Pending)
	}
	if e.TaskSet != "" || e.Targets > 0 {
		// of a rolling service, targets are read only if something seems wrong
		text += fmt.Sprintf(", %d healthy", e.Healthy)
	}
	if e.Draining > 0 {
		text += fmt.Sprintf(", %d draining", e.Draining)
	}
	return text
}

func shiftText(e sluice.TrafficShifted) string {
	if len(e.Rules) == 0 {
		return fmt.Sprintf("traffic is primary %d / canary %d, was %s", e.ToPrimary, e.ToCanary, e.Was())
	}
	return fmt.Sprintf("weights are primary %d / canary %d, were %s, on %s", e.ToPrimary, e.ToCanary, e.Was(),
		sluice.Plural(len(e.Rules), e.Way()))
}

func failureText(e sluice.FailureSeen) string {
	text := fmt.Sprintf("%s of %s: %s", sluice.Plural(e.Count, "failure"), e.Variant, e.Cause)
	if e.Task != "" {
		text += " (task " + e.Task + ")"
	}
	return text
}

func taskEndedLine(e sluice.TaskEnded) line {
	var all []string
	l := success
	for _, c := range e.Containers {
		all = append(all, c.String())
		if c.ExitCode == nil || *c.ExitCode != 0 {
			l = failure
		}
	}
	text := "task " + e.Task + " ended: " + strings.Join(all, ", ")
	if e.StopCode != "EssentialContainerExited" && e.Reason != "" {
		text += " (" + e.Reason + ")"
	}
	return line{level: l, text: text}
}

func compactJSON(data json.RawMessage) string {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return string(data)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// FormatTime formats a time in UTC, or "-" for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// FormatDuration formats a duration, for example "12.3s" or "2m5s".
func FormatDuration(d time.Duration) string { return plan.FormatDuration(d) }

// lifecycleLine returns, for example, "AfterInstall: Failed: cause".
func lifecycleLine(e sluice.LifecycleChanged) line {
	l := line{level: faint, text: e.Name + ": " + e.Status}
	if e.Message != "" {
		l.text += ": " + e.Message
	}
	if e.Status == "Failed" {
		l.level = failure
	}
	return l
}

// gateLevel is the importance of a gate's figures.
func gateLevel(v sluice.GateVerdict) level {
	switch v {
	case sluice.GateGood:
		return success
	case sluice.GateBad:
		return failure
	}
	return faint
}

// approvalAwaitedText says what a person must decide.
func approvalAwaitedText(e sluice.ApprovalAwaited) string {
	if e.Undecided == "" {
		return "waiting for " + mode.ApprovalText(e.Missing, e.Approvers)
	}
	return fmt.Sprintf("waiting for a decision: no verdict of %s; %s", e.Undecided,
		DecisionText(fmt.Sprintf("sluice approve --stage %d", e.Index+1), "sluice rollback"))
}

// DecisionText is the next step of a person who decides about gates without a verdict, with the commands of both
// answers.
func DecisionText(approve, rollback string) string {
	return "continue: " + approve + ", or go back: " + rollback
}
