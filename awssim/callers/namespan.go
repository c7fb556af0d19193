package callers

import (
	"time"
)

// accountUntil accounts the requests of (since, now].
func (t *NameTally) account(now time.Time) {
	for t.since.Before(now) {
		to := t.until(now)
		t.span(t.since, to)
		t.since = to
	}
}

// spanEnd returns the end of the next span in which shares change evenly: no task changes its
// answer, and no lookup result begins or ends to be kept.
func (t *NameTally) until(now time.Time) time.Time {
	to := now
	sooner := func(at time.Time) {
		if at.After(t.since) && at.Before(to) {
			to = at
		}
	}
	for _, f := range t.answers[1:] {
		sooner(f.from.Add(t.longest()))
		for _, g := range t.answers {
			sooner(f.from.Add(g.keep))
		}
	}
	if len(t.answers) > 1 && t.since.Before(t.answers[len(t.answers)-1].from.Add(t.longest())) {
		sooner(t.since.Add(ramp)) // requests in flight follow the shares
	}
	for _, h := range t.hosts.All() {
		for _, at := range h.turns(t.since, to) {
			sooner(at)
		}
	}
	return to
}

// accountSpan accounts one span.
func (t *NameTally) span(from, to time.Time) {
	t.report.Requests += t.caller.Rate * to.Sub(from).Seconds()
	well := map[*host]float64{}
	for i, f := range t.answers {
		fresh, stale := t.weights(i, from, to)
		t.spread(f, from, fresh*t.caller.Rate, well)
		t.reuse(f, from, stale*t.caller.Rate, well)
	}
	for _, h := range t.hosts.All() {
		if n := well[h]; n > 0 {
			h.remember(piece{from, to, n / to.Sub(from).Seconds()})
		}
		if !h.dead && h.running && h.answer(to) == 0 {
			t.die(h, to)
		}
	}
	t.bare(from, to)
}

// answerWeights returns how many seconds' worth of a span's requests use the i-th lookup result:
// those with a kept answer (fresh), and those with only a kept connection (stale).
func (t *NameTally) weights(i int, from, to time.Time) (fresh, stale float64) {
	f, all := t.answers[i], t.longest()
	till := time.Time{}
	if i < len(t.answers)-1 {
		till = t.answers[i+1].from
	}
	if all == 0 {
		if till.IsZero() {
			return to.Sub(from).Seconds(), 0
		}
		return 0, 0
	}
	part := func(within time.Duration) float64 {
		mean := (overlap(f.from, till, from, within) + overlap(f.from, till, to, within)) / 2
		return mean / all.Seconds() * to.Sub(from).Seconds()
	}
	fresh = part(all - t.caller.KeepAlive)
	return fresh, part(all) - fresh
}

// overlapSeconds returns how many of the last seconds before at lie in [from, till), or in [from,
// at] if till is zero.
func overlap(from, till, at time.Time, last time.Duration) float64 {
	if till.IsZero() || till.After(at) {
		till = at
	}
	if begin := at.Add(-last); begin.After(from) {
		from = begin
	}
	return max(till.Sub(from).Seconds(), 0)
}

// spreadRequests distributes requests evenly over the hosts of a result.
func (t *NameTally) spread(f found, from time.Time, n float64, well map[*host]float64) {
	if n <= 0 {
		return
	}
	if len(f.hosts) == 0 {
		t.lost(Line{Group: t.name}, from, n, noRecord, "")
		return
	}
	for _, h := range f.hosts {
		t.ask(f, h, from, n/float64(len(f.hosts)), well)
	}
}

// sendToHost sends requests to one host of a result. If the host refuses, a caller with Retry uses
// another host of the result, each with equal probability.
func (t *NameTally) ask(f found, h *host, from time.Time, n float64, well map[*host]float64) {
	if h.answer(from) != 0 {
		t.answered(h, from, n, well)
		return
	}
	if !t.caller.Retry || f.one || len(f.hosts) < 2 {
		t.lost(Line{Group: t.name, Version: version(h)}, from, n, refuses, h.address)
		return
	}
	each := n / float64(len(f.hosts)-1)
	for _, other := range f.hosts {
		switch {
		case other == h:
		case other.answer(from) != 0:
			t.answered(other, from, each, well)
		default:
			t.lost(Line{Group: t.name, Version: version(h)}, from, each, refuses, h.address)
		}
	}
}

// reuseConnections sends requests over connections that are older than their answer. If the task
// has closed them, the requests use the current result.
func (t *NameTally) reuse(f found, from time.Time, n float64, well map[*host]float64) {
	if n <= 0 {
		return
	}
	now := t.answers[len(t.answers)-1]
	if len(f.hosts) == 0 {
		t.spread(now, from, n, well)
		return
	}
	for _, h := range f.hosts {
		if part := n / float64(len(f.hosts)); h.answer(from) != 0 {
			t.answered(h, from, part, well)
		} else {
			t.spread(now, from, part, well)
		}
	}
}

// countAnswered counts requests that a task answers.
func (t *NameTally) answered(h *host, from time.Time, n float64, well map[*host]float64) {
	line := Line{Group: t.name, Version: version(h), Status: h.answer(from)}
	if line.Failed() {
		t.lost(line, from, n, badStatus, h.address)
		return
	}
	bad := n * h.does.ErrorRate
	t.report.add(line, n-bad)
	well[h] += n - bad
	if bad > 0 {
		line.Status = 500
		t.lost(line, from, bad, "the image answers errors", h.address)
	}
}

func (t *NameTally) lost(l Line, from time.Time, n float64, cause, target string) {
	t.report.add(l, n)
	t.report.fail(Failure{At: from, Cause: cause, Group: l.Group, Target: target, Requests: n})
}
