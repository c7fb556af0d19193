package verdict

import "time"

// Bake judges a version that serves while nothing else happens: whether it stays
// as healthy as it was. Make one with [Baking].
type Bake struct {
	capacity Capacity
	ill      time.Time // since when it is less than whole; zero: it is whole
	well     time.Time // since when it is whole; zero: it is not
	bare     int       // looks in a row with no healthy task
	traffic  bool
}

// Baking starts a judge. deadline is how long it may be less than whole; traffic
// tells that requests go to it: then none that is healthy is a failure at once.
func Baking(now time.Time, deadline time.Duration, traffic bool) Bake {
	return Bake{capacity: Await(now, deadline, 0), traffic: traffic}
}

// bareLooks are how many looks in a row must show no healthy task: one may be an
// old answer.
const bareLooks = 2

// See adds an observation. Healthy says that it is whole now, not that the bake
// is over: how long it lasts the caller knows.
func (b Bake) See(o Observation) (Bake, Verdict) {
	n := count(o)
	c := b.capacity.blame(o)
	whole := c.whole(o, n)
	switch {
	case !whole && b.ill.IsZero():
		b.ill, b.well = o.At, time.Time{}
	case whole && b.well.IsZero():
		b.ill, b.well = time.Time{}, o.At
	case whole && o.At.Sub(b.well) >= c.deadline: // failures of long ago are forgiven
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

// troubled is the time between looks while something is wrong.
const troubled = 3 * time.Second

// quiet is the time between looks at what is well: a version that fails mostly does
// so in its first minutes.
func quiet(age time.Duration) time.Duration {
	switch {
	case age < time.Minute:
		return 5 * time.Second
	case age < 5*time.Minute:
		return 10 * time.Second
	}
	return 20 * time.Second
}
