package loadgen

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// NameTally accounts the outcomes of a name caller's requests.
type NameTally struct {
	caller NameCaller
	name   string
	w      *world.World

	since time.Time // accounted up to here
	// spanUntil is the end of the span that is accounted now.
	spanUntil time.Time
	answers   []lookupResult // oldest first; the last is the current one
	hosts     world.Ordered[*host]
	report    NameReport
}

// NameReport holds the outcomes of a name caller's requests.
type NameReport struct {
	Report
	// Outages are the times at which a lookup returned no host that answers. Older answers may
	// still have been usable.
	Outages []Outage
}

// Outage is a time at which the name had no usable record.
type Outage struct {
	From, Till time.Time // equal if the outage had no duration
	Why        string
}

const (
	causeNoRecord    = "the name has no record"
	causeNoneAnswers = "every record points at a task that does not answer"
	causeRefused     = "the task refuses connections"
	causeCutShort    = "the task went away while requests were in flight"
	causeBadStatus   = "the image answers this status"
)

func hostName(v *cloudmap.View, port int32) string { return fmt.Sprintf("%s:%d", v.Address, port) }

// TablePublished accounts up to now and continues with the new table.
func (t *NameTally) TablePublished(tx *world.Tx, table *cloudmap.Table) {
	t.accountUntil(tx.Now())
	t.updateAnswers(tx, table)
	t.noteOutage(tx.Now(), tx.Now())
}

// TaskChanged accounts up to now and reads the task again.
func (t *NameTally) TaskChanged(tx *world.Tx, task *world.Task) {
	for _, h := range t.hosts.All() {
		if h.task == task {
			t.accountUntil(tx.Now())
			t.refreshHost(h, tx.Now())
			t.noteOutage(tx.Now(), tx.Now())
		}
	}
}

// updateAnswers adds the current lookup result and drops expired ones.
func (t *NameTally) updateAnswers(tx *world.Tx, table *cloudmap.Table) {
	f := t.lookUpName(tx, table)
	if n := len(t.answers); n > 0 {
		last := &t.answers[n-1]
		if last.one == f.one && last.keep == f.keep && slices.Equal(last.hosts, f.hosts) {
			return
		}
		if last.from.Equal(f.from) {
			t.answers = t.answers[:n-1] // it was in effect for no time
		}
	}
	t.answers = append(t.answers, f)
	t.dropExpired(tx.Now())
	t.report.noteShares(tx.Now(), t.streamsOf(f), t.caller.Rate)
}

// streamsOf returns the shares of clients that look up now.
func (t *NameTally) streamsOf(f lookupResult) (out []stream) {
	d := loadbalancer.Decision{Group: t.name}
	for _, h := range f.hosts {
		out = append(out, stream{share: 1 / float64(len(f.hosts)), decision: d, host: h})
	}
	if len(out) == 0 {
		out = []stream{{share: 1, decision: d}}
	}
	return out
}

// dropExpired drops results and hosts that no client keeps any more.
func (t *NameTally) dropExpired(now time.Time) {
	for len(t.answers) > 1 && !t.answers[1].from.Add(t.maxAnswerAge()).After(now) {
		t.answers = t.answers[1:]
	}
	for _, key := range t.hosts.Keys() {
		h, _ := t.hosts.Get(key)
		if !slices.ContainsFunc(t.answers, func(f lookupResult) bool { return slices.Contains(f.hosts, h) }) &&
			!h.running {
			t.hosts.Delete(key)
		}
	}
}

// maxAnswerAge returns the longest time for which a result may be used.
func (t *NameTally) maxAnswerAge() (d time.Duration) {
	for _, f := range t.answers {
		d = max(d, f.keep)
	}
	return d + t.caller.KeepAlive
}

// refreshHost reads a host's current state. Requests in flight are lost if its task just ended,
// unless it had received SIGTERM: then it answers the requests that it has.
func (t *NameTally) refreshHost(h *host, now time.Time) {
	was := h.running && !h.ended
	h.readTask()
	if was && h.answerAt(now) == 0 {
		t.endHost(h, now)
	}
}

func (t *NameTally) endHost(h *host, at time.Time) {
	h.ended = true
	if !h.task.SignalledAt.IsZero() && !wasKilled(h) {
		h.recent = nil
		return
	}
	lost := 0.0
	for _, p := range h.takeInFlight(at, anyNode) {
		lost += p.countRequests()
	}
	if lost == 0 {
		return
	}
	t.report.addCount(Line{Group: t.name, Version: versionOf(h), Status: 200}, -lost)
	t.report.addCount(Line{Group: t.name, Version: versionOf(h)}, lost)
	t.report.addFailure(Failure{At: at, Cause: causeCutShort, Group: t.name, Target: h.address, Requests: lost})
}

func wasKilled(h *host) bool {
	c := h.task.ContainerFor(h.port)
	return c != nil && c.ExitCode != nil && *c.ExitCode == 137
}

// noteOutage records an outage if the current result has no host that answers in the time.
func (t *NameTally) noteOutage(from, to time.Time) {
	why := causeNoneAnswers
	f := t.answers[len(t.answers)-1]
	if len(f.hosts) == 0 {
		why = causeNoRecord
	}
	for _, h := range f.hosts {
		if h.answerAt(from) != 0 {
			return
		}
	}
	if n := len(t.report.Outages); n > 0 {
		if b := &t.report.Outages[n-1]; b.Why == why && !b.Till.Before(from) {
			b.Till = to
			return
		}
	}
	t.report.Outages = append(t.report.Outages, Outage{from, to, why})
}

// Report returns the tally up to the world's current time.
func (t *NameTally) Report() NameReport {
	var out NameReport
	_ = t.w.Do(t.caller.Key, func(tx *world.Tx) error {
		t.accountUntil(tx.Now())
		out = t.report
		out.Lines, out.First = slices.Clone(out.Lines), slices.Clone(out.First)
		out.History, out.Worst, out.Outages = slices.Clone(out.History), slices.Clone(out.Worst),
			slices.Clone(out.Outages)
		return nil
	})
	return out
}
