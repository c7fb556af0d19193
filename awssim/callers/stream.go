package callers

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/balancer"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// stream is the part of the requests that has one fate by routing: one target,
// or one answer of the load balancer itself.
type stream struct {
	share    float64
	decision balancer.Decision
	host     *host // nil if the load balancer answers itself
}

// host is a target that requests were sent to, with what was sent in the last
// moments, which is lost if the target goes away.
type host struct {
	arn     string // of the task that the load balancer sees there
	group   string // name
	address string
	task    *world.Task // nil if nobody knows what is behind the address
	port    int32
	running bool // as of the last change
	does    image.Behaviour
	dead    bool
	recent  []piece // newest last
}

// piece is a span of requests that were sent to a host and answered well, or
// will be if it lives long enough.
type piece struct {
	from, to time.Time
	rate     float64 // well answered requests per second
}

// look takes in what stands behind the host now.
func (h *host) look() {
	h.running = false
	if h.task == nil {
		return
	}
	c := h.task.ContainerFor(h.port)
	if c == nil {
		return
	}
	h.does = c.Behaviour
	h.running = c.Status == "RUNNING" && !h.task.StartedAt.IsZero()
}

// moment is where the container is in its life at that time. The signal's time
// is read when it is needed, so that one that came meanwhile counts from then.
func (h *host) moment(at time.Time) image.Moment {
	m := image.Moment{SinceStart: at.Sub(h.task.StartedAt)}
	if s := h.task.SignalledAt; !s.IsZero() && !at.Before(s) {
		m.Signalled, m.SinceSignal = true, at.Sub(s)
	}
	return m
}

// answer is the status that a request gets that begins at that time; 0 if its
// connection is refused.
func (h *host) answer(at time.Time) int {
	if !h.running {
		return 0
	}
	return h.does.Answer(h.moment(at))
}

// turns are the times in (from, to) at which the host's answer may change.
func (h *host) turns(from, to time.Time) []time.Time {
	if !h.running {
		return nil
	}
	start := h.task.StartedAt
	all := []time.Time{start.Add(h.does.HealthyAfter), start.Add(h.does.UnhealthyAfter), start.Add(h.does.CrashAfter)}
	if s := h.task.SignalledAt; !s.IsZero() {
		all = append(all, s, s.Add(h.does.ServesAfterTerm))
	}
	var out []time.Time
	for _, t := range all {
		if t.After(from) && t.Before(to) {
			out = append(out, t)
		}
	}
	return out
}

// remember notes well answered requests as long as they may be in flight.
func (h *host) remember(p piece) {
	if h.does.Latency <= 0 || p.rate == 0 {
		return
	}
	h.recent = append(h.recent, p)
	keep := 0
	for keep < len(h.recent) && !h.recent[keep].to.Add(h.does.Latency).After(p.to) {
		keep++
	}
	h.recent = h.recent[keep:]
}

// cut is the number of requests that are in flight at that time, which is when
// the host goes away.
func (h *host) cut(at time.Time) float64 {
	begin, lost := at.Add(-h.does.Latency), 0.0
	for _, p := range h.recent {
		from, to := p.from, p.to
		if from.Before(begin) {
			from = begin
		}
		if to.After(at) {
			to = at
		}
		if to.After(from) {
			lost += p.rate * to.Sub(from).Seconds()
		}
	}
	h.recent = nil
	return lost
}
