package loadgen

import (
	"time"
)

// accountUntil accounts the requests of (since, now].
func (t *NameTally) accountUntil(now time.Time) {
	for t.since.Before(now) {
		to := t.spanEnd(now)
		t.accountSpan(t.since, to)
		t.since = to
	}
}

// spanEnd returns the end of the next span in which shares change evenly: no task changes its
// answer, and no lookup result begins or ends to be kept.
func (t *NameTally) spanEnd(now time.Time) time.Time {
	to := now
	sooner := func(at time.Time) {
		if at.After(t.since) && at.Before(to) {
			to = at
		}
	}
	for _, f := range t.answers[1:] {
		sooner(f.from.Add(t.maxAnswerAge()))
		for _, g := range t.answers {
			sooner(f.from.Add(g.keep))
		}
	}
	if len(t.answers) > 1 && t.since.Before(t.answers[len(t.answers)-1].from.Add(t.maxAnswerAge())) {
		sooner(t.since.Add(rampStep)) // requests in flight follow the shares
	}
	for _, h := range t.hosts.All() {
		for _, at := range h.answerChanges(t.since, to) {
			sooner(at)
		}
	}
	return to
}

// accountSpan accounts one span.
func (t *NameTally) accountSpan(from, to time.Time) {
	t.report.Requests += t.caller.Rate * to.Sub(from).Seconds()
	t.spanUntil = to
	well := map[*host]float64{}
	for i, f := range t.answers {
		fresh, stale := t.answerWeights(i, from, to)
		t.spreadRequests(f, from, fresh*t.caller.Rate, well)
		t.reuseConnections(f, from, stale*t.caller.Rate, well)
	}
	for _, h := range t.hosts.All() {
		if n := well[h] * h.slowShare(); n > 0 {
			h.addInFlight(sentSpan{from: from, to: to, rate: n / to.Sub(from).Seconds()})
		}
		if !h.ended && h.running && h.answerAt(to) == 0 {
			t.endHost(h, to)
		}
	}
	t.noteOutage(from, to)
}

// answerWeights returns how many seconds' worth of a span's requests use the i-th lookup result:
// those with a kept answer (fresh), and those with only a kept connection (stale).
func (t *NameTally) answerWeights(i int, from, to time.Time) (fresh, stale float64) {
	f, all := t.answers[i], t.maxAnswerAge()
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
		mean := (overlapSeconds(f.from, till, from, within) + overlapSeconds(f.from, till, to, within)) / 2
		return mean / all.Seconds() * to.Sub(from).Seconds()
	}
	fresh = part(all - t.caller.KeepAlive)
	return fresh, part(all) - fresh
}

// overlapSeconds returns how many of the last seconds before at lie in [from, till), or in [from,
// at] if till is zero.
func overlapSeconds(from, till, at time.Time, last time.Duration) float64 {
	if till.IsZero() || till.After(at) {
		till = at
	}
	if begin := at.Add(-last); begin.After(from) {
		from = begin
	}
	return max(till.Sub(from).Seconds(), 0)
}

// spreadRequests distributes requests evenly over the hosts of a result.
func (t *NameTally) spreadRequests(f lookupResult, from time.Time, n float64, well map[*host]float64) {
	if n <= 0 {
		return
	}
	if len(f.hosts) == 0 {
		t.countLost(Line{Group: t.name}, from, n, causeNoRecord, "")
		return
	}
	for _, h := range f.hosts {
		t.sendToHost(f, h, from, n/float64(len(f.hosts)), well)
	}
}

// sendToHost sends requests to one host of a result. If the host refuses, a caller with Retry uses
// another host of the result, each with equal probability.
func (t *NameTally) sendToHost(f lookupResult, h *host, from time.Time, n float64, well map[*host]float64) {
	if h.answerAt(from) != 0 {
		t.countAnswered(h, from, n, well)
		return
	}
	if !t.caller.Retry || f.one || len(f.hosts) < 2 {
		t.countLost(Line{Group: t.name, Version: versionOf(h)}, from, n, causeRefused, h.address)
		return
	}
	each := n / float64(len(f.hosts)-1)
	for _, other := range f.hosts {
		switch {
		case other == h:
		case other.answerAt(from) != 0:
			t.countAnswered(other, from, each, well)
		default:
			t.countLost(Line{Group: t.name, Version: versionOf(h)}, from, each, causeRefused, h.address)
		}
	}
}

// reuseConnections sends requests over connections that are older than their answer. If the task
// has closed them, the requests use the current result.
func (t *NameTally) reuseConnections(f lookupResult, from time.Time, n float64, well map[*host]float64) {
	if n <= 0 {
		return
	}
	now := t.answers[len(t.answers)-1]
	if len(f.hosts) == 0 {
		t.spreadRequests(now, from, n, well)
		return
	}
	for _, h := range f.hosts {
		if part := n / float64(len(f.hosts)); h.answerAt(from) != 0 {
			t.countAnswered(h, from, part, well)
		} else {
			t.spreadRequests(now, from, part, well)
		}
	}
}

// countAnswered counts requests that a task answers.
func (t *NameTally) countAnswered(h *host, from time.Time, n float64, well map[*host]float64) {
	line := Line{Group: t.name, Version: versionOf(h), Status: h.answerAt(from)}
	if line.Failed() {
		t.countLost(line, from, n, causeBadStatus, h.address)
		return
	}
	bad := n * h.errorRate(from, t.spanUntil)
	t.report.addCount(line, n-bad)
	well[h] += n - bad
	if bad > 0 {
		line.Status = 500
		t.countLost(line, from, bad, "the image answers errors", h.address)
	}
}

func (t *NameTally) countLost(l Line, from time.Time, n float64, cause, target string) {
	t.report.addCount(l, n)
	t.report.addFailure(Failure{At: from, Cause: cause, Group: l.Group, Target: target, Requests: n})
}
