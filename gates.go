package sluice

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// GateRead is emitted when a gate has read its metrics again and its figures have changed.
type GateRead struct {
	Gate    string      `json:"gate"`    // name, such as "errors"
	Verdict GateVerdict `json:"verdict"` // undecided, good, bad
	// counts of requests; absent for gates that count nothing
	Canary  *GateCount `json:"canary,omitempty"`
	Primary *GateCount `json:"primary,omitempty"`
	// Odds is the ratio of the canary's odds of a bad request to the primary's; 0: unknown.
	Odds float64 `json:"odds,omitempty"`
	// Evidence grows while the canary is worse; the gate is bad when it reaches Needed.
	Evidence float64 `json:"evidence,omitempty"`
	Needed   float64 `json:"needed,omitempty"`
	// Left is the estimated time until the gate is decided; 0: unknown.
	Left   Duration `json:"left,omitzero"`
	Detail string   `json:"detail,omitempty"` // of gates that count nothing: the values, and the range
	// DryRun: a bad verdict is reported and does not end the deployment.
	DryRun   bool   `json:"dryRun,omitempty"`
	Problem  string `json:"problem,omitempty"`  // why the last reading has no value
	Readings int    `json:"readings,omitempty"` // until now, with those that had no answer
	// WithoutValues is how many of the readings had no value or no answer.
	WithoutValues int `json:"withoutValues,omitempty"`
}

// GateVerdict is the judgement of a gate.
type GateVerdict string

// The verdicts of gates.
const (
	GateUndecided GateVerdict = "undecided"
	GateGood      GateVerdict = "good"
	GateBad       GateVerdict = "bad"
)

// GateCount is how many requests of a variant a gate counted, and how many of them were bad.
type GateCount struct {
	Bad int64 `json:"bad"`
	All int64 `json:"all"`
}

// String returns the counts and the share: "4/5,612 0.07 %".
func (c GateCount) String() string {
	text := groupDigits(c.Bad) + "/" + groupDigits(c.All)
	if c.All == 0 {
		return text
	}
	return text + " " + strconv.FormatFloat(100*float64(c.Bad)/float64(c.All), 'f', 2, 64) + " %"
}

// groupDigits writes a number with commas between thousands.
func groupDigits(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Text describes the event for users.
func (e GateRead) Text() string {
	if e.Problem != "" {
		return joinParts(e.name(), "no values: "+e.Problem, e.withoutValues(), e.ending())
	}
	parts := []string{e.name()}
	if e.Canary != nil {
		parts = append(parts, "canary "+e.Canary.String())
	}
	if e.Primary != nil {
		parts = append(parts, "primary "+e.Primary.String())
	}
	if e.Odds > 0 {
		parts = append(parts, fmt.Sprintf("odds %.1f", e.Odds))
	}
	if e.Needed > 0 {
		parts = append(parts, fmt.Sprintf("evidence %s of %.0f", evidenceText(e.Evidence), e.Needed))
	}
	return joinParts(append(parts, e.Detail, e.withoutValues(), e.ending())...)
}

// joinParts joins the parts that are not empty.
func joinParts(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "  ")
}

// withoutValues says how many readings had no value.
func (e GateRead) withoutValues() string {
	if e.WithoutValues == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s without values", e.WithoutValues, Plural(e.Readings, "reading"))
}

func (e GateRead) name() string {
	if e.DryRun {
		return e.Gate + " (dry run)"
	}
	return e.Gate
}

// ending returns the verdict, or the time until there is one.
func (e GateRead) ending() string {
	switch {
	case e.Verdict != GateUndecided:
		return string(e.Verdict)
	case e.Left > 0:
		return "about " + approximateTime(time.Duration(e.Left)) + " to decide"
	}
	return "undecided"
}

// evidenceText writes evidence without digits that say nothing.
func evidenceText(e float64) string {
	switch {
	case e >= 1e6:
		return "over 1,000,000"
	case e >= 10:
		return groupDigits(int64(e))
	}
	return strconv.FormatFloat(e, 'f', 1, 64)
}

// approximateTime writes a duration in its largest unit.
func approximateTime(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return "1 min"
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
	}
	return fmt.Sprintf("%d h", int(d.Round(time.Hour)/time.Hour))
}
