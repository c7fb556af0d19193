package piped

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/piped/contract"
)

// formatEvent returns the text of an event for a stage's log. An event without a text is not
// logged.
func formatEvent(ev sluice.Event) (contract.LogSeverity, string) {
	const info, good, bad = contract.LogSeverity_INFO, contract.LogSeverity_SUCCESS, contract.LogSeverity_ERROR
	switch e := ev.(type) {
	case sluice.Waiting:
		return info, withoutCommands(strings.TrimSuffix("waiting for "+e.For+": "+e.Detail, ": "))
	case sluice.Wrote:
		return formatWrote(e)
	case sluice.Adopted:
		return info, "found " + e.Resource + ", created by an earlier attempt; continuing with it"
	case sluice.CapacityChanged:
		if e.Variant == sluice.Leaving {
			return info, "" // the wait is already logged
		}
		return info, strings.TrimSpace(string(e.Variant)+" "+e.Revision) + ": " + capacityText(e)
	case sluice.TrafficShifted:
		return good, fmt.Sprintf("weights read back: primary %d%% / canary %d%%, were %s, on %s",
			e.ToPrimary, e.ToCanary, e.Was(), sluice.Plural(len(e.Rules), e.Way()))
	case sluice.RequestsCounted:
		return info, e.Text()
	case sluice.GateRead:
		if e.Verdict == sluice.GateBad {
			return bad, e.Text()
		}
		return info, e.Text()
	case sluice.LifecycleChanged:
		return info, strings.TrimSuffix(e.Name+": "+e.Status+": "+e.Message, ": ")
	case sluice.TaskChanged:
		return info, "task " + e.Task + " of " + e.Revision + ": " + e.Status
	case sluice.TaskEnded:
		return formatTaskEnded(e)
	case sluice.Printed:
		return info, e.Container + " | " + e.Line
	case sluice.FailureSeen:
		return bad, formatFailure(e)
	case sluice.Warned:
		return info, "warning: " + withoutCommands(e.Message)
	case sluice.Noted:
		return info, withoutCommands(e.Message)
	case sluice.Unanswered:
		return info, e.Text()
	}
	return info, ""
}

func formatWrote(e sluice.Wrote) (contract.LogSeverity, string) {
	text := e.Operation + " " + sluice.ARNNames(nil).Shorten(e.Resource)
	if e.Cause != "" {
		return contract.LogSeverity_ERROR, text + ": failed: " + e.Cause
	}
	if e.Result != "" {
		text += ": " + sluice.ARNNames(nil).Shorten(e.Result)
	}
	return contract.LogSeverity_INFO, text
}

func formatFailure(e sluice.FailureSeen) string {
	text := fmt.Sprintf("%s of the %s: %s", sluice.Plural(e.Count, "failure"), e.Variant, e.Cause)
	if e.Task != "" {
		text += " (task " + e.Task + ")"
	}
	return text
}

func formatTaskEnded(e sluice.TaskEnded) (contract.LogSeverity, string) {
	severity, text := contract.LogSeverity_SUCCESS, "task "+e.Task+" ended"
	for i, c := range e.Containers {
		text += map[bool]string{true: ": ", false: ", "}[i == 0] + c.String()
		if c.ExitCode == nil || *c.ExitCode != 0 {
			severity = contract.LogSeverity_ERROR
		}
	}
	return severity, text
}

// capacityText returns tasks and targets as n/m.
func capacityText(e sluice.CapacityChanged) string {
	text := fmt.Sprintf("%d/%d tasks running", e.Running, e.Desired)
	if e.Pending > 0 {
		text += fmt.Sprintf(", %d pending", e.Pending)
	}
	if e.Targets > 0 {
		text += fmt.Sprintf(", targets healthy %d/%d", e.Healthy, e.Targets)
	}
	if e.Draining > 0 {
		text += fmt.Sprintf(", %d draining", e.Draining)
	}
	return text
}

// displayText returns the short text that PipeCD's page shows next to the stage's name.
func displayText(ev sluice.Event) string {
	switch e := ev.(type) {
	case sluice.CapacityChanged:
		if e.Variant == sluice.Leaving {
			return ""
		}
		text := fmt.Sprintf("%s: %d/%d tasks", e.Variant, e.Running, e.Desired)
		if e.Targets > 0 {
			text += fmt.Sprintf(", %d healthy", e.Healthy)
		}
		return text
	case sluice.TaskChanged:
		return "task " + e.Status
	case sluice.TrafficShifted:
		return fmt.Sprintf("primary %d%% / canary %d%%", e.ToPrimary, e.ToCanary)
	}
	return ""
}
