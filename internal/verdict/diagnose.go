package verdict

import (
	"regexp"
	"strings"
	"time"
)

// Diagnose says why a task failed, by its own end and by what the service's
// events say of its health checks. ok is false for tasks that did not fail.
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

// probe matches AWS's event of a failed health check of one task.
var probe = regexp.MustCompile(`\(task ([0-9a-f-]+)\)(?: \(port \d+\))? is unhealthy in \(target-group [^)]*\) due to \(reason (.*)\)\.?$`)

// probes are the reasons of failed health checks by task.
func probes(events []Event) map[string]string {
	said := map[string]string{}
	for i := len(events) - 1; i >= 0; i-- {
		if m := probe.FindStringSubmatch(events[i].Message); m != nil {
			said[m[1]] = m[2]
		}
	}
	return said
}

// sign is what an event without a stopped task tells of the deployment.
var signs = []struct {
	words string
	kind  CauseKind // "": as the words after tell
}{
	{"was unable to stop or start tasks during a deployment because of the service deployment configuration", NoRoom},
	{"was unable to place a task", NoCapacity},
	{"operations are being throttled", Throttled},
	{"failed to launch a task with", ""},
	{"could not launch", ""},
	{"target group is not found", BalancerHealth},
	{"is unable to consistently start tasks successfully", OtherCause},
}

// signOf reads one event. The text leaves out which service it is, and numbers.
func signOf(e Event) (Cause, bool) {
	lower := strings.ToLower(e.Message)
	for _, s := range signs {
		if !strings.Contains(lower, strings.ToLower(s.words)) {
			continue
		}
		kind := s.kind
		if kind == "" {
			kind = kindOf(e.Message)
		}
		return Cause{Kind: kind, Text: eventWords(e.Message), Count: 1, sign: true}, true
	}
	return Cause{}, false
}

var ofService = regexp.MustCompile(`^\(service [^)]*\) `)

// eventWords is an event without the service that it is listed under.
func eventWords(message string) string {
	return strings.TrimSuffix(ofService.ReplaceAllString(message, ""), ".")
}

// worrying events make a look at the stopped tasks worth its price.
var worries = []string{
	"unhealthy", "failed", "unable", "throttled", "could not", "not healthy", "rolling back",
}

func worrying(e Event) bool { return containsAny(strings.ToLower(e.Message), worries) }

// started reports whether the event tells of starts.
func started(e Event) bool { return strings.Contains(e.Message, " has started ") }

// since keeps the events from a time of AWS's on; all of them for the zero time.
func since(events []Event, at time.Time) []Event {
	for i, e := range events {
		if e.At.Before(at) {
			return events[:i]
		}
	}
	return events
}

// signsIn are the causes that events tell since a time, the newest first, one
// of each kind. A start of tasks after it ends a lack of place.
func signsIn(events []Event, at time.Time) []Cause {
	var all []Cause
	begun, seen := false, map[CauseKind]bool{}
	for _, e := range since(events, at) {
		begun = begun || started(e)
		c, ok := signOf(e)
		if !ok || seen[c.Kind] || begun && c.Kind != OtherCause {
			continue
		}
		seen[c.Kind] = true
		all = append(all, c)
	}
	return all
}
