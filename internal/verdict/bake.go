package verdict

import "time"

// Bake judges a running version while no deployment step runs: whether it stays as healthy as it
// was. Make one with [StartBake].
type Bake struct {
	capacity Capacity
	ill      time.Time // since when it is not complete; zero: it is complete
	well     time.Time // since when it is complete; zero: it is not
	bare     int       // polls in a row
	traffic  bool
}

// StartBake starts a judge. deadline is how long the version may be incomplete. traffic means that
// requests reach the version: then a version without a healthy task fails immediately.
func Baking(now time.Time, deadline time.Duration, traffic bool) Bake {
	return Bake{capacity: Await(now, deadline, 0), traffic: traffic}
}

// maxPollsWithoutHealthy is how many polls in a row must return no healthy task. One response may
// be stale.
const bareLooks = 2

// See adds an observation. Healthy means that the version is complete now, not that the bake is
// over: the caller decides how long the bake lasts.
func (b Bake) See(o Observation) (Bake, Verdict) {
	n := count(o)
	c := b.capacity.blame(o)
	whole := c.whole(o, n)
	switch {
	case !whole && b.ill.IsZero():
		b.ill, b.well = o.At, time.Time{}
	case whole && b.well.IsZero():
		b.ill, b.well = time.Time{}, o.At
	case whole && o.At.Sub(b.well) >= c.deadline: // failures from before the healthy period no longer count
		c.causes, c.order = map[string]Cause{}, nil
	}
	if b.bare++; n.Healthy > 0 || n.Desired == 0 {
		b.bare = 0
	}
	if n.Healthy > c.reached {
		c.reached = n.Healthy
	}
	c.last, b.capacity = n, c
	return b, b.judge(o, n, whole)
}

func (b Bake) judge(o Observation, n Counts, whole bool) Verdict {
	c := b.capacity
	v := Verdict{State: Progressing, Cause: c.leading(), Counts: n, Detail: detail(o, n), NextLook: troubled}
	switch {
	case v.Cause.Count >= c.failAfter, b.traffic && b.bare >= bareLooks:
		v.State = Failing
	case whole:
		v.State, v.NextLook = Healthy, quiet(o.At.Sub(c.began))
	case !b.ill.IsZero() && o.At.Sub(b.ill) >= c.deadline:
		v.State = Stalling
	}
	return v
}

// troubledInterval is the time between polls while the version is unhealthy.
const troubled = 3 * time.Second

// bakeInterval returns the time between polls of a healthy version. Most versions that fail do so
// in their first minutes.
func quiet(age time.Duration) time.Duration {
	switch {
	case age < time.Minute:
		return 5 * time.Second
	case age < 5*time.Minute:
		return 10 * time.Second
	}
	return 20 * time.Second
}
