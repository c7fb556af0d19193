package analysis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Counted is what SEQUENTIAL has seen.
type Counted struct {
	Canary   Counts   `json:"canary"`
	Primary  Counts   `json:"primary"`
	Windows  int64    `json:"windows"` // windows with requests of the canary
	Spread   int64    `json:"spread"`  // windows with failures of the canary
	Evidence Evidence `json:"evidence"`
	Seen     Seen     `json:"seen"`
	Recent   []Recent `json:"recent,omitempty"` // the latest windows, oldest first, for the time that is left
	// HasBad is whether the series of bad requests exists. Until then no failure is no good evidence.
	HasBad bool `json:"hasBad,omitempty"`
}

// Recent is one of the latest windows.
type Recent struct {
	From    int64  `json:"from"` // Unix seconds
	Canary  Counts `json:"canary"`
	Primary Counts `json:"primary"`
}

const recentWindows = 5

func (r Recent) window() Window { return Window{Canary: r.Canary, Primary: r.Primary} }

// countWindows adds windows that were not seen yet. Each window counts once, whatever its order.
func (g Gate) countWindows(c *Counted, l Look) *Counted {
	c.HasBad = c.HasBad || len(l.Windows) > 0 && !l.NoBadSeries
	for _, w := range l.Windows {
		if w.Canary.isNegative() || w.Primary.isNegative() {
			continue // a wrong query is no evidence
		}
		w = w.valid()
		at := w.From.Unix()
		if w.Canary.All == 0 && w.Primary.All == 0 || c.Seen.has(at) {
			continue
		}
		c.Seen = c.Seen.with(at)
		c.Canary, c.Primary = c.Canary.add(w.Canary), c.Primary.add(w.Primary)
		c.Evidence = c.Evidence.plus(g.weigh(w))
		if w.Canary.All > 0 {
			c.Windows++
		}
		if w.Canary.Bad > 0 {
			c.Spread++
		}
		c.Recent = keepLatest(c.Recent, Recent{From: at, Canary: w.Canary, Primary: w.Primary})
	}
	return c
}

// keepLatest adds a window and drops the oldest one.
func keepLatest(kept []Recent, r Recent) []Recent {
	kept = append(slices.Clone(kept), r)
	slices.SortFunc(kept, func(a, b Recent) int { return cmp.Compare(a.From, b.From) })
	return kept[max(len(kept)-recentWindows, 0):]
}

// judgeCounts judges what SEQUENTIAL has seen.
func (g Gate) judgeCounts(c *Counted) Judgement {
	bad, good := logMean(c.Evidence.Bad[:]), logMean(c.Evidence.Good[:])
	j := Judgement{
		Verdict: Undecided, Strategy: Sequential,
		Canary: c.Canary, Primary: c.Primary, Odds: oddsRatio(c.Canary, c.Primary),
		Evidence: stake(bad), Needed: 1 / g.Alpha,
		PassEvidence: stake(good), PassNeeded: 1 / g.Beta,
		Spread: int(c.Spread), SpreadNeeded: g.neededSpread(c), HasValues: c.Canary.All > 0 && c.HasBad,
	}
	switch {
	case bad >= math.Log(1/g.Alpha) && j.Spread >= j.SpreadNeeded:
		j.Verdict, j.Reason = Bad, g.reasonOfCounts(j)
	case !c.HasBad && c.Canary.All > 0:
		j.Reason = "the query of bad requests has no series: correct its metric, or let it return 0, such as with " +
			"or vector(0)"
	case good >= math.Log(1/g.Beta) && bad < math.Log(1/g.Alpha)/2:
		j.Verdict = Good
	default:
		j.Left = g.timeLeft(c, bad)
	}
	return j
}

// neededSpread is how many windows must have failures of the canary. Failures of one caller or one moment
// come in one window, and depend on each other. A canary that fails more than half of its requests is bad
// even so.
func (g Gate) neededSpread(c *Counted) int {
	if 2*c.Canary.Bad > c.Canary.All {
		return 1
	}
	return g.Spread
}

func (g Gate) reasonOfCounts(j Judgement) string {
	canary := fmt.Sprintf("%s of %s requests of the canary are bad (%s)", thousands(j.Canary.Bad),
		thousands(j.Canary.All), percent(j.Canary.share()))
	if !g.comparesVariants() {
		return fmt.Sprintf("%s, more than the accepted %s: the evidence is %s of %s", canary, percent(g.Max),
			figure(j.Evidence), figure(j.Needed))
	}
	return fmt.Sprintf("%s, and %s of %s of the primary (%s): odds above the accepted %s times, the evidence is %s of %s",
		canary, thousands(j.Primary.Bad), thousands(j.Primary.All), percent(j.Primary.share()), decimal(g.Worse),
		figure(j.Evidence), figure(j.Needed))
}

// oddsRatio is the ratio of the odds of a failure, canary to primary; 0 if it is unknown.
func oddsRatio(canary, primary Counts) float64 {
	down := float64(canary.All-canary.Bad) * float64(primary.Bad)
	if down == 0 || primary.All == 0 {
		return 0
	}
	return float64(canary.Bad) * float64(primary.All-primary.Bad) / down
}

// stake is a stake from its logarithm, as large as a screen needs it.
func stake(log float64) float64 {
	const most = 1e9
	return min(math.Exp(min(log, 100)), most)
}
