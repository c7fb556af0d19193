package fault

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Kind is the first word of a fault's line.
type Kind string

const (
	Throttle           Kind = "throttle"            // the call is answered ThrottlingException
	ServerError        Kind = "5xx"                 // the call is answered 500, before the effect
	LostReply          Kind = "lost-reply"          // the call takes effect, the connection is cut before the reply
	NoSend             Kind = "no-send"             // the connection is cut before the effect
	Stale              Kind = "stale"               // a read returns the state of that long ago
	Latency            Kind = "latency"             // the call takes that much longer
	ExpiredCredentials Kind = "expired-credentials" // the call is answered ExpiredToken
	Denied             Kind = "denied"              // the call is answered AccessDenied, before the effect
	Invalid            Kind = "invalid"             // the call is refused for its parameters, before the effect
	Outage             Kind = "outage"              // the call gets no answer, or the answer that as= names
	FailedOperation    Kind = "failed-operation"    // the call is answered; the operation that it began ends in FAIL
	SlowStart          Kind = "slow-start"          // tasks of a service take that much longer to start
	NoCapacity         Kind = "no-capacity"         // no task can be placed in a cluster
	ZoneLost           Kind = "zone-lost"           // tasks in an Availability Zone die, none can start there
	TaskCrash          Kind = "task-crash"          // running tasks of a service exit
	SpotInterruption   Kind = "spot-interruption"   // running tasks of a service on FARGATE_SPOT get SIGTERM and stop
)

// Fault is one line, parsed.
type Fault struct {
	Kind Kind
	On   string // "ecs:CreateTaskSet", or the name of a service, cluster or zone; "" if the kind takes none

	As    string  // for Outage, the replacement of the answer: one of [Outages]
	Skip  int     // matching calls without the fault first; For counts from the first call with it
	Times int     // maximum number of hits; 0 is without limit
	P     float64 // chance per call, in (0, 1]; 0 is always
	Count int     // tasks that crash or are interrupted
	Exit  int     // exit code of a crash

	Revision int // only tasks of this revision crash; 0: of every revision

	By    time.Duration
	After time.Duration // begins that long after it was injected
	For   time.Duration // ends that long after it began; 0 is never
}

// String returns the line that parses to f.
func (f Fault) String() string {
	words := []string{string(f.Kind)}
	if f.On != "" {
		words = append(words, f.On)
	}
	for _, name := range optionOrder {
		if v := f.optionText(name); v != "" {
			words = append(words, name+"="+v)
		}
	}
	return strings.Join(words, " ")
}

// optionOrder is the order in which options are printed.
var optionOrder = []string{"as", "skip", "times", "count", "revision", "exit", "p", "by", "after", "for"}

// optionText returns an option's value as text, "" if it was not given.
func (f Fault) optionText(name string) string {
	switch name {
	case "as":
		return f.As
	case "skip":
		return numberText(f.Skip)
	case "times":
		return numberText(f.Times)
	case "count":
		return numberText(f.Count)
	case "revision":
		return numberText(f.Revision)
	case "exit":
		if f.Kind == TaskCrash {
			return strconv.Itoa(f.Exit)
		}
	case "p":
		if f.P != 0 {
			return strconv.FormatFloat(f.P, 'g', -1, 64)
		}
	case "by":
		return durationText(f.By)
	case "after":
		return durationText(f.After)
	case "for":
		return durationText(f.For)
	}
	return ""
}

// Values of as=, the replacements of an answer. Only a truncated call has taken effect.
const (
	Refused   = "refused"   // the connection is refused
	Closed    = "closed"    // the connection is closed
	Silent    = "silent"    // no bytes for a minute, then the connection is closed
	Page      = "page"      // 502 with a page of HTML
	Garbage   = "garbage"   // 200 with invalid bytes
	Empty     = "empty"     // 200 without a body
	Object    = "object"    // 200 with {}
	Redirect  = "redirect"  // 302 to a login page
	Untrusted = "untrusted" // TLS: an unknown certificate authority
	Unread    = "unread"    // AWS's refusal; the connection breaks within its body
	Truncated = "truncated" // AWS's answer; the connection breaks within its body
)

// Outages lists the values of as=.
var Outages = []string{Refused, Closed, Silent, Page, Garbage, Empty, Object, Redirect, Untrusted, Unread, Truncated}

func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// durationText prints a duration in short form: 5m, not 5m0s.
func durationText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Matches reports whether a fault of calls applies to this operation of this service, such as "ecs"
// and "CreateTaskSet".
func (f Fault) Matches(service, operation string) bool {
	if f.Kind == ExpiredCredentials {
		return true
	}
	svc, op, _ := strings.Cut(f.On, ":")
	return matchesPattern(svc, service) && matchesPattern(op, operation)
}

// endsTasks reports whether the fault ends running tasks once, at its beginning.
func (f Fault) endsTasks() bool { return f.Kind == TaskCrash || f.Kind == SpotInterruption }

// isOfCalls reports whether the fault applies to API calls, not to the world.
func (f Fault) isOfCalls() bool {
	return f.Kind == ExpiredCredentials || kindForms[f.Kind].on == "operation"
}

// matchesPattern compares text with a pattern in which * matches any text.
func matchesPattern(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	text = text[len(head):]
	for i := 0; i <= len(text); i++ {
		if matchesPattern(rest, text[i:]) {
			return true
		}
	}
	return false
}

func (f Fault) kindError(format string, args ...any) error {
	return fmt.Errorf("%s: %w", f.Kind, fmt.Errorf(format, args...))
}
