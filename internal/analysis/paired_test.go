package analysis

import (
	"math"
	"math/rand/v2"
	"testing"
)

// playPairs looks at two series until the gate is bad, and returns after how many looks; 0 for never.
func playPairs(g Gate, looks int, draw func() (canary, control float64)) int {
	var s State
	for i := range looks {
		a, b := draw()
		s = g.See(s, Look{Canary: []float64{a}, Control: []float64{b}})
		if g.Judge(s).Verdict == Bad {
			return i + 1
		}
	}
	return 0
}

// Equal series are called bad in at most 1 % of the runs, at any number of looks and whatever their scale.
func TestPairedKeepsItsPromise(t *testing.T) {
	runs := runsOf(10_000, 1000)
	random := rand.New(rand.NewPCG(18, 4))
	for _, scale := range []float64{1e-9, 1, 1e12} {
		bad := 0
		for range runs {
			if playPairs(Gate{Strategy: Paired}, 120, func() (float64, float64) {
				load := 50 + 10*random.NormFloat64() // both variants follow the load
				return scale * (load + random.NormFloat64()), scale * (load + random.NormFloat64())
			}) > 0 {
				bad++
			}
		}
		chance := 3 * math.Sqrt(.01*float64(runs)) // three standard deviations of the count
		if float64(bad) > .01*float64(runs)+chance {
			t.Errorf("scale %v: %d of %d equal series are called bad", scale, bad, runs)
		}
	}
}

func TestPairedFindsDifferences(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 5))
	shift := func(by float64) func() (float64, float64) {
		return func() (float64, float64) { return 50 + by + random.NormFloat64(), 50 + random.NormFloat64() }
	}
	for _, c := range []struct {
		deviation string
		by        float64
		isBad     bool
	}{
		{Either, 5, true}, {Either, -5, true}, {High, 5, true}, {High, -5, false}, {Low, -5, true}, {Low, 5, false},
	} {
		g := Gate{Strategy: Paired, Deviation: c.deviation}
		n := playPairs(g, 60, shift(c.by))
		if (n > 0) != c.isBad {
			t.Errorf("%s, %v: bad after %d looks, want %v", c.deviation, c.by, n, c.isBad)
		}
		if n > 0 && n < 2*leastPairs-1 {
			t.Errorf("%s, %v: bad after %d looks, which are too few", c.deviation, c.by, n)
		}
	}
}

func TestPairedWithExtremeValues(t *testing.T) {
	for _, v := range []float64{0, 1e308, -1e308, 5e-324} {
		g := Gate{Strategy: Paired}
		var s State
		for range 60 {
			s = g.See(s, Look{Canary: []float64{v, v}, Control: []float64{-v, math.NaN()}})
		}
		if j := g.Judge(s); math.IsNaN(j.Evidence) || (j.Verdict == Bad) != (math.Abs(v) > 1) {
			t.Errorf("%v: %s %s", v, j.Verdict, j.Text())
		}
	}
	g := Gate{Strategy: Paired}
	if j := g.JudgeAtEnd(seeAll(g, Look{}, Look{Canary: []float64{1}})); j.Verdict != Undecided || j.Empty != 2 {
		t.Errorf("%+v", j)
	}
}
