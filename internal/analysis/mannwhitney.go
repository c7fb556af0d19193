package analysis

import (
	"fmt"
	"math"
	"slices"
)

// comparisonAlpha is the significance level of PipeCD's comparisons.
const comparisonAlpha = 0.05

// Samples up to these sizes are compared exactly, larger ones by the normal distribution, as in PipeCD.
const (
	mostExact     = 50
	mostExactTies = 25
)

// failureOfComparison says in which direction the canary deviates from the control. As in PipeCD, a look
// in which neither side has values does not fail, and one in which one side has none fails. Outside of
// PipeCD's files skipOnNoData is for one side too.
func (g Gate) failureOfComparison(canary, control []float64) (failure string, empty bool) {
	switch {
	case len(canary) == 0 && len(control) == 0:
		return "", true
	case len(canary) == 0 || len(control) == 0:
		if g.SkipOnNoData && !g.PipeCD {
			return "", true
		}
		return fmt.Sprintf("%d values of the canary and %d of the control: nothing to compare", len(canary),
			len(control)), true
	}
	p := compareSamples(canary, control, g.Deviation)
	if p > comparisonAlpha {
		return "", false
	}
	return fmt.Sprintf("%d values of the canary differ from %d of the control (%s): p = %.4f, at most %.2f",
		len(canary), len(control), g.Deviation, p, comparisonAlpha), false
}

// compareSamples is the p-value of the test of Mann and Whitney; 1 if all values are equal. HIGH asks
// whether the canary's values are larger, LOW whether they are smaller.
func compareSamples(canary, control []float64, deviation string) float64 {
	twiceU, ties := rank(canary, control)
	if len(ties) == 1 {
		return 1
	}
	n, m := len(canary), len(control)
	limit := mostExact
	if len(ties) < n+m {
		limit = mostExactTies
	}
	if n <= limit && m <= limit {
		return exactP(twiceU, n, m, ties, deviation)
	}
	return normalP(float64(twiceU)/2, n, m, ties, deviation)
}

// rank returns twice the number of pairs in which the canary's value is larger, each equal pair counted
// as half, and how many values are equal at each rank.
func rank(canary, control []float64) (twiceU int, ties []int) {
	all := slices.Concat(canary, control)
	slices.Sort(all)
	for i, v := range all {
		if i == 0 || v != all[i-1] {
			ties = append(ties, 0)
		}
		ties[len(ties)-1]++
	}
	for _, c := range canary {
		for _, d := range control {
			switch {
			case c > d:
				twiceU += 2
			case c == d:
				twiceU++
			}
		}
	}
	return twiceU, ties
}

// exactP sums the probabilities of all ways in which the ranks may belong to the canary.
func exactP(twiceU, n, m int, ties []int, deviation string) float64 {
	chances := distributionOfU(n, m, ties)
	below, above := sum(chances[:twiceU+1]), sum(chances[twiceU:])
	switch deviation {
	case Low:
		return below
	case High:
		return above
	}
	return min(2*min(below, above), 1)
}

func sum(values []float64) float64 {
	s := 0.0
	for _, v := range values {
		s += v
	}
	return s
}

// distributionOfU returns the chance of each value of twice U, if both samples come from the same
// distribution. It goes through the ranks from below: of t equal values, i belong to the canary in
// t-choose-i ways. Each of them is above the values of the control before it, and equal to the other t-i.
func distributionOfU(n, m int, ties []int) []float64 {
	ways := make([][]float64, n+1) // by the number of the canary's values until now, and twice U
	for i := range ways {
		ways[i] = make([]float64, 2*n*m+1)
	}
	ways[0][0] = 1
	before := 0
	for _, t := range ties {
		ways = addRank(ways, t, before, m)
		before += t
	}
	total := sum(ways[n])
	for i := range ways[n] {
		ways[n][i] /= total
	}
	return ways[n]
}

// addRank adds t equal values above the values before.
func addRank(ways [][]float64, t, before, m int) [][]float64 {
	next := make([][]float64, len(ways))
	for i := range next {
		next[i] = make([]float64, len(ways[0]))
	}
	for had, byU := range ways {
		control := before - had
		if control < 0 || control > m {
			continue
		}
		for i := max(0, control+t-m); i <= t && had+i < len(ways); i++ {
			more, choose := i*(2*control+t-i), binomial(t, i)
			for u, n := range byU[:2*had*control+1] {
				next[had+i][u+more] += n * choose
			}
		}
	}
	return next
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := range k {
		b = b * float64(n-i) / float64(i+1)
	}
	return math.Round(b)
}

// normalP is the p-value by the normal distribution, corrected for equal values and for steps of U.
func normalP(u float64, n, m int, ties []int, deviation string) float64 {
	cubes := 0.0
	for _, t := range ties {
		cubes += float64(t)*float64(t)*float64(t) - float64(t)
	}
	pairs, all := float64(n)*float64(m), float64(n+m)
	sd := math.Sqrt(pairs * (all + 1 - cubes/(all*(all-1))) / 12)
	if sd == 0 {
		return 1
	}
	d := u - pairs/2
	switch deviation {
	case Low:
		return normalBelow((d + .5) / sd)
	case High:
		return normalBelow(-(d - .5) / sd)
	}
	return min(2*normalBelow(-max(math.Abs(d)-.5, 0)/sd), 1)
}

// normalBelow is the chance that a standard normal value is at most z.
func normalBelow(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
