package plan

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct {
		name    string
		pool    Pool
		percent int
		want    Split
		raised  bool
	}{
		{"1 of 4", Pool{4, 1, 4}, 25, Split{3, 1}, false},
		{"1 of 10", Pool{10, 1, 10}, 10, Split{9, 1}, false},
		{"3 of 20", Pool{20, 3, 20}, 15, Split{17, 3}, false},
		{"10 of 20", Pool{20, 10, 20}, 50, Split{10, 10}, false},
		{"an equal share with nothing taken out", Pool{4, 4, 4}, 50, Split{4, 4}, false},
		{"less than one task is raised to one", Pool{4, 1, 4}, 5, Split{4, 1}, true},
		{"half a task is not", Pool{4, 1, 4}, 13, Split{4, 1}, false},
		{"too few canary tasks", Pool{10, 1, 10}, 50, Split{9, 1}, false},
		{"everything", Pool{4, 4, 4}, 100, Split{0, 4}, false},
		{"everything, though a task has died", Pool{4, 3, 4}, 100, Split{0, 3}, false},
		{"everything, during a rollout", Pool{8, 2, 4}, 100, Split{0, 2}, false},
		{"nothing", Pool{4, 4, 4}, 0, Split{4, 0}, false},
		{"no canary", Pool{4, 0, 4}, 50, Split{4, 0}, false},
		{"no primary", Pool{0, 2, 4}, 50, Split{0, 2}, false},
		{"the name is never empty", Pool{0, 2, 4}, 0, Split{0, 2}, false},
		{"neither", Pool{0, 0, 4}, 50, Split{}, false},
		{"one and one", Pool{1, 1, 1}, 10, Split{1, 1}, true},
		{"during a rollout twice the primary", Pool{8, 1, 4}, 25, Split{3, 1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := sluice.CanaryShare(c.percent)
			if got := c.pool.NearestSplit(w); got != c.want || got.Raised(w) != c.raised {
				t.Errorf("%+v at %d%%: %+v, raised %v; want %+v, %v", c.pool, c.percent, got, got.Raised(w), c.want,
					c.raised)
			}
		})
	}
}

// A canary that is registered in addition takes no task of the primary out.
func TestAddedSplitIsThePool(t *testing.T) {
	for _, c := range []struct {
		pool    Pool
		percent int
		want    Split
	}{
		{Pool{40, 7, 40}, 15, Split{40, 7}}, // 34 and 6 would be exactly 15%
		{Pool{8, 2, 4}, 33, Split{8, 2}},
		{Pool{0, 2, 4}, 33, Split{0, 2}},
		{Pool{4, 2, 4}, 0, Split{4, 0}},
		{Pool{4, 2, 4}, 100, Split{0, 2}},
	} {
		if got := c.pool.AddedSplit(sluice.CanaryShare(c.percent)); got != c.want {
			t.Errorf("%+v at %d%%: %+v, want %+v", c.pool, c.percent, got, c.want)
		}
	}
}

// Half of a task is not raised to one: the share that is made is as near as none.
func TestRaisedIsLessThanHalfATask(t *testing.T) {
	for _, c := range []struct {
		split   Split
		percent int
		raised  bool
	}{
		{Split{9, 1}, 5, false},
		{Split{8, 1}, 5, true},
		{Split{1, 9}, 95, false},
		{Split{1, 8}, 95, true},
		{Split{9, 1}, 0, false},
	} {
		if got := c.split.Raised(sluice.CanaryShare(c.percent)); got != c.raised {
			t.Errorf("%+v at %d%%: raised %v, want %v", c.split, c.percent, got, c.raised)
		}
	}
}

func TestNearestHoldsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Pool{rapid.IntRange(0, 30).Draw(t, "primary"), rapid.IntRange(0, 30).Draw(t, "canary"),
			rapid.IntRange(1, 30).Draw(t, "desired")}
		w := sluice.CanaryShare(rapid.IntRange(0, 100).Draw(t, "percent"))
		s := p.NearestSplit(w)
		if s.Primary > p.Primary || s.Canary > p.Canary || s.Primary < 0 || s.Canary < 0 {
			t.Fatalf("%+v is not of %+v", s, p)
		}
		if s.Total() == 0 && p.Primary+p.Canary > 0 {
			t.Fatalf("%+v at %s: nobody is found", p, w)
		}
		if s.Primary < min(p.Primary, p.Desired) && w.Primary() > 0 && s.Total() < p.Desired {
			t.Fatalf("%+v at %s: %+v takes primaries out below the desired count", p, w, s)
		}
		if w.Canary() > 0 && p.Canary > 0 && s.Canary == 0 {
			t.Fatalf("%+v at %s: no canary is found", p, w)
		}
		off := math.Abs(s.Percent() - float64(w.Canary()))
		for n := 1; n <= p.Canary && w.Canary() > 0 && w.Primary() > 0 && p.Primary > 0; n++ {
			for m := 1; m <= min(p.Primary, p.Desired); m++ {
				other := Split{m, n}
				if (m == min(p.Primary, p.Desired) || other.Total() >= p.Desired) &&
					math.Abs(other.Percent()-float64(w.Canary())) < off-1e-9 {
					t.Fatalf("%+v at %s: %+v is nearer than %+v", p, w, other, s)
				}
			}
		}
		full := p.Primary >= p.Desired && p.Canary >= p.Desired
		if full && off > s.Bound()+1e-9 && !s.Raised(w) {
			t.Fatalf("%+v at %s: %+v is %.2f%% off, the bound is %.2f%%", p, w, s, off, s.Bound())
		}
	})
}

func TestExactly(t *testing.T) {
	for _, c := range []struct {
		pool    Pool
		percent int
		want    Split
		ok      bool
	}{
		{Pool{4, 1, 4}, 25, Split{3, 1}, true},
		{Pool{4, 1, 4}, 10, Split{9, 1}, false},
		{Pool{10, 1, 10}, 50, Split{5, 5}, true},
		{Pool{5, 1, 5}, 50, Split{3, 3}, true},
		{Pool{4, 1, 4}, 60, Split{2, 3}, true},
		{Pool{20, 1, 20}, 15, Split{17, 3}, true},
		{Pool{4, 1, 4}, 100, Split{0, 4}, true},
		{Pool{4, 1, 4}, 0, Split{4, 0}, true},
	} {
		got, ok := c.pool.ExactSplit(sluice.CanaryShare(c.percent))
		if got != c.want || ok != c.ok {
			t.Errorf("%+v at %d%%: %+v %v, want %+v %v", c.pool, c.percent, got, ok, c.want, c.ok)
		}
		if w := sluice.CanaryShare(c.percent); ok && c.percent > 0 && !got.IsExact(w) {
			t.Errorf("%+v is not exactly %s", got, w)
		}
	}
	for percent, want := range map[int]int{50: 2, 25: 4, 10: 10, 30: 10, 15: 20, 1: 100, 100: 1, 33: 100} {
		if got := ExactTaskCount(sluice.CanaryShare(percent)); got != want {
			t.Errorf("%d%% is reached with %d tasks, want %d", percent, got, want)
		}
	}
}
