package analysis

import (
	"math"
	"time"
)

// method is a way to judge a canary. It returns after which minute it calls the canary bad, 0 for never.
type method struct {
	name  string
	judge func([]Window) int
}

// methods are those of the table in docs/statistics.md. Each should call at most 1 % of the good releases bad.
func methods() []method {
	return []method{
		{"more than 1 % in a minute, failureLimit 0", overOnePercent(0, 1)},
		{"the same, failureLimit 3, minutes of 20 requests", overOnePercent(3, 20)},
		{"z test each minute", zTest},
		{"Mann–Whitney of the minutes, at the end", mannWhitneyAtEnd},
		{"Mann–Whitney of the minutes, each minute", eachMinute(mannWhitneyOf)},
		{"Fisher's exact test, at the end", fisherAtEnd},
		{"O'Brien–Fleming, z at 6 looks", obrienFleming},
		{"mSPRT with a normal distribution", eachMinute(normalMixture)},
		{"Dirichlet mixture", eachMinute(dirichletMixture)},
		{"`SEQUENTIAL` with `worse: 1`, `spread: 1`", gateMethod(Gate{Worse: 1, Spread: 1})},
		{"`SEQUENTIAL` with `worse: 1`", gateMethod(Gate{Worse: 1})},
		{"`SEQUENTIAL`", gateMethod(Gate{})},
	}
}

// gateMethod judges by a gate, to the end if it does not become bad.
func gateMethod(g Gate) func([]Window) int {
	g.Strategy = Sequential
	return func(windows []Window) int {
		var s State
		for i, w := range windows {
			s = g.See(s, Look{At: w.From.Add(2 * time.Minute), Windows: []Window{w}})
			if g.Judge(s).Verdict == Bad {
				return i + 1
			}
		}
		return 0
	}
}

// overOnePercent counts minutes in which more than 1 % of at least so many requests of the canary fail.
func overOnePercent(limit int, least int64) func([]Window) int {
	return func(windows []Window) int {
		failures := 0
		for i, w := range windows {
			if w.Canary.All >= least && w.Canary.share() > .01 {
				failures++
			}
			if failures > limit {
				return i + 1
			}
		}
		return 0
	}
}

// eachMinute asks a test after each minute, with all minutes until then.
func eachMinute(test func([]Window) bool) func([]Window) int {
	return func(windows []Window) int {
		for i := range windows {
			if test(windows[:i+1]) {
				return i + 1
			}
		}
		return 0
	}
}

// total is the sums of some minutes, and the z value of the difference of both shares.
func total(windows []Window) (canary, primary Counts, z float64) {
	for _, w := range windows {
		canary, primary = canary.add(w.Canary), primary.add(w.Primary)
	}
	p := canary.add(primary).share()
	variance := p * (1 - p) * (1/float64(canary.All) + 1/float64(primary.All))
	if !(variance > 0) || math.IsInf(variance, 0) {
		return canary, primary, 0
	}
	return canary, primary, (canary.share() - primary.share()) / math.Sqrt(variance)
}

// onePercent is the z value of 1 %, one-sided.
const onePercent = 2.326

func zTest(windows []Window) int {
	return eachMinute(func(w []Window) bool { _, _, z := total(w); return z > onePercent })(windows)
}

func obrienFleming(windows []Window) int {
	const bound = 2.37 // of six looks, for 1 % one-sided
	for look := 1; look <= 6; look++ {
		n := look * len(windows) / 6
		if _, _, z := total(windows[:n]); z > bound*math.Sqrt(6/float64(look)) {
			return n
		}
	}
	return 0
}

func mannWhitneyAtEnd(windows []Window) int {
	if mannWhitneyOf(windows) {
		return len(windows)
	}
	return 0
}

// mannWhitneyOf compares the shares of the minutes: exactly up to eight minutes, which is fast.
func mannWhitneyOf(windows []Window) bool {
	var canary, primary []float64
	for _, w := range windows {
		canary, primary = append(canary, w.Canary.share()), append(primary, w.Primary.share())
	}
	n := len(windows)
	twiceU, ties := rank(canary, primary)
	if n <= 8 {
		return len(ties) > 1 && exactP(twiceU, n, n, ties, High) <= .01
	}
	return normalP(float64(twiceU)/2, n, n, ties, High) <= .01
}

// fisherAtEnd sums the chances of as many failures of the canary or more, given those of both.
func fisherAtEnd(windows []Window) int {
	canary, primary, _ := total(windows)
	choose := func(n, k int64) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	k, p := canary.Bad+primary.Bad, 0.0
	for x := canary.Bad; x <= min(k, canary.All); x++ {
		p += math.Exp(choose(canary.All, x) + choose(primary.All, k-x) - choose(canary.All+primary.All, k))
	}
	if p <= .01 {
		return len(windows)
	}
	return 0
}

// normalMixture is the mSPRT of two shares, with a mixture of one standard deviation of a request.
func normalMixture(windows []Window) bool {
	canary, primary, z := total(windows)
	m := 1 / (1/float64(canary.All) + 1/float64(primary.All))
	return z > 0 && z*z*m/(2*(1+m))-math.Log1p(m)/2 >= math.Log(100)
}

// dirichletMixture is the sequential test of arXiv 2011.03567 for the canary's part of the failures.
func dirichletMixture(windows []Window) bool {
	const weight = 10
	canary, primary, _ := total(windows)
	c, p := float64(canary.Bad), float64(primary.Bad)
	beta := func(a, b float64) float64 {
		x, _ := math.Lgamma(a)
		y, _ := math.Lgamma(b)
		z, _ := math.Lgamma(a + b)
		return x + y - z
	}
	s := float64(canary.All) / float64(canary.All+primary.All)
	log := beta(weight*s+c, weight*(1-s)+p) - beta(weight*s, weight*(1-s)) - c*math.Log(s) - p*math.Log1p(-s)
	return c > s*(c+p) && log >= math.Log(100)
}
