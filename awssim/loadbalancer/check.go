package loadbalancer

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// check is a prepared health check of a target group.
type check struct {
	enabled            bool
	tcp                bool // a connection is enough
	port               int32
	path               string
	interval, timeout  time.Duration
	healthy, unhealthy int
	matcher            string
}

func checkOf(g *world.TargetGroup) *check {
	c := &check{
		enabled: g.Check.Enabled, tcp: g.Check.Protocol == "TCP", path: g.Check.Path,
		interval: g.Check.Interval, timeout: g.Check.Timeout,
		healthy: max(1, g.Check.Healthy), unhealthy: max(1, g.Check.Unhealthy), matcher: g.Check.Matcher,
	}
	if p, err := strconv.ParseInt(g.Check.Port, 10, 32); err == nil {
		c.port = int32(p)
	}
	if c.interval <= 0 {
		c.interval = 30 * time.Second
	}
	if c.timeout <= 0 {
		c.timeout = 5 * time.Second
	}
	return c
}

func (c *check) isSame(o *check) bool { return o != nil && *c == *o }

// checkedPort returns the port on which a target is checked.
func (c *check) checkedPort(t *world.Target) int32 {
	if c.port != 0 {
		return c.port
	}
	return t.Port
}

// Matches reports whether a status code meets a health check's matcher: "200",
// "200-299", "200,202" or a mixture.
func Matches(matcher string, code int) bool {
	for part := range strings.SplitSeq(matcher, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(part), "-")
		from, err := strconv.Atoi(lo)
		to := from
		if err == nil && isRange {
			to, err = strconv.Atoi(hi)
		}
		if err == nil && from <= code && code <= to {
			return true
		}
	}
	return false
}

// result is the outcome of one health check.
type result struct {
	ok           bool
	reason, text string
	took         time.Duration
}

func timeoutResult(c *check) result {
	return result{false, "Target.Timeout", "Request timed out", c.timeout}
}

func refusedResult() result {
	return result{false, "Target.FailedHealthChecks", "Health checks failed", 0}
}

// judgeStatus returns the result of an answer with that status after that time.
func (c *check) judgeStatus(status int, took time.Duration) result {
	switch {
	case took >= c.timeout:
		return timeoutResult(c)
	case c.tcp, Matches(c.matcher, status):
		return result{ok: true, took: took}
	}
	return result{false, "Target.ResponseCodeMismatch", fmt.Sprintf("Health checks failed with these codes: [%d]",
		status), took}
}

// source is the process behind a target's checked port. From a source and a time, the answer of a
// modelled image follows.
type source struct {
	container *world.Container // nil if no container has the port
	reachable bool             // there is a task with this address
	running   bool
	behaviour image.Behaviour
	started   time.Time
	signalled time.Time
}

func sourceOf(t *world.Target, c *check) source {
	task := t.Task
	if task == nil || task.LastStatus == "STOPPED" {
		return source{}
	}
	s := source{reachable: true, container: task.ContainerFor(c.checkedPort(t)), signalled: task.SignalledAt}
	if s.container != nil {
		s.running, s.started = s.container.Status == "RUNNING", s.container.StartedAt
		s.behaviour = s.container.Behaviour
	}
	return s
}

// answersAlike reports whether both sources answer alike at any time. Handlers and commands never
// change during a container's life.
func (s source) answersAlike(o source) bool {
	a, b := s.behaviour, o.behaviour
	return s.container == o.container && s.reachable == o.reachable && s.running == o.running &&
		s.started.Equal(o.started) && s.signalled.Equal(o.signalled) &&
		a.HealthyAfter == b.HealthyAfter && a.UnhealthyAfter == b.UnhealthyAfter && a.NeverHealthy == b.NeverHealthy &&
		a.CheckDelay() == b.CheckDelay() && a.CrashAfter == b.CrashAfter && a.ServesAfterTerm == b.ServesAfterTerm &&
		a.IgnoresTerm == b.IgnoresTerm
}

// probeAt returns the result of a check that begins at that time.
func (s source) probeAt(at time.Time, c *check) result {
	switch {
	case !s.reachable:
		return timeoutResult(c)
	case s.container == nil, !s.running:
		return refusedResult()
	}
	status := s.behaviour.Answer(momentOf(s.started, s.signalled, at))
	if status == 0 {
		return refusedResult()
	}
	return c.judgeStatus(status, s.behaviour.CheckDelay())
}

func momentOf(started, signalled, at time.Time) image.Moment {
	m := image.Moment{SinceStart: at.Sub(started)}
	if !signalled.IsZero() && !at.Before(signalled) {
		m.Signalled, m.SinceSignal = true, at.Sub(signalled)
	}
	return m
}

// nextChange returns the next time after at from which [source.probeAt] may return another result
// without an external change.
func (s source) nextChange(at time.Time) (next time.Time, ok bool) {
	if !s.running {
		return time.Time{}, false
	}
	soonest := func(t time.Time) {
		if t.After(at) && (!ok || t.Before(next)) {
			next, ok = t, true
		}
	}
	if d, more := s.behaviour.NextChange(at.Sub(s.started)); more {
		soonest(s.started.Add(d))
	}
	if !s.signalled.IsZero() {
		soonest(s.signalled)
		soonest(s.signalled.Add(s.behaviour.ServesAfterTerm))
	}
	return next, ok
}
