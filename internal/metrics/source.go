package metrics

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"
)

// Source reads the values of a query. Package sourcetest has the suite that every source over HTTP
// passes.
type Source interface {
	// Query returns the points of the query in the span, oldest first, at most one per step. The time
	// of a point is the begin of its step, as in CloudWatch. No point is no error.
	//
	// Every error is a *sluice.Error. Its Resource is the name of the provider, and its kind tells a
	// denied query, a throttled one and a missing answer apart from a wrong query.
	Query(ctx context.Context, query string, span Span, step time.Duration) ([]Point, error)
}

// Point is a value of a series at a time, UTC.
type Point struct {
	At    time.Time
	Value float64
}

// SortPoints returns the points of a span as [Source] returns them: oldest first and one per time,
// of which the last counts. It drops NaN, infinity and times outside of the span.
func SortPoints(all []Point, span Span) []Point {
	byTime := Points{}
	for _, p := range all {
		at := p.At.UTC()
		if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) && !at.Before(span.From) && at.Before(span.To) {
			byTime[at] = p.Value
		}
	}
	return byTime.list()
}

// PointsOf returns points by their time.
func PointsOf(all []Point) Points {
	out := Points{}
	for _, p := range all {
		out[p.At.UTC()] = p.Value
	}
	return out
}

// list returns the points, oldest first.
func (p Points) list() []Point {
	var out []Point
	for _, at := range slices.SortedFunc(maps.Keys(p), time.Time.Compare) {
		out = append(out, Point{At: at, Value: p[at]})
	}
	return out
}
