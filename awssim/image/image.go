// Package image describes what a "container image" of the simulated AWS does: how long it takes to
// start, when it is healthy, how it answers, when and how it crashes, and how it behaves after
// SIGTERM. It does not run containers.
//
// A modelled image is a pure function of time ([Behaviour.Answer], [Behaviour.NextChange]), so
// virtual time needs no process. An image may also be a Go handler of the library's user or a
// command of the host ([Behaviour.Handler], [Behaviour.Command]); the data plane sends those real
// requests.
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
	Version    string        // text of its answers: "v1"
	StartDelay time.Duration // added to the time before it runs
	// HealthyAfter is the time after start from which it answers 200; before, 503.
	HealthyAfter time.Duration
	// UnhealthyAfter, if not zero, is the time after start from which it answers
	// 503 again.
	UnhealthyAfter time.Duration
	NeverHealthy   bool          // answers 503 for ever
	Latency        time.Duration // of each answer
	CheckLatency   time.Duration // of answers to health checks, if it differs from Latency
	ErrorRate      float64       // share of requests answered 500
	ErrorsAfter    time.Duration // time after start from which requests are answered 500
	ErrorGrowth    float64       // that the share grows by each minute from then on
	ErrorBursts    Bursts        // the only times at which requests are answered 500; zero: always
	LatencyAfter   time.Duration // time after start from which answers have the latency
	LatencyGrowth  time.Duration // that the latency grows by each minute from then on
	LatencyShare   float64       // of the answers that have the latency; 0: all
	CrashAfter     time.Duration // 0: never
	ExitCode       int           // of the crash, or of a job that ends
	ExitReason     string        // the container's reason after the crash: "OutOfMemoryError: …"
	Listen         int32         // the only port that it listens on; 0: every port of its definition
	NoBoot         string        // fails before RUNNING with this reason: "CannotPullContainerError: …"
	// ServesAfterTerm is how long it continues to answer after SIGTERM. Then it refuses requests
	// and exits.
	ServesAfterTerm time.Duration
	IgnoresTerm     bool // exits only by SIGKILL
	// Prints are output lines. With CrashAfter they are printed just before it ends by itself,
	// otherwise when it starts.
	Prints []string

	// Commands are the behaviours of the image when it is started with another command, by its
	// words joined with spaces.
	Commands map[string]Behaviour

	Handler http.Handler // a Go handler; not modelled
	Command []string     // a program of the host; not modelled
}

// ListensOn reports whether the container listens on a port that its definition names.
func (b Behaviour) ListensOn(port int32) bool { return b.Listen == 0 || b.Listen == port }

// CheckDelay returns how long an answer to a health check takes.
func (b Behaviour) CheckDelay() time.Duration {
	if b.CheckLatency > 0 {
		return b.CheckLatency
	}
	return b.Latency
}

// StartedWith returns the behaviour of the image when it is started with a command. An unknown
// command does not change it.
func (b Behaviour) StartedWith(command []string) Behaviour {
	if c, ok := b.Commands[strings.Join(command, " ")]; ok && len(command) > 0 {
		return c
	}
	return b
}

// IsModelled reports whether answers follow from the behaviour alone.
func (b Behaviour) IsModelled() bool { return b.Handler == nil && len(b.Command) == 0 }

// Moment is a time in a container's lifecycle.
type Moment struct {
	SinceStart  time.Duration
	Signalled   bool
	SinceSignal time.Duration
}

// RefusesConnections reports whether the container no longer listens although its stop has not been
// detected yet.
func (b Behaviour) RefusesConnections(m Moment) bool {
	if m.Signalled && !b.IgnoresTerm && m.SinceSignal >= b.ServesAfterTerm {
		return true
	}
	return b.CrashAfter > 0 && m.SinceStart >= b.CrashAfter
}

// Answer returns the status of the container's answer to a health check, 0 if the connection is
// refused.
func (b Behaviour) Answer(m Moment) int {
	switch {
	case b.RefusesConnections(m):
		return 0
	case b.NeverHealthy, m.SinceStart < b.HealthyAfter:
		return http.StatusServiceUnavailable
	case b.UnhealthyAfter > 0 && m.SinceStart >= b.UnhealthyAfter:
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// NextChange returns the next time after start, later than since, at which [Behaviour.Answer]
// changes without a signal; ok is false if it never does.
func (b Behaviour) NextChange(since time.Duration) (at time.Duration, ok bool) {
	now := b.Answer(Moment{SinceStart: since})
	for _, t := range []time.Duration{b.HealthyAfter, b.UnhealthyAfter, b.CrashAfter} {
		if t > since && (!ok || t < at) && b.Answer(Moment{SinceStart: t}) != now {
			at, ok = t, true
		}
	}
	return at, ok
}
