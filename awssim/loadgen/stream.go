package loadgen

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// stream is the part of the requests with one outcome of the routing: one target, or one answer of
// the load balancer itself.
type stream struct {
	share    float64
	decision loadbalancer.Decision
	host     *host // nil if the load balancer answers itself
}

// host is a target that receives requests. It holds the requests of the last moments, which are
// lost if the target stops.
type host struct {
	arn       string // of the task that the load balancer sees there
	group     string // name
	groupARN  string
	address   string
	task      *world.Task // nil if no task has the address
	port      int32
	running   bool // as of the last change
	started   time.Time
	behaviour image.Behaviour
	hold      time.Duration // how long callers keep a connection open
	ended     bool
	recent    []sentSpan // newest last
}

// sentSpan is a span of requests that a host answered without failure, or will answer if the host
// lives long enough.
type sentSpan struct {
	from, to time.Time
	rate     float64 // requests per second answered without failure
	node     int     // of a Network Load Balancer
	took     time.Duration
}

// countRequests returns the number of requests of the span.
func (p sentSpan) countRequests() float64 { return p.rate * p.to.Sub(p.from).Seconds() }

// readTask reads the current state of the host's task.
func (h *host) readTask() {
	h.running = false
	if h.task == nil {
		return
	}
	c := h.task.ContainerFor(h.port)
	if c == nil {
		return
	}
	h.behaviour = c.Behaviour
	h.running, h.started = c.Status == "RUNNING", c.StartedAt
}

// momentAt returns the container's age and signal at that time. It reads the signal's time when
// needed, so that a signal since the last read counts from its own time.
func (h *host) momentAt(at time.Time) image.Moment {
	m := image.Moment{SinceStart: at.Sub(h.started)}
	if s := h.task.SignalledAt; !s.IsZero() && !at.Before(s) {
		m.Signalled, m.SinceSignal = true, at.Sub(s)
	}
	return m
}

// answerAt returns the status of a request that begins at that time; 0 if its connection is
// refused.
func (h *host) answerAt(at time.Time) int {
	if !h.running {
		return 0
	}
	return h.behaviour.Answer(h.momentAt(at))
}

// answerChanges returns the times in (from, to) at which the host's answer may change.
func (h *host) answerChanges(from, to time.Time) []time.Time {
	if !h.running {
		return nil
	}
	start := h.started
	all := []time.Time{start.Add(h.behaviour.HealthyAfter), start.Add(h.behaviour.UnhealthyAfter),
		start.Add(h.behaviour.CrashAfter)}
	if s := h.task.SignalledAt; !s.IsZero() {
		all = append(all, s, s.Add(h.behaviour.ServesAfterTerm))
	}
	if at, ok := h.behaviour.NextRateChange(from.Sub(start)); ok {
		all = append(all, start.Add(at))
	}
	var out []time.Time
	for _, t := range all {
		if t.After(from) && t.Before(to) {
			out = append(out, t)
		}
	}
	return out
}

// addInFlight keeps requests answered without failure for as long as they may be in flight.
func (h *host) addInFlight(p sentSpan) {
	if h.openFor(p.to) <= 0 || p.rate == 0 {
		return
	}
	h.recent = append(h.recent, p)
	keep := 0
	for keep < len(h.recent) && !h.recent[keep].to.Add(h.openFor(p.to)).After(p.to) {
		keep++
	}
	h.recent = h.recent[keep:]
}

// openFor returns how long a request or connection of that time is in flight.
func (h *host) openFor(at time.Time) time.Duration { return max(h.latencyAt(at), h.hold) }

// latencyAt returns how long the slow answers of that time take.
func (h *host) latencyAt(at time.Time) time.Duration {
	if h.task == nil {
		return 0
	}
	return h.behaviour.LatencyAt(at.Sub(h.started))
}

// slowShare returns the share of the requests that are in flight for a time.
func (h *host) slowShare() float64 {
	if h.hold > 0 {
		return 1
	}
	return h.behaviour.SlowShare()
}

// errorRate returns the mean share of errors in a span without changes: that of its middle.
func (h *host) errorRate(from, to time.Time) float64 {
	return h.behaviour.ErrorRateAt(from.Add(to.Sub(from) / 2).Sub(h.started))
}

// anyNode as a node means all nodes.
const anyNode = -1

// takeInFlight returns the spans of the requests in flight at that time, when the host ends or a
// node closes its connections to it, and clears them.
func (h *host) takeInFlight(at time.Time, node int) (lost []sentSpan) {
	begin := at.Add(-h.openFor(at))
	var rest []sentSpan
	for _, p := range h.recent {
		if node != anyNode && p.node != node {
			rest = append(rest, p)
			continue
		}
		if p.from.Before(begin) {
			p.from = begin
		}
		if p.to.After(at) {
			p.to = at
		}
		if p.to.After(p.from) {
			lost = append(lost, p)
		}
	}
	h.recent = rest
	return lost
}
