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
	// of a point is the begin of its step, as in CloudWatch. No point is no error. A value may be
	// infinite or not a number, as of 0/0 in PromQL. A query with several series is an error.
	//
	// Spans that follow each other have each point once, at any precision of the provider's times.
	//
	// Every error is a *sluice.Error. Its Resource is the name of the provider, and its kind tells a
	// denied query, a throttled one and a missing answer apart from a wrong query.
	Query(ctx context.Context, query string, span Span, step time.Duration) ([]Point, error)
}

// SeriesSource is a [Source] whose queries may have several series.
type SeriesSource interface {
	Source
	// QuerySeries is Query for each series. A series without a value has one point, which is not a
	// number: the provider knows the series, and has no data.
	QuerySeries(ctx context.Context, query string, span Span, step time.Duration) ([][]Point, error)
}

// NoData returns the points of a series that a provider knows, and that has no value in a span.
func NoData(span Span) []Point { return []Point{{At: span.From, Value: math.NaN()}} }

// Point is a value of a series at a time, UTC.
type Point struct {
	At    time.Time
	Value float64
}

// SortPoints returns the points of a span as [Source] returns them: oldest first and one per time,
// of which the last counts. It drops times outside of the span.
func SortPoints(all []Point, span Span) []Point {
	byTime := Points{}
	for _, p := range all {
		at := p.At.UTC()
		if !at.Before(span.From) && at.Before(span.To) {
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
