package health

import (
	"time"

	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// Bake judges a running version while no deployment step runs: whether it stays as healthy as it
// was. Make one with [StartBake].
type Bake struct {
	capacity            Capacity
	unhealthySince      time.Time // since when it is not complete; zero: it is complete
	healthySince        time.Time // since when it is complete; zero: it is not
	pollsWithoutHealthy int       // polls in a row
	hasTraffic          bool
}

// StartBake starts a judge. deadline is how long the version may be incomplete. traffic means that
// requests reach the version: then a version without a healthy task fails immediately.
func StartBake(now time.Time, deadline time.Duration, traffic bool) Bake {
	return Bake{capacity: AwaitCapacity(now, deadline, 0), hasTraffic: traffic}
}

// maxPollsWithoutHealthy is how many polls in a row must return no healthy task. One response may
// be stale.
const maxPollsWithoutHealthy = 2

// See adds an observation. Healthy means that the version is complete now, not that the bake is
// over: the caller decides how long the bake lasts.
func (b Bake) See(o verdict.Observation) (Bake, verdict.Verdict) {
	n := CountTasks(o)
	c := b.capacity.countFailures(o)
	whole := c.isComplete(o, n)
	switch {
	case !whole && b.unhealthySince.IsZero():
		b.unhealthySince, b.healthySince = o.At, time.Time{}
	case whole && b.healthySince.IsZero():
		b.unhealthySince, b.healthySince = time.Time{}, o.At
	case whole && o.At.Sub(b.healthySince) >= c.deadline: // failures from before the healthy period no longer count
		c.failures = c.failures.Reset()
	}
	if b.pollsWithoutHealthy++; n.Healthy > 0 || n.Desired == 0 {
		b.pollsWithoutHealthy = 0
	}
	if n.Healthy > c.mostHealthy {
		c.mostHealthy = n.Healthy
	}
	if c = c.noteRegistered(o, n); c.mostHealthy > 0 {
		c.registration = c.registration.OfRegistered()
	}
	c.last, b.capacity = n, c
	return b, b.judgeBake(o, n, whole)
}

func (b Bake) judgeBake(o verdict.Observation, n verdict.Counts, whole bool) verdict.Verdict {
	c := b.capacity
	v := verdict.Verdict{State: verdict.Progressing, Counts: n, Detail: detailText(o, n), NextPoll: troubledInterval}
	switch {
	case c.failures.Reach(diagnosis.FailAfter), b.hasTraffic && b.pollsWithoutHealthy >= maxPollsWithoutHealthy:
		v.State = verdict.Failing
	case whole:
		v.State, v.NextPoll = verdict.Healthy, bakeInterval(o.At.Sub(c.began))
	case !b.unhealthySince.IsZero() && o.At.Sub(b.unhealthySince) >= c.deadline:
		v.State = verdict.Stalling
	}
	return c.explainFailures(v, o)
}

// NeededLogs returns the failed tasks whose last log lines to read.
func (b Bake) NeededLogs() []diagnosis.Stopped { return b.capacity.NeededLogs() }

// AddLogs adds logs to the last observation, and judges it again.
func (b Bake) AddLogs(o verdict.Observation, logs []diagnosis.Log) (Bake, verdict.Verdict) {
	b.capacity = b.capacity.noteLogs(o, logs)
	n := CountTasks(o)
	return b, b.judgeBake(o, n, b.capacity.isComplete(o, n))
}

// troubledInterval is the time between polls while the version is unhealthy.
const troubledInterval = 3 * time.Second

// bakeInterval returns the time between polls of a healthy version. Most versions that fail do so
// in their first minutes.
func bakeInterval(age time.Duration) time.Duration {
	switch {
	case age < time.Minute:
		return 5 * time.Second
	case age < 5*time.Minute:
		return 10 * time.Second
	}
	return 20 * time.Second
}
