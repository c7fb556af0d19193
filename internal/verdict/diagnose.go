package verdict

import (
	"regexp"
	"strings"
	"time"
)

// Diagnose returns why a task failed. It uses the stopped task and the service's events about its
// health checks. ok is false for tasks that did not fail.
func Diagnose(t Stopped, probes map[string]string) (Cause, bool) {
	text, ok := CauseOf(t.StoppedTask)
	if !ok {
		return Cause{}, false
	}
	c := Cause{Kind: stopKind(t), Text: text, Task: t.ID, Container: t.Container, Revision: t.Revision}
	if said := probes[t.ID]; said != "" && c.Kind == BalancerHealth {
		c.Kind, c.Text = probeKind(said), text+": "+said
	}
	return c, true
}

func stopKind(t Stopped) CauseKind {
	whole := t.StoppedReason + " " + t.ContainerReason
	switch {
	case strings.Contains(whole, "container health checks"):
		return ContainerHealth
	case strings.Contains(whole, "health checks"):
		return BalancerHealth
	}
	kind := kindOf(whole)
	ran := t.StopCode == "EssentialContainerExited" || t.ExitCode != nil
	if ran && kind != OutOfMemory && kind != ExecFormat && kind != NotStartable {
		return ExitCode
	}
	return kind
}

// probePattern matches AWS's event about a failed health check of one task.
var probePattern = regexp.MustCompile(
	`\(task ([0-9a-f-]+)\)(?: \(port \d+\))? is unhealthy in \(target-group [^)]*\) due to \(reason (.*)\)\.?$`)

// probeReasons returns the reasons of failed health checks by task id.
func probeReasons(events []Event) map[string]string {
	said := map[string]string{}
	for i := len(events) - 1; i >= 0; i-- {
		if m := probePattern.FindStringSubmatch(events[i].Message); m != nil {
			said[m[1]] = m[2]
		}
	}
	return said
}

// eventSigns are phrases of events that describe a cause without a stopped task.
var eventSigns = []struct {
	words string
	kind  CauseKind // "": determined by the rest of the event
}{
	{"was unable to stop or start tasks during a deployment because of the service deployment configuration",
		BlockedByConfig},
	{"was unable to place a task", NoCapacity},
	{"operations are being throttled", Throttled},
	{"failed to launch a task with", ""},
	{"could not launch", ""},
	{"target group is not found", BalancerHealth},
	{"is unable to consistently start tasks successfully", OtherCause},
}

// causeOfEvent returns the cause that an event describes. The text omits the service's name, so
// equal causes have equal texts.
func causeOfEvent(e Event) (Cause, bool) {
	lower := strings.ToLower(e.Message)
	for _, s := range eventSigns {
		if !strings.Contains(lower, strings.ToLower(s.words)) {
			continue
		}
		kind := s.kind
		if kind == "" {
			kind = kindOf(e.Message)
		}
		return Cause{Kind: kind, Text: eventText(e.Message), Count: 1, notFromTask: true}, true
	}
	return Cause{}, false
}

var servicePrefix = regexp.MustCompile(`^\(service [^)]*\) `)

// eventText returns an event without the name of its service.
func eventText(message string) string {
	return strings.TrimSuffix(servicePrefix.ReplaceAllString(message, ""), ".")
}

// worryingWords are words of events that justify a read of the stopped tasks.
var worryingWords = []string{
	"unhealthy", "failed", "unable", "throttled", "could not", "not healthy", "rolling back",
}

func isWorrying(e Event) bool { return containsAny(strings.ToLower(e.Message), worryingWords) }

// reportsStart reports whether the event says that tasks were started.
func reportsStart(e Event) bool { return strings.Contains(e.Message, " has started ") }

// eventsSince returns the events since a time of AWS's; all of them for the zero time.
func eventsSince(events []Event, at time.Time) []Event {
	for i, e := range events {
		if e.At.Before(at) {
			return events[:i]
		}
	}
	return events
}

// causesInEvents returns the causes in events since a time, the newest first, one of each kind. A
// later event about started tasks ends a lack of capacity.
func causesInEvents(events []Event, at time.Time) []Cause {
	var all []Cause
	begun, seen := false, map[CauseKind]bool{}
	for _, e := range eventsSince(events, at) {
		begun = begun || reportsStart(e)
		c, ok := causeOfEvent(e)
		if !ok || seen[c.Kind] || begun && c.Kind != OtherCause {
			continue
		}
		seen[c.Kind] = true
		all = append(all, c)
	}
	return all
}
