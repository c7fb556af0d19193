package analysis

import (
	"fmt"
	"math"
)

// Compared is what PAIRED has seen: differences of the means of both variants, canary minus control.
type Compared struct {
	Looks   int     `json:"looks"` // looks with values of both variants
	Pairs   int     `json:"pairs"` // those that count: one of two, because neighbours depend on each other
	Sum     float64 `json:"sum"`
	Squares float64 `json:"squares"`
	Empty   int     `json:"empty,omitempty"`
}

// leastPairs is how many pairs a verdict of PAIRED needs. Fewer differences are seldom near normal.
const leastPairs = 10

// pair adds one look.
func (g Gate) pair(c *Compared, l Look) *Compared {
	canary, control := finite(l.Canary), finite(l.Control)
	if len(canary) == 0 || len(control) == 0 {
		c.Empty++
		return c
	}
	c.Looks++
	if c.Looks%2 == 0 {
		return c
	}
	const most = 1e140 // squares of more are no numbers
	d := max(min(mean(canary)-mean(control), most), -most)
	c.Pairs++
	c.Sum += d
	c.Squares += d * d
	return c
}

func mean(values []float64) float64 {
	m := 0.0
	for i, v := range values {
		m += v/float64(i+1) - m/float64(i+1)
	}
	return m
}

// judgePairs judges the differences until now by a mixture sequential probability ratio test: the
// differences are normal with the mean 0 and an unknown variance, or with a mean of one standard deviation
// on average. As the variance is unknown, the ratio is that of the t statistic, which needs no estimate.
func (g Gate) judgePairs(c *Compared) Judgement {
	evidence := logOfPairs(c)
	j := Judgement{Verdict: Undecided, Strategy: Paired, Evidence: stake(evidence), Needed: 1 / g.Alpha, Empty: c.Empty,
		HasValues: c.Looks > 0}
	deviates := g.Deviation == Either || g.Deviation == High && c.Sum > 0 || g.Deviation == Low && c.Sum < 0
	if c.Pairs >= leastPairs && deviates && evidence >= math.Log(1/g.Alpha) {
		j.Verdict = Bad
		j.Reason = fmt.Sprintf("the canary differs from the control by %.6g on average, over %d periods: the evidence "+
			"is %s of %s", c.Sum/float64(c.Pairs), c.Pairs, figure(j.Evidence), figure(j.Needed))
	}
	return j
}

// logOfPairs is the logarithm of the mixture ratio. With n differences, r is the part of their squares
// that their mean explains, between 0 and 1.
func logOfPairs(c *Compared) float64 {
	if c.Pairs == 0 || c.Squares == 0 {
		return 0
	}
	n := float64(c.Pairs)
	r := min(c.Sum/c.Squares*c.Sum/n, 1)
	return -math.Log1p(n)/2 - n/2*math.Log1p(-r*n/(n+1))
}
