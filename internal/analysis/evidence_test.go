package analysis

import (
	"fmt"
	"math"
	"testing"
)

// null is Fisher's noncentral hypergeometric distribution: how many of k failures hit c requests of the
// canary and not p of the primary, if the odds of the canary are ratio times as high.
func null(c, p, k int, ratio float64) map[int]float64 {
	chances, total := map[int]float64{}, 0.0
	for x := max(k-p, 0); x <= min(k, c); x++ {
		chances[x] = binomial(c, x) * binomial(p, k-x) * math.Pow(ratio, float64(x))
		total += chances[x]
	}
	for x := range chances {
		chances[x] /= total
	}
	return chances
}

// meanFactor is the exact mean of a bet's factor, given the failures of a window.
func meanFactor(c, p, k int, ratio float64, bet func(Window) float64) float64 {
	mean := 0.0
	for x, chance := range null(c, p, k, ratio) {
		w := Window{Canary: Counts{int64(x), int64(c)}, Primary: Counts{int64(k - x), int64(p)}}
		mean += chance * math.Exp(bet(w))
	}
	return mean
}

// eachWindow calls f with all small windows and numbers of failures.
func eachWindow(most int, f func(c, p, k int)) {
	for c := range most + 1 {
		for p := range most + 1 {
			for k := range c + p + 1 {
				f(c, p, k)
			}
		}
	}
}

const rounding = 1e-9

// The bet on "worse" does not pay on average, as long as the odds are within the margin. All windows of up
// to 12 requests are enumerated, with every number of failures.
func TestBetOnWorseDoesNotPayIfTheClaimIsTrue(t *testing.T) {
	for _, margin := range []float64{1, 1.5, 2, 5} {
		for _, ratio := range []float64{.01, .5, 1, 1.5, 2, 5} {
			if ratio > margin {
				continue
			}
			for _, r := range worseBets {
				eachWindow(12, func(c, p, k int) {
					bet := func(w Window) float64 { return betWorse(w, margin, r) }
					if m := meanFactor(c, p, k, ratio, bet); m > 1+rounding {
						t.Fatalf("margin %v, odds %v, bet %v, %d and %d requests, %d failures: mean %v", margin, ratio, r, c,
							p, k, m)
					}
				})
			}
		}
	}
}

// The bet on "not twice as bad" does not pay on average, if the odds are twice as high or higher.
func TestBetOnBetterDoesNotPayIfTheClaimIsTrue(t *testing.T) {
	for _, bound := range []float64{2, 4} {
		for _, ratio := range []float64{2, 3, 4, 10, 1000} {
			if ratio < bound {
				continue
			}
			for _, r := range equalBets {
				eachWindow(12, func(c, p, k int) {
					bet := func(w Window) float64 { return betBetter(w, bound, r) }
					if m := meanFactor(c, p, k, ratio, bet); m > 1+rounding {
						t.Fatalf("bound %v, odds %v, bet %v, %d and %d requests, %d failures: mean %v", bound, ratio, r, c,
							p, k, m)
					}
				})
			}
		}
	}
}

// Bets on a share do not pay on average if the claim is true.
func TestBetsOnShareDoNotPayIfTheClaimIsTrue(t *testing.T) {
	for _, limit := range []float64{.001, .01, .3, .9} {
		for n := range 30 {
			for _, part := range []float64{0, .5, 1} {
				for _, r := range worseBets {
					requireFair(t, n, part*limit, func(c Counts) float64 { return betShare(c, limit, r) })
				}
				for _, below := range belowBets {
					requireFair(t, n, limit+part*(1-limit), func(c Counts) float64 { return betShareBelow(c, limit, below) })
				}
			}
		}
	}
}

func requireFair(t *testing.T, n int, share float64, bet func(Counts) float64) {
	t.Helper()
	mean := 0.0
	for x := range n + 1 {
		chance := binomial(n, x) * math.Pow(share, float64(x)) * math.Pow(1-share, float64(n-x))
		mean += chance * math.Exp(bet(Counts{int64(x), int64(n)}))
	}
	if mean > 1+rounding {
		t.Fatalf("share %v, %d requests: mean %v", share, n, mean)
	}
}

// The stake that a gate keeps over two windows of different shares and rates does not pay on average
// either, and neither does the average of all bets. The path is that of users: See, then Judge.
func TestEvidenceOfTwoWindowsIsFair(t *testing.T) {
	g := Gate{Strategy: Sequential}
	for _, ratio := range []float64{.5, 1, 1.5} {
		for _, failures := range [][2]int{{1, 9}, {2, 4}, {5, 1}, {0, 3}, {12, 7}} {
			mean := 0.0
			for x, chanceX := range null(2, 10, failures[0], ratio) {
				for y, chanceY := range null(8, 4, failures[1], ratio) {
					s := g.See(State{}, Look{Windows: []Window{
						window(0, x, 2, failures[0]-x, 10), window(1, y, 8, failures[1]-y, 4)}})
					mean += chanceX * chanceY * g.Judge(s).Evidence
				}
			}
			if mean > 1+rounding {
				t.Errorf("odds %v, failures %v: mean %v", ratio, failures, mean)
			}
		}
	}
}

// The evidence is what the formula of docs/statistics.md says, in windows of different shares.
func TestEvidenceIsThatOfTheFormula(t *testing.T) {
	g := Gate{Strategy: Sequential, Worse: 1.5}
	windows := []Window{window(0, 1, 60, 1, 540), window(1, 0, 60, 2, 540), window(2, 9, 300, 3, 300),
		window(3, 3, 61, 9, 550), window(4, 3, 60, 0, 540)}
	want := 0.0
	for _, r := range []float64{1.5, 2, 3, 5, 10, 30, 100, 1000} {
		product := 1.0
		for _, w := range windows {
			s := float64(w.Canary.All) / float64(w.Canary.All+w.Primary.All)
			theta := func(r float64) float64 { return r * s / (r*s + 1 - s) }
			product *= math.Pow(theta(1.5*r)/theta(1.5), float64(w.Canary.Bad)) *
				math.Pow((1-theta(1.5*r))/(1-theta(1.5)), float64(w.Primary.Bad))
		}
		want += product / 8
	}
	j := g.Judge(g.See(State{}, Look{Windows: windows}))
	if math.Abs(j.Evidence/want-1) > 1e-6 {
		t.Errorf("evidence %v, want %v", j.Evidence, want)
	}
	if j.Evidence < 1.2 || j.Evidence > 50 {
		t.Errorf("evidence %v says too little of the formula", j.Evidence)
	}
}

// Extreme counts give numbers, and the right verdict.
func TestExtremeCounts(t *testing.T) {
	const million = 1_000_000
	for _, c := range []struct {
		gate    Gate
		windows []Window
		want    Verdict
	}{
		{Gate{}, nil, Undecided},
		{Gate{}, []Window{window(0, 0, 0, 0, 0)}, Undecided},
		{Gate{}, []Window{window(0, 0, 0, 500, 1000)}, Undecided},
		{Gate{}, []Window{window(0, 500, 1000, 0, 0)}, Undecided},
		{Gate{}, []Window{window(0, 1000, 1000, 0, 0)}, Undecided}, // no primary to compare with
		{Gate{Max: .01}, []Window{window(0, 1000, 1000, 0, 0)}, Bad},
		{Gate{Max: .01}, []Window{window(0, 0, 1000, 0, 0)}, Good},
		{Gate{}, []Window{window(0, 1000, 1000, 1000, 1000)}, Undecided},
		{Gate{}, []Window{window(0, 900*million, 1000*million, 0, 9000*million)}, Bad},
		{Gate{}, []Window{window(0, 0, 1000*million, 900*million, 9000*million)}, Good},
		{Gate{}, []Window{window(0, 10*million, 1000*million, 90*million, 9000*million)}, Good},
		{Gate{}, []Window{window(0, 0, 100, 7, 5)}, Good}, // counts of different times
		{Gate{}, []Window{window(0, -5, 100, 7, 5)}, Undecided},
		{Gate{}, []Window{window(0, 0, 100, 7, -5)}, Undecided},
	} {
		c.gate.Strategy = Sequential
		j := c.gate.Judge(c.gate.See(State{}, Look{Windows: c.windows}))
		if j.Verdict != c.want {
			t.Errorf("%v: %s, want %s: %s", c.windows, j.Verdict, c.want, j.Text())
		}
		for _, f := range []float64{j.Evidence, j.PassEvidence, j.Odds, j.Needed} {
			if math.IsNaN(f) || math.IsInf(f, 0) {
				t.Errorf("%v: %v", c.windows, fmt.Sprint(j))
			}
		}
	}
}
