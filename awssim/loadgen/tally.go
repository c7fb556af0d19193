package loadgen

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Tally accounts the outcomes of a caller's requests.
type Tally struct {
	caller     Caller
	w          *world.World
	controller *loadbalancer.Controller

	since   time.Time // accounted up to here
	table   *loadbalancer.Table
	streams []stream
	hosts   world.Ordered[*host] // by key; hosts that get requests, or may still answer some
	report  Report
}

const maxFailures = 50 // kept in full

// TablePublished accounts up to now and continues with the new table.
func (t *Tally) TablePublished(tx *world.Tx, table *loadbalancer.Table) {
	t.accountUntil(tx.Now())
	t.routeBy(tx, table)
}

// TaskChanged accounts up to now and reads the task's targets again.
func (t *Tally) TaskChanged(tx *world.Tx, task *world.Task) {
	t.accountUntil(tx.Now())
	for _, h := range t.hosts.All() {
		if h.task == task {
			t.refreshHost(h, tx.Now())
		}
	}
}

// refreshHost reads a host's current state. Requests in flight are lost if the host just stopped
// answering.
func (t *Tally) refreshHost(h *host, now time.Time) {
	was := h.running && !h.ended
	h.readTask()
	if was && h.answerAt(now) == 0 {
		t.endHost(h, now, "the target went away while requests were in flight")
	}
}

// routeBy builds the streams of a table.
func (t *Tally) routeBy(tx *world.Tx, table *loadbalancer.Table) {
	t.table = table
	t.streams = t.streamsNow(tx)
	t.dropUnlistedHosts(tx.Now())
	t.report.noteShares(tx.Now(), t.streams, t.caller.Rate)
}

// streamsNow returns the distribution of the table, with a host for each target.
func (t *Tally) streamsNow(tx *world.Tx) []stream {
	if t.table == nil {
		return []stream{{share: 1, decision: loadbalancer.Decision{Kind: loadbalancer.Refuse,
			Reason: "there is no load balancer"}}}
	}
	r := t.caller.Request
	r.At = tx.Now()
	var out []stream
	for _, o := range t.table.Shares(t.caller.Port, r) {
		s := stream{share: o.Share, decision: o.Decision}
		if o.Target != nil {
			s.host = t.hostOf(tx, o.Decision)
		}
		out = append(out, s)
	}
	return out
}

// hostOf returns the host of a target, with its current state.
func (t *Tally) hostOf(tx *world.Tx, d loadbalancer.Decision) *host {
	key := hostKey(d.Group, d.Target)
	h, ok := t.hosts.Get(key)
	if !ok || h.arn != d.Target.Task {
		h = &host{arn: d.Target.Task, group: groupName(t.table, d.Group), groupARN: d.Group,
			address: d.Target.ID, port: d.Target.Port}
		h.task = taskOf(tx, d.Target)
		if t.table.Type == "network" {
			h.hold = t.caller.Hold
		}
		t.hosts.Put(key, h)
	}
	t.refreshHost(h, tx.Now())
	return h
}

// taskOf returns the task of a target, or nil.
func taskOf(tx *world.Tx, v *loadbalancer.TargetView) *world.Task {
	if task, ok := tx.Tasks.Get(v.Task); ok {
		return task
	}
	if task := tx.TasksByAddress[v.Address]; task != nil && task.ARN == v.Task {
		return task
	}
	return nil
}

func hostKey(group string, v *loadbalancer.TargetView) string {
	return fmt.Sprintf("%s %s:%d", group, v.ID, v.Port)
}

// dropUnlistedHosts ends the requests in flight to targets that left their group, because the drain
// ended or because they were cut off.
func (t *Tally) dropUnlistedHosts(now time.Time) {
	for _, key := range t.hosts.Keys() {
		h, _ := t.hosts.Get(key)
		if t.isListed(key) {
			continue
		}
		t.endHost(h, now, "the target was cut off while requests were in flight")
		t.hosts.Delete(key)
	}
}

func (t *Tally) isListed(key string) bool {
	if t.table == nil {
		return false
	}
	for _, g := range t.table.Groups() {
		for i := range g.Targets {
			if hostKey(g.ARN, &g.Targets[i]) == key {
				return true
			}
		}
	}
	return false
}

// ConnectionsClosed accounts up to now. The node's open connections to the group are lost.
func (t *Tally) ConnectionsClosed(tx *world.Tx, group string, node int) {
	t.accountUntil(tx.Now())
	name := groupName(t.table, group)
	for _, h := range t.hosts.All() {
		if h.group == name && !h.ended {
			t.loseInFlight(h, tx.Now(), node, "the load balancer closed the connections to a group of weight 0")
		}
	}
}

// endHost moves the requests in flight from answered to lost.
func (t *Tally) endHost(h *host, at time.Time, cause string) {
	t.loseInFlight(h, at, anyNode, cause)
	h.ended = true
}

// loseInFlight moves the requests in flight through a node from answered to lost.
func (t *Tally) loseInFlight(h *host, at time.Time, node int, cause string) {
	lost := 0.0
	for _, p := range h.takeInFlight(at, node) {
		n := p.countRequests()
		lost += n
		t.countAtBalancer(h, 200, p, -n)
		t.countAtBalancer(h, 0, p, n)
	}
	if lost == 0 {
		return
	}
	v := versionOf(h)
	t.report.addCount(Line{Group: h.group, Version: v, Status: 200}, -lost)
	t.report.addCount(Line{Group: h.group, Version: v, Status: 502}, lost)
	t.report.addFailure(Failure{At: at, Cause: cause, Group: h.group, Target: h.address, Requests: lost})
}

// accountUntil accounts the requests of (since, now].
func (t *Tally) accountUntil(now time.Time) {
	for t.since.Before(now) {
		to := t.spanEnd(now)
		t.accountSpan(t.since, to)
		t.since = to
	}
}

// rampStep is the time resolution of the shares of targets in slow start.
const rampStep = time.Second

// spanEnd returns the end of the next span in which neither shares nor answers change.
func (t *Tally) spanEnd(now time.Time) time.Time {
	to := now
	if t.table != nil && t.table.RampsUntil(t.since).After(t.since) {
		if step := t.since.Add(rampStep); step.Before(to) {
			to = step
		}
	}
	for _, h := range t.hosts.All() {
		for _, at := range h.answerChanges(t.since, to) {
			if at.Before(to) {
				to = at
			}
		}
	}
	return to
}

// accountSpan accounts a span in which every answer is the same. Shares of targets in slow start
// are those of its middle.
func (t *Tally) accountSpan(from, to time.Time) {
	if t.table != nil && t.table.RampsUntil(from).After(from) {
		t.updateShares(from.Add(to.Sub(from) / 2))
	}
	seconds := to.Sub(from).Seconds()
	t.report.Requests += t.caller.Rate * seconds
	for _, s := range t.streams {
		t.accountStream(s, from, to, t.caller.Rate*s.share*seconds)
	}
	for _, h := range t.hosts.All() {
		if !h.ended && h.running && h.answerAt(to) == 0 {
			t.endHost(h, to, "the target went away while requests were in flight")
		}
	}
}

// updateShares updates only the shares of the streams.
func (t *Tally) updateShares(at time.Time) {
	r := t.caller.Request
	r.At = at
	for i, o := range t.table.Shares(t.caller.Port, r) {
		if i < len(t.streams) {
			t.streams[i].share = o.Share
		}
	}
}

// accountStream accounts the requests of one stream in a span.
func (t *Tally) accountStream(s stream, from, to time.Time, n float64) {
	group := groupName(t.table, s.decision.Group)
	if s.host == nil {
		t.countRequests(Line{Group: group, Status: s.decision.Status}, from, n, s.decision.Reason, "")
		return
	}
	h := s.host
	line := Line{Group: group, Version: versionOf(h), Status: h.answerAt(from)}
	span := sentSpan{from: from, to: to, node: s.decision.Node, took: h.latencyAt(from)}
	if line.Status == 0 {
		line.Status = 502
		t.countRequests(line, from, n, "the target refuses connections", h.address)
		t.countAtBalancer(h, 0, span, n)
		return
	}
	bad := 0.0
	if line.Status < 500 {
		bad = n * h.errorRate(from, to)
	}
	t.countRequests(line, from, n-bad, "the image answers this status", h.address)
	t.countAnswers(h, line.Status, span, n-bad)
	t.countAnswers(h, 500, span, bad)
	if bad > 0 {
		t.countRequests(Line{Group: group, Version: line.Version, Status: 500}, from, bad, "the image answers errors",
			h.address)
	}
	if line.Status < 500 {
		span.rate = (n - bad) * h.slowShare() / to.Sub(from).Seconds()
		h.addInFlight(span)
	}
}

// countAnswers counts the answers of a target: some have the latency, the others take no time.
func (t *Tally) countAnswers(h *host, status int, p sentSpan, n float64) {
	slow := n * h.behaviour.SlowShare()
	t.countAtBalancer(h, status, p, slow)
	p.took = 0
	t.countAtBalancer(h, status, p, n-slow)
}

// countAtBalancer counts requests of a span for the load balancer's metrics. The status is the
// target's.
func (t *Tally) countAtBalancer(h *host, status int, p sentSpan, n float64) {
	if n != 0 {
		t.w.CountRequests(world.RequestSample{Key: t.caller.Key, Balancer: t.caller.Balancer, Group: h.groupARN,
			From: p.from, To: p.to, Status: status, Took: p.took, Count: n})
	}
}

func (t *Tally) countRequests(l Line, from time.Time, n float64, cause, target string) {
	t.report.addCount(l, n)
	if l.Failed() && n > 0 {
		t.report.addFailure(Failure{At: from, Cause: cause, Group: l.Group, Target: target, Requests: n})
	}
}

func versionOf(h *host) string {
	if h.task == nil {
		return ""
	}
	return h.behaviour.Version
}

func groupName(t *loadbalancer.Table, arn string) string {
	if t == nil || arn == "" {
		return ""
	}
	if g := t.Group(arn); g != nil && g.Name != "" {
		return g.Name
	}
	return arn
}

// Report returns the tally up to the world's current time.
func (t *Tally) Report() Report {
	var out Report
	_ = t.w.Do(t.caller.Key, func(tx *world.Tx) error {
		t.accountUntil(tx.Now())
		out = t.report
		out.Lines = slices.Clone(out.Lines)
		out.First = slices.Clone(out.First)
		out.History = slices.Clone(out.History)
		out.Worst = slices.Clone(out.Worst)
		return nil
	})
	return out
}
