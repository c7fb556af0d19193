package analysis

// State is all that a gate has seen. The zero value is a gate that has seen nothing. Its JSON is small,
// and a State that was read from JSON continues exactly as the one that was written.
type State struct {
	Looks      int    `json:"looks,omitempty"`      // looks that were answered
	Last       int64  `json:"last,omitempty"`       // time of the last look, Unix nanoseconds
	Problems   int    `json:"problems,omitempty"`   // looks without an answer
	Unanswered int    `json:"unanswered,omitempty"` // looks without an answer since the last answer
	Problem    string `json:"problem,omitempty"`    // of the last look, if it had no answer

	Counted  *Counted  `json:"counted,omitempty"`  // SEQUENTIAL
	Judged   *Judged   `json:"judged,omitempty"`   // strategies that judge each look
	Compared *Compared `json:"compared,omitempty"` // PAIRED
}

// See returns the state after one more look. It does not change s.
func (g Gate) See(s State, l Look) State {
	g = g.withDefaults()
	if !l.At.IsZero() {
		if at := l.At.UnixNano(); s.Last != 0 && at <= s.Last {
			return s
		}
		s.Last = l.At.UnixNano()
	}
	if l.Problem != "" {
		s.Problems++
		s.Unanswered++
		s.Problem = l.Problem
		if g.failsUnanswered() {
			s.Judged = orEmpty(s.Judged).addFailure("no values: " + l.Problem)
		}
		return s
	}
	s.Looks++
	s.Unanswered, s.Problem = 0, ""
	switch {
	case g.Strategy == Sequential:
		s.Counted = g.countWindows(orEmpty(s.Counted), l)
	case g.Strategy == Paired:
		s.Compared = g.pair(orEmpty(s.Compared), l)
	default:
		s.Judged = g.judgeLook(orEmpty(s.Judged), l)
	}
	return s
}

// orEmpty copies a value that a state points to.
func orEmpty[T any](p *T) *T {
	var t T
	if p != nil {
		t = *p
	}
	return &t
}
