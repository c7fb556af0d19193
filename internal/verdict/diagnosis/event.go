package diagnosis

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Event is one event of a service.
type Event struct {
	At      time.Time `json:"at"` // AWS's
	Message string    `json:"message"`
	ID      string    `json:"-"`
}

// probePattern matches AWS's event about a failed health check of one task.
var probePattern = regexp.MustCompile(
	`\(task ([0-9a-f-]+)\)(?: \(port \d+\))? is unhealthy in \(target-group [^)]*\) due to \(reason (.*)\)\.?$`)

// ProbeReasons returns the reasons of failed health checks by task id.
func ProbeReasons(events []Event) map[string]string {
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
	kind  Kind // "": determined by the rest of the event
}{
	{"was unable to stop or start tasks during a deployment because of the service deployment configuration",
		BlockedByConfig},
	{"unable to place a task", ""},
	{"operations are being throttled", Throttled},
	{"failed to launch a task with", ""},
	{"failed to register targets", ""},
	{"could not launch", ""},
	{"target group is not found", GroupGone},
	{"is unable to consistently start tasks successfully", OtherCause},
}

// explainEvent returns the cause that an event describes. The text omits the service's name, so
// equal causes have equal texts.
func explainEvent(e Event) (Cause, bool) {
	lower := strings.ToLower(e.Message)
	for _, s := range eventSigns {
		if !strings.Contains(lower, strings.ToLower(s.words)) {
			continue
		}
		kind := s.kind
		if kind == "" {
			kind = kindOfText(e.Message)
		}
		return Cause{Kind: kind, Text: eventText(e.Message), Count: 1}, true
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

// IsWorrying reports whether the event justifies a read of the stopped tasks.
func (e Event) IsWorrying() bool { return containsAny(strings.ToLower(e.Message), worryingWords) }

// ReportsUnhealthyTarget reports whether the event says that a target is unhealthy.
func (e Event) ReportsUnhealthyTarget() bool {
	return containsAny(e.Message, []string{"unhealthy", "not healthy"})
}

// ReportsStart reports whether the event says that tasks were started.
func (e Event) ReportsStart() bool { return strings.Contains(e.Message, " has started ") }

// startedPattern matches AWS's event about tasks that were started.
var startedPattern = regexp.MustCompile(` has started (\d+) tasks: `)

// CountStarts returns how many tasks the events since a time of AWS's say were started.
func CountStarts(events []Event, since time.Time) (n int) {
	for _, e := range eventsSince(events, since) {
		if m := startedPattern.FindStringSubmatch(e.Message); m != nil {
			started, _ := strconv.Atoi(m[1])
			n += started
		}
	}
	return n
}

// ReportsDrain reports whether the event says that targets of stopping tasks began to drain.
func (e Event) ReportsDrain() bool {
	return containsAny(e.Message, []string{" has begun draining connections ", ") deregistered "})
}

// eventsSince returns the events since a time of AWS's; all of them for the zero time.
func eventsSince(events []Event, at time.Time) []Event {
	for i, e := range events {
		if e.At.Before(at) {
			return events[:i]
		}
	}
	return events
}

// ExplainEvents returns the causes in events since a time, the newest first, one of each kind. A
// later event about started tasks ends a lack of capacity.
func ExplainEvents(events []Event, since time.Time) []Cause {
	var all []Cause
	begun, seen := false, map[Kind]bool{}
	for _, e := range eventsSince(events, since) {
		begun = begun || e.ReportsStart()
		c, ok := explainEvent(e)
		if !ok || seen[c.Kind] || begun && c.Kind != OtherCause {
			continue
		}
		seen[c.Kind] = true
		all = append(all, c)
	}
	return all
}
