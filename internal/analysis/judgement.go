package analysis

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Verdict is what a gate says of the canary.
type Verdict string

// Verdicts.
const (
	Undecided Verdict = "undecided"
	Good      Verdict = "good"
	Bad       Verdict = "bad"
)

// Judgement is a verdict with its numbers.
type Judgement struct {
	Verdict  Verdict  `json:"verdict"`
	Strategy Strategy `json:"strategy"`

	// SEQUENTIAL; the evidence also of PAIRED.
	Canary       Counts        `json:"canary,omitzero"`
	Primary      Counts        `json:"primary,omitzero"`
	Odds         float64       `json:"odds,omitempty"`         // ratio of the odds of a failure; 0: unknown
	Evidence     float64       `json:"evidence,omitempty"`     // that the canary is bad
	Needed       float64       `json:"needed,omitempty"`       // evidence of a bad verdict
	PassEvidence float64       `json:"passEvidence,omitempty"` // that the canary is good
	PassNeeded   float64       `json:"passNeeded,omitempty"`   // evidence of an early pass
	Spread       int           `json:"spread,omitempty"`       // windows with failures of the canary
	SpreadNeeded int           `json:"spreadNeeded,omitempty"` // such windows of a bad verdict
	Left         time.Duration `json:"left,omitempty"`         // estimate until it is decided; 0: unknown

	Looks    int    `json:"looks,omitempty"`    // looks that were answered
	Failures int    `json:"failures,omitempty"` // failed looks
	Limit    int    `json:"limit,omitempty"`    // failed looks that are tolerated
	Empty    int    `json:"empty,omitempty"`    // looks without values
	Lacking  string `json:"lacking,omitempty"`  // why the last look without values has none
	Problems int    `json:"problems,omitempty"` // looks without an answer
	Silent   bool   `json:"silent,omitempty"`   // too many looks in a row have no answer: onError decides
	Reason   string `json:"reason,omitempty"`   // of a bad verdict, of Silent, or why the gate has no evidence
	// HasValues is whether the gate has seen a value. Without one it does not pass.
	HasValues bool `json:"hasValues,omitempty"`
}

// Judge judges what the gate has seen until now.
func (g Gate) Judge(s State) Judgement {
	g = g.withDefaults()
	var j Judgement
	switch {
	case g.Strategy == Sequential:
		j = g.judgeCounts(orEmpty(s.Counted))
	case g.Strategy == Paired:
		j = g.judgePairs(orEmpty(s.Compared))
	default:
		all := s.Looks
		if g.failsUnanswered() {
			all += s.Problems
		}
		j = g.judgeLooks(orEmpty(s.Judged), s.Looks, all)
	}
	j.Looks, j.Problems = s.Looks, s.Problems
	if j.Verdict == Undecided && s.Unanswered > g.ErrorLimit && !g.failsUnanswered() {
		j.Silent = true
		j.Reason = fmt.Sprintf("%d readings in a row had no answer: %s", s.Unanswered, s.Problem)
	}
	return j
}

// JudgeAtEnd judges when the time of the gate has ended. A strategy of PipeCD is good then, unless it is
// bad or has seen too few values. The others need evidence, so that they may stay undecided.
func (g Gate) JudgeAtEnd(s State) Judgement {
	g = g.withDefaults()
	j := g.Judge(s)
	if g.judgesLooks() && j.Verdict == Undecided && !j.Silent && g.hasSeenEnough(j) {
		j.Verdict = Good
	}
	if j.Verdict == Undecided && !j.HasValues && j.Reason == "" {
		j.Reason = fmt.Sprintf("no values in %d readings", j.Looks+j.Problems)
		if s.Problem != "" {
			j.Reason += ": " + s.Problem
		}
	}
	j.Left = 0
	return j
}

// hasSeenEnough reports whether a gate that did not fail may pass. Half of the looks need a value, and with SkipOnNoData
// an answer, but one look needs a value. In PipeCD's files one look needs a value, or with SkipOnNoData an answer,
// because the limit counts the others.
func (g Gate) hasSeenEnough(j Judgement) bool {
	enough := j.Looks - j.Empty
	if g.SkipOnNoData {
		enough = j.Looks
	}
	if g.PipeCD {
		return enough > 0
	}
	return j.HasValues && 2*enough >= j.Looks+j.Problems
}

// Text is the numbers of a judgement in one line.
func (j Judgement) Text() string {
	var parts []string
	switch {
	case j.Strategy == Sequential:
		parts = j.countsText()
	case j.Strategy == Paired:
		parts = []string{evidenceText(j)}
	default:
		parts = []string{fmt.Sprintf("%d of %s failed, %d tolerated", j.Failures, readings(j.Looks), j.Limit)}
	}
	if j.Empty > 0 {
		parts = append(parts, fmt.Sprintf("%d without values", j.Empty))
	}
	if j.Problems > 0 {
		parts = append(parts, fmt.Sprintf("%d without an answer", j.Problems))
	}
	return strings.Join(parts, "  ")
}

func (j Judgement) countsText() []string {
	parts := []string{"canary " + countText(j.Canary), "primary " + countText(j.Primary)}
	if j.Odds > 0 {
		parts = append(parts, "odds "+decimal(j.Odds))
	}
	parts = append(parts, evidenceText(j))
	if j.Evidence >= j.Needed && j.Spread < j.SpreadNeeded {
		parts = append(parts, fmt.Sprintf("failures in %d of %d periods", j.Spread, j.SpreadNeeded))
	}
	return parts
}

func evidenceText(j Judgement) string {
	return fmt.Sprintf("evidence %s of %s", figure(j.Evidence), figure(j.Needed))
}

func countText(c Counts) string {
	text := thousands(c.Bad) + "/" + thousands(c.All)
	if c.All > 0 {
		text += " " + percent(c.share())
	}
	return text
}

func percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }

// decimal is a ratio: "4.0", "37".
func decimal(f float64) string {
	if f >= 100 {
		return thousands(int64(math.Round(f)))
	}
	return strconv.FormatFloat(f, 'f', 1, 64)
}

// figure is an amount of evidence: "0.3", "37", "over 1,000,000".
func figure(f float64) string {
	switch {
	case f > 1e6:
		return "over 1,000,000"
	case f >= 10 || f == math.Trunc(f):
		return thousands(int64(f))
	}
	return strconv.FormatFloat(math.Floor(f*10)/10, 'f', 1, 64)
}

func thousands(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
