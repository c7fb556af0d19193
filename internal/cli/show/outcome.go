package show

import (
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// DeploymentSummary describes how a deployment of a service ended, and which revision runs after a
// success. The revision may be empty.
func DeploymentSummary(d journal.Deployment, revision string) string {
	if revision != "" {
		revision = " runs " + revision
	}
	return outcomeSummary(d, revision)
}

// TaskSummary describes how a deployment that runs tasks ended, and how its tasks did.
func TaskSummary(d journal.Deployment, events []sluice.Envelope) string {
	return outcomeSummary(d, endedTasksText(events))
}

// summaryWidth is how long a summary may be that has its whole cause in one line, in bytes.
const summaryWidth = 80

// outcomeSummary describes how a deployment ended. The text brought is added after a success; it
// names the revision that runs. If the summary is long, each further part of the cause has a line of its own.
func outcomeSummary(d journal.Deployment, brought string) string {
	service := d.Cluster + "/" + d.Service
	s := string(d.Outcome) + ": " + service
	if d.Outcome == sluice.Succeeded {
		s += brought
	}
	s += " (" + d.ID + ", " + FormatDuration(d.Took()) + ")"
	if d.Cause == "" {
		return s
	}
	s += ": " + strings.Replace(d.Cause, " ("+service+")", "", 1)
	if len(s) > summaryWidth {
		s = strings.ReplaceAll(s, "; ", "\n  ")
	}
	return s
}

// LastPrimaryRevision returns the revision of the primary in the last event that has one.
func LastPrimaryRevision(events []sluice.Envelope) string {
	for i := len(events) - 1; i >= 0; i-- {
		if c, ok := events[i].Open().(sluice.CapacityChanged); ok && c.Variant == sluice.Primary {
			return c.Revision
		}
	}
	return ""
}

// endedTasksText describes how the tasks of a run ended. It is part of the last line.
func endedTasksText(events []sluice.Envelope) string {
	revision, words := "", map[string]int{}
	var order []string
	for _, e := range events {
		ended, ok := e.Open().(sluice.TaskEnded)
		if !ok {
			continue
		}
		revision = ended.Revision
		for _, c := range ended.Containers {
			if words[c.String()] == 0 {
				order = append(order, c.String())
			}
			words[c.String()]++
		}
	}
	for i, w := range order {
		if n := words[w]; n > 1 {
			order[i] = fmt.Sprintf("%s (%d times)", w, n)
		}
	}
	if revision == "" {
		return ""
	}
	return " ran " + revision + ", " + strings.Join(order, ", ")
}
