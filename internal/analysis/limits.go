package analysis

import "fmt"

// Judged is what a strategy that judges each look by itself has seen.
type Judged struct {
	Failures int    `json:"failures,omitempty"`
	Empty    int    `json:"empty,omitempty"`   // looks without values
	First    bool   `json:"first,omitempty"`   // there is no previous deployment
	Failure  string `json:"failure,omitempty"` // of the last failed look
}

// judgeLook adds one look.
func (g Gate) judgeLook(s *Judged, l Look) *Judged {
	s.First = s.First || g.Strategy == Previous && l.First
	failure, empty := g.judgeValues(l)
	if empty {
		s.Empty++
	}
	if failure != "" {
		s.Failures++
		s.Failure = failure
	}
	return s
}

// judgeValues says why a look fails, and whether it had no values.
func (g Gate) judgeValues(l Look) (failure string, empty bool) {
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
func (g Gate) judgeLooks(s *Judged, looks int) Judgement {
	j := Judgement{Verdict: Undecided, Strategy: g.Strategy, Failures: s.Failures, Limit: g.FailureLimit, Empty: s.Empty}
	switch {
	case s.First:
		j.Verdict = Good
	case s.Failures > g.FailureLimit:
		j.Verdict = Bad
		j.Reason = fmt.Sprintf("%d of %d looks failed, %d are tolerated; the last: %s", s.Failures, looks,
			g.FailureLimit, s.Failure)
	case g.Count > 0 && looks >= g.Count:
		j.Verdict = Good
	}
	return j
}

// numbers leaves out what is no number.
func numbers(values []float64) (kept []float64) {
	for _, v := range values {
		if isNumber(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
