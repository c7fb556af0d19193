package plan

import "github.com/sluice-ecs/sluice"

// Cloud Map answers have no weights: every record of a name has the same probability (Cloud Map
// Developer Guide, "Routing policy"). A share is therefore made by counts: the number of registered
// tasks that belong to the canary.

// Pool is the number of tasks that can be registered under a name.
type Pool struct {
	Primary, Canary int // tasks that are running and healthy
	Desired         int // the service's desired count: minimum of registered tasks, and maximum of the primary
}

// Split is the number of registered tasks of each variant.
type Split struct {
	Primary, Canary int
}

// Total returns the number of registered tasks.
func (s Split) Total() int { return s.Primary + s.Canary }

// Percent returns the share of the canary in percent; 0 if no task is registered.
func (s Split) Percent() float64 {
	if s.Total() == 0 {
		return 0
	}
	return 100 * float64(s.Canary) / float64(s.Total())
}

// Bound returns, in percent, the largest distance between the requested share and a share of so
// many tasks: half a task.
func (s Split) Bound() float64 {
	if s.Total() == 0 {
		return 0
	}
	return 100 / float64(2*s.Total())
}

// Raised reports whether a variant has one task although less than half a task was requested.
func (s Split) Raised(w sluice.Weights) bool {
	raised := func(n, percent int) bool { return n == 1 && percent > 0 && percent*s.Total() < 50 }
	return raised(s.Canary, w.Canary()) || raised(s.Primary, w.Primary())
}

// IsExact reports whether the share equals the requested one.
func (s Split) IsExact(w sluice.Weights) bool { return s.distanceTo(w) == 0 && s.Total() > 0 }

// distanceTo returns the distance of the share from w, in percent times the number of tasks.
func (s Split) distanceTo(w sluice.Weights) int {
	d := 100*s.Canary - w.Canary()*s.Total()
	return max(d, -d)
}

// isNearer reports whether s is closer to w than o. Of two equally close splits, the one with more
// primary tasks wins.
func (s Split) isNearer(o Split, w sluice.Weights) bool {
	a, b := s.distanceTo(w)*o.Total(), o.distanceTo(w)*s.Total()
	return a < b || a == b && s.Primary > o.Primary
}

// NearestSplit returns the split of the pool that is closest to the weights. It keeps at least
// desired tasks registered unless the canary has the whole share, and a share above zero is at
// least one task. The split is empty only if the pool is. A primary with more tasks than desired,
// as during a rollout, counts with desired tasks only, so that the split stays stable.
func (p Pool) NearestSplit(w sluice.Weights) Split {
	switch {
	case w.Canary() == 0 || p.Canary == 0:
		return Split{Primary: p.Primary, Canary: min(p.Canary, allOrNone(p.Primary == 0))}
	case w.Primary() == 0 || p.Primary == 0:
		return Split{Canary: p.Canary}
	}
	p.Primary = min(p.Primary, max(1, p.Desired)) // during a rollout there are up to twice as many
	best := Split{}
	for n := 1; n <= p.Canary; n++ {
		even := n * w.Primary() / w.Canary()
		for _, m := range []int{even, even + 1} {
			s := Split{Primary: p.limitPrimary(m, n), Canary: n}
			if best.Total() == 0 || s.isNearer(best, w) {
				best = s
			}
		}
	}
	return best
}

// AddedSplit is NearestSplit for a canary that is registered in addition to every task of the
// primary, see [Plan.CanaryServesAtOnce]. A whole share is that of NearestSplit.
func (p Pool) AddedSplit(w sluice.Weights) Split {
	if w.Canary() == 0 || w.Primary() == 0 {
		return p.NearestSplit(w)
	}
	return Split{Primary: p.Primary, Canary: p.Canary}
}

// allOrNone returns the limit on canary tasks: unlimited if all is set, otherwise 0.
func allOrNone(all bool) int {
	if all {
		return int(^uint(0) >> 1)
	}
	return 0
}

// limitPrimary returns m, limited to the tasks of the pool and raised to the number that must be
// registered in addition to n canary tasks.
func (p Pool) limitPrimary(m, n int) int {
	least := min(p.Primary, max(1, p.Desired-n))
	return min(p.Primary, max(least, m))
}

// ExactSplit returns the smallest split that matches the weights exactly, with as many canary tasks
// as it takes. ok is false if the primary has too few tasks for it.
func (p Pool) ExactSplit(w sluice.Weights) (s Split, ok bool) {
	if w.Canary() == 0 {
		return Split{Primary: p.Primary}, true
	}
	whole := ExactTaskCount(w)
	canary, primary := w.Canary()*whole/100, w.Primary()*whole/100
	times := max(1, (p.Desired+whole-1)/whole)
	s = Split{Primary: times * primary, Canary: times * canary}
	return s, s.Primary <= p.Primary
}

// ExactTaskCount returns the smallest number of tasks of which the weights are whole parts.
func ExactTaskCount(w sluice.Weights) int {
	a, b := 100, w.Canary()
	for b != 0 {
		a, b = b, a%b
	}
	return 100 / a
}
