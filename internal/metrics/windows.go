package metrics

import (
	"math"
	"time"

	"github.com/sluice-ecs/sluice/internal/analysis"
)

// Pair is what a source has of one variant: its bad requests, and all of its requests.
type Pair struct{ Bad, All Points }

// CloseTime returns the end of the last closed period at a time. A period closes three minutes after
// its end: until then AWS, and other systems that collect metrics, add to its values.
func CloseTime(now time.Time, period time.Duration) time.Time {
	return now.UTC().Add(-settleTime).Truncate(period)
}

// CloseWindows returns a window for each period of the span that a source has reported, oldest
// first. Sources have no point for a variant without requests. Another point of the same period
// shows that it was reported, and the variant counts 0 then. reported are further points that show
// it, such as those of the whole load balancer. A period without any point has no window.
func CloseWindows(span Span, period time.Duration, canary, primary Pair, reported Points) (all []analysis.Window) {
	for at := alignUp(span.From, period); !at.Add(period).After(span.To); at = at.Add(period) {
		for _, p := range []Points{canary.All, canary.Bad, primary.All, primary.Bad, reported} {
			if _, ok := p[at]; ok {
				all = append(all, analysis.Window{From: at, Canary: canary.countsAt(at), Primary: primary.countsAt(at)})
				break
			}
		}
	}
	return all
}

// countsAt returns the counts of a period. The two series come from several nodes, so the bad
// requests may be reported before the requests that contain them.
func (p Pair) countsAt(at time.Time) analysis.Counts {
	c := analysis.Counts{Bad: countOf(p.Bad[at]), All: countOf(p.All[at])}
	c.All = max(c.All, c.Bad)
	return c
}

// countOf rounds a value to a count. Prometheus extrapolates increases to fractions.
func countOf(v float64) int64 {
	const most = 1 << 53
	switch {
	case !(v > 0): // NaN too
		return 0
	case v > most:
		return most
	}
	return int64(math.Round(v))
}
