package analysis

import (
	"math"
	"math/rand/v2"
	"time"
)

// release is a canary that serves a tenth of the requests, and how often each variant fails.
type release struct {
	perMinute float64 // requests of both variants
	bad       float64 // share of bad requests of the primary
	times     float64 // the canary's share is so many times that of the primary
	half      bool    // half of the canary's requests fail, whatever else
	surge     bool    // both variants fail 20 % for three minutes
	clumped   float64 // expected clumps in a minute: 5 to 20 failures of one caller, on one variant
	shifts    bool    // the canary's share rises from 10 % to 50 % in the middle
}

const canaryShare = .1

// minute draws the counts of one minute.
func (r release) minute(random *rand.Rand, minute int) Window {
	bad := r.bad
	if r.surge && minute >= 10 && minute < 13 {
		bad = .2
	}
	share := canaryShare
	if r.shifts && minute >= 15 {
		share = .5
	}
	all := drawPoisson(random, r.perMinute)
	canary := drawBinomial(random, all, share)
	worse := min(bad*r.times, 1)
	if r.half {
		worse = .5
	}
	w := window(minute, int(drawBinomial(random, canary, worse)), int(canary),
		int(drawBinomial(random, all-canary, bad)), int(all-canary))
	for range drawPoisson(random, r.clumped) {
		side := &w.Primary
		if random.Float64() < share {
			side = &w.Canary
		}
		n := 5 + random.Int64N(16)
		side.Bad, side.All = side.Bad+n, side.All+n
	}
	return w
}

// drawBinomial draws how many of n are hit, by the distances between hits.
func drawBinomial(random *rand.Rand, n int64, p float64) int64 {
	switch {
	case p <= 0 || n <= 0:
		return 0
	case p > .5:
		return n - drawBinomial(random, n, 1-p)
	}
	hits, at := int64(0), 0.0
	for {
		at += math.Floor(math.Log(1-random.Float64())/math.Log1p(-p)) + 1
		if at > float64(n) {
			return hits
		}
		hits++
	}
}

// drawPoisson draws a number of arrivals; large numbers are drawn as rounded normal ones.
func drawPoisson(random *rand.Rand, mean float64) int64 {
	if mean > 200 {
		return max(int64(math.Round(mean+math.Sqrt(mean)*random.NormFloat64())), 0)
	}
	n := int64(0)
	for t := random.ExpFloat64(); t < mean; t += random.ExpFloat64() {
		n++
	}
	return n
}

// outcome is how a gate ended, and after how many looks.
type outcome struct {
	verdict Verdict
	looks   int
}

// play looks at a release once a minute until the gate decides.
func play(g Gate, r release, random *rand.Rand, looks int) outcome {
	g.Strategy = Sequential
	var s State
	for i := range looks {
		s = g.See(s, Look{At: start().Add(time.Duration(i+1) * time.Minute), Windows: []Window{r.minute(random, i)}})
		if j := g.Judge(s); j.Verdict != Undecided {
			return outcome{j.Verdict, i + 1}
		}
	}
	return outcome{Undecided, looks}
}

// tally is how many of some releases ended how.
type tally struct {
	runs, bad, good int
	looks           []int // of bad verdicts
	passes          []int // of good verdicts
}

func playAll(g Gate, r release, runs, looks int, seed uint64) (t tally) {
	random := rand.New(rand.NewPCG(seed, 18))
	for range runs {
		o := play(g, r, random, looks)
		t.runs++
		switch o.verdict {
		case Bad:
			t.bad++
			t.looks = append(t.looks, o.looks)
		case Good:
			t.good++
			t.passes = append(t.passes, o.looks)
		}
	}
	return t
}

// badWithin is the share of releases that were bad after so many looks.
func (t tally) badWithin(looks int) float64 {
	n := 0
	for _, l := range t.looks {
		if l <= looks {
			n++
		}
	}
	return float64(n) / float64(t.runs)
}
