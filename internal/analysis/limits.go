package analysis

import (
	"fmt"
	"math"
	"slices"
)

// Judged is what a strategy that judges each look by itself has seen.
type Judged struct {
	Failures int    `json:"failures,omitempty"`
	Empty    int    `json:"empty,omitempty"`   // looks without values
	First    bool   `json:"first,omitempty"`   // there is no previous deployment
	Failure  string `json:"failure,omitempty"` // of the last failed look
	Lacking  string `json:"lacking,omitempty"` // why the last look without values has none
}

// judgeLook adds one look. Without a previous deployment the gate is good once it has a value, and in PipeCD's files
// without one.
func (g Gate) judgeLook(s *Judged, l Look) *Judged {
	failure, empty := g.judgeValues(l)
	s.First = s.First || g.Strategy == Previous && l.First && (g.PipeCD || !empty)
	if empty {
		s.Empty++
		s.Lacking = "the answer has no series"
		if hasNaN(l) {
			s.Lacking = notANumber
		}
	}
	if failure != "" {
		return s.addFailure(failure)
	}
	return s
}

func (s *Judged) addFailure(why string) *Judged {
	s.Failures++
	s.Failure = why
	return s
}

// judgeValues says why a look fails, and whether it had no values.
func (g Gate) judgeValues(l Look) (failure string, empty bool) {
	switch {
	case g.PipeCD && hasNaN(l) && g.SkipOnNoData:
		return "", true
	case g.PipeCD && hasNaN(l):
		return "no values: " + notANumber, true
	case g.Strategy == Previous && l.First:
		return "", len(numbers(l.Canary)) == 0
	}
	switch g.Strategy {
	case Checked:
		return failureOfCheck(l.Check), false
	case Threshold:
		return g.failureOfRange(numbers(l.Canary)), len(numbers(l.Canary)) == 0
	case Previous, CanaryBaseline, CanaryPrimary:
		return g.failureOfComparison(numbers(l.Canary), numbers(l.Control))
	}
	return fmt.Sprintf("the strategy %q is unknown", g.Strategy), false
}

const notANumber = "the query is not a number (NaN)"

func hasNaN(l Look) bool { return slices.ContainsFunc(slices.Concat(l.Canary, l.Control), math.IsNaN) }

func failureOfCheck(c Check) string {
	switch {
	case c.Passed:
		return ""
	case c.Failed == "":
		return "the check failed"
	}
	return c.Failed
}

// failureOfRange names the first value out of range. A look without values does not fail, as in PipeCD.
func (g Gate) failureOfRange(values []float64) string {
	for _, v := range values {
		if g.ExpectedMin != nil && v < *g.ExpectedMin {
			return fmt.Sprintf("the value %.6g is less than %.6g", v, *g.ExpectedMin)
		}
		if g.ExpectedMax != nil && v > *g.ExpectedMax {
			return fmt.Sprintf("the value %.6g is more than %.6g", v, *g.ExpectedMax)
		}
	}
	return ""
}

// judgeLooks judges the looks until now. PipeCD fails as soon as there are more failures than the limit.
// looks are those that were answered, all also those without an answer that fail.
func (g Gate) judgeLooks(s *Judged, looks, all int) Judgement {
	j := Judgement{Verdict: Undecided, Strategy: g.Strategy, Failures: s.Failures, Limit: g.FailureLimit, Empty: s.Empty,
		HasValues: looks > s.Empty, Lacking: s.Lacking}
	switch {
	case s.First:
		j.Verdict = Good
	case s.Failures > g.FailureLimit:
		j.Verdict = Bad
		j.Reason = fmt.Sprintf("%d of %s failed, %d are tolerated; the last: %s", s.Failures, readings(all),
			g.FailureLimit, s.Failure)
	}
	return j
}

func readings(n int) string {
	if n == 1 {
		return "1 reading"
	}
	return fmt.Sprintf("%d readings", n)
}

// numbers leaves out what is no number. An infinite value can be compared.
func numbers(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}

// finite leaves out what has no mean.
func finite(values []float64) []float64 {
	return slices.DeleteFunc(numbers(values), func(v float64) bool { return math.IsInf(v, 0) })
}
