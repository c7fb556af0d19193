package plan

import "github.com/sluice-ecs/sluice"

// Cloud Map answers carry no weights: every record of a name is as likely as any
// other (Cloud Map Developer Guide, "Routing policy"). A share is therefore made
// by counts: how many of the tasks that are found are the canary's.

// Pool is the tasks that can be found under a name.
type Pool struct {
	Primary, Canary int // tasks that run and are well
	Desired         int // the service's desired count: fewer are not to be found, nor more of the primary
}

// Split is how many tasks of each variant are found.
type Split struct {
	Primary, Canary int
}

// All is how many tasks are found.
func (s Split) All() int { return s.Primary + s.Canary }

// Percent is the canary's share in percent; 0 if nothing is found.
func (s Split) Percent() float64 {
	if s.All() == 0 {
		return 0
	}
	return 100 * float64(s.Canary) / float64(s.All())
}

// Bound is how far from what was asked a share can be, in percent, that is made
// of so many tasks: half a task.
func (s Split) Bound() float64 {
	if s.All() == 0 {
		return 0
	}
	return 100 / float64(2*s.All())
}

// Raised reports whether a variant was asked for less than half a task, and has
// one.
func (s Split) Raised(w sluice.Weights) bool {
	raised := func(n, percent int) bool { return n == 1 && percent > 0 && percent*s.All() < 50 }
	return raised(s.Canary, w.Canary()) || raised(s.Primary, w.Primary())
}

// Exact reports whether the share is exactly what is asked.
func (s Split) Exact(w sluice.Weights) bool { return s.off(w) == 0 && s.All() > 0 }

// off is how far the share is from w, in percent times the number of tasks.
func (s Split) off(w sluice.Weights) int {
	d := 100*s.Canary - w.Canary()*s.All()
	return max(d, -d)
}

// nearer reports whether s comes nearer to w than o; of equals the one that
// leaves more of the primary where it is.
func (s Split) nearer(o Split, w sluice.Weights) bool {
	a, b := s.off(w)*o.All(), o.off(w)*s.All()
	return a < b || a == b && s.Primary > o.Primary
}

// Nearest is the split of the pool that comes nearest to the weights. Of the
// primary it takes out only so many that no fewer tasks than desired are found,
// but for a canary that has everything; a share above zero is at least one task.
// It is never empty unless the pool is. Of a primary with more tasks than desired,
// as during a rollout, no more than desired count, so that the split stays.
func (p Pool) Nearest(w sluice.Weights) Split {
	switch {
	case w.Canary() == 0 || p.Canary == 0:
		return Split{Primary: p.Primary, Canary: min(p.Canary, everything(p.Primary == 0))}
	case w.Primary() == 0 || p.Primary == 0:
		return Split{Canary: p.Canary}
	}
	p.Primary = min(p.Primary, max(1, p.Desired)) // during a rollout there are up to twice as many
	best := Split{}
	for n := 1; n <= p.Canary; n++ {
		even := n * w.Primary() / w.Canary()
		for _, m := range []int{even, even + 1} {
			s := Split{Primary: p.primaries(m, n), Canary: n}
			if best.All() == 0 || s.nearer(best, w) {
				best = s
			}
		}
	}
	return best
}

// everything is no limit, or none at all.
func everything(all bool) int {
	if all {
		return int(^uint(0) >> 1)
	}
	return 0
}

// primaries is m within what the pool has and what must be found beside n.
func (p Pool) primaries(m, n int) int {
	least := min(p.Primary, max(1, p.Desired-n))
	return min(p.Primary, max(least, m))
}

// Exactly is the smallest split that is exactly the weights beside the pool's
// primary, however many canary tasks it takes. ok is false if the primary has
// too few tasks for it.
func (p Pool) Exactly(w sluice.Weights) (s Split, ok bool) {
	if w.Canary() == 0 {
		return Split{Primary: p.Primary}, true
	}
	whole := Reach(w)
	canary, primary := w.Canary()*whole/100, w.Primary()*whole/100
	times := max(1, (p.Desired+whole-1)/whole)
	s = Split{Primary: times * primary, Canary: times * canary}
	return s, s.Primary <= p.Primary
}

// Reach is the smallest number of tasks of which the weights are whole parts.
func Reach(w sluice.Weights) int {
	a, b := 100, w.Canary()
	for b != 0 {
		a, b = b, a%b
	}
	return 100 / a
}
