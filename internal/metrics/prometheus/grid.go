package prometheus

import (
	"math"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice/internal/metrics"
)

// grid is the times at which a query is evaluated: the ends of the steps of a span. Prometheus counts
// in milliseconds and our clocks do not, so a sample belongs to the step that asked for it, and its
// time is not compared with the span.
type grid struct {
	from  time.Time // begin of the first step
	step  time.Duration
	steps int
}

// precision is that of Prometheus's times.
const precision = time.Millisecond

// newGrid returns the grid of a span: its whole steps, and at least one, which ends with the span.
func newGrid(span metrics.Span, step time.Duration) grid {
	g := grid{from: span.From, step: max(step.Truncate(precision), precision)}
	if g.steps = int(span.To.Sub(span.From) / g.step); g.steps == 0 {
		g.from, g.steps = span.To.Add(-g.step), 1
	}
	return g
}

// timeOf returns the begin of the n-th step.
func (g grid) timeOf(n int) time.Time { return g.from.Add(time.Duration(n) * g.step) }

// pointsOf returns the samples by the begin of the step that asked for them. Some servers align the
// times of a range down to multiples of the step: a sample from within a step is the one of its end.
func (g grid) pointsOf(samples []sample) []metrics.Point {
	var out []metrics.Point
	first := toMilliseconds(g.timeOf(1))
	for _, s := range samples {
		ahead := math.Round(s.seconds*1000) - first - 1 // rounding moves a time by up to a millisecond
		n := max(math.Ceil(ahead/float64(g.step/precision)), -1)
		if n >= 0 && n < float64(g.steps) {
			out = append(out, metrics.Point{At: g.timeOf(int(n)).UTC(), Value: s.value})
		}
	}
	return metrics.SortPoints(out, metrics.Span{From: g.from, To: g.timeOf(g.steps)})
}

func toMilliseconds(t time.Time) float64 { return float64(t.UnixMilli()) }

func formatTime(t time.Time) string { return strconv.FormatFloat(toMilliseconds(t)/1000, 'f', -1, 64) }
