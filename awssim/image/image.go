// Package image says what a "container image" of the simulated AWS does: how
// long it takes to start, when it is healthy, how it answers, when and how it
// crashes, how it behaves after SIGTERM.
//
// A modelled image is a pure function of time ([Behaviour.Answer],
// [Behaviour.NextChange]), so that virtual time needs no process at all. An
// image may also be a Go handler of the library's user or a command of the host
// ([Behaviour.Handler], [Behaviour.Command]); those are asked by real requests.
//
// Start reading at [Parse], which explains the text form, then [Behaviour].
package image

import (
	"net/http"
	"strings"
	"time"
)

// Behaviour is what a container of an image does.
type Behaviour struct {
	Version    string        // what it answers with: "v1"
	StartDelay time.Duration // added to the time before it runs
	// HealthyAfter is the time after start from which it answers 200; before, 503.
	HealthyAfter time.Duration
	// UnhealthyAfter, if not zero, is the time after start from which it answers
	// 503 again.
	UnhealthyAfter time.Duration
	NeverHealthy   bool          // answers 503 for ever
	Latency        time.Duration // of each answer
	CheckLatency   time.Duration // of answers to health checks, if it is not Latency
	ErrorRate      float64       // share of requests answered 500
	CrashAfter     time.Duration // 0: never
	ExitCode       int           // of the crash, or of a job that ends
	ExitReason     string        // what the container's reason says after the crash: "OutOfMemoryError: …"
	Listen         int32         // the one port that it listens on; 0: every port of its definition
	NoBoot         string        // fails before RUNNING with this reason: "CannotPullContainerError: …"
	// ServesAfterTerm is how long it goes on answering after SIGTERM; requests
	// after that are refused. It exits then.
	ServesAfterTerm time.Duration
	IgnoresTerm     bool // exits only by SIGKILL
	// Prints are lines that it prints: just before it ends by itself if CrashAfter
	// is set, else when it starts.
	Prints []string

	// Commands are what the image does instead when it is started with another
	// command, by its words joined with spaces.
	Commands map[string]Behaviour

	Handler http.Handler // a Go handler; not modelled
	Command []string     // a program of the host; not modelled
}

// Listens reports whether something listens on a port that the container's
// definition names.
func (b Behaviour) Listens(port int32) bool { return b.Listen == 0 || b.Listen == port }

// Checked is how long an answer to a health check takes.
func (b Behaviour) Checked() time.Duration {
	if b.CheckLatency > 0 {
		return b.CheckLatency
	}
	return b.Latency
}

// Started is what the image does when it is started with a command. One that it
// does not know changes nothing.
func (b Behaviour) Started(command []string) Behaviour {
	if c, ok := b.Commands[strings.Join(command, " ")]; ok && len(command) > 0 {
		return c
	}
	return b
}

// Modelled reports whether answers follow from the behaviour alone.
func (b Behaviour) Modelled() bool { return b.Handler == nil && len(b.Command) == 0 }

// Moment is where a container is in its life.
type Moment struct {
	SinceStart  time.Duration
	Signalled   bool
	SinceSignal time.Duration
}

// Refuses reports whether nothing listens any more (connections are refused)
// although the container has not been seen to stop yet.
func (b Behaviour) Refuses(m Moment) bool {
	if m.Signalled && !b.IgnoresTerm && m.SinceSignal >= b.ServesAfterTerm {
		return true
	}
	return b.CrashAfter > 0 && m.SinceStart >= b.CrashAfter
}

// Answer is the status that the container answers a health check with, 0 if the
// connection is refused.
func (b Behaviour) Answer(m Moment) int {
	switch {
	case b.Refuses(m):
		return 0
	case b.NeverHealthy, m.SinceStart < b.HealthyAfter:
		return http.StatusServiceUnavailable
	case b.UnhealthyAfter > 0 && m.SinceStart >= b.UnhealthyAfter:
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// NextChange is the next time after start, later than since, at which [Behaviour.Answer]
// changes without anybody signalling; ok is false if it never does.
func (b Behaviour) NextChange(since time.Duration) (at time.Duration, ok bool) {
	now := b.Answer(Moment{SinceStart: since})
	for _, t := range []time.Duration{b.HealthyAfter, b.UnhealthyAfter, b.CrashAfter} {
		if t > since && (!ok || t < at) && b.Answer(Moment{SinceStart: t}) != now {
			at, ok = t, true
		}
	}
	return at, ok
}
