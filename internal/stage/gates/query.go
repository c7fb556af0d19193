package gates

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

// prepareQueries registers the queries of a gate before the first read: CloudWatch answers a query that it does not know
// only in the next minute.
func prepareQueries(source metrics.Source, g appfile.Gate, from time.Time) error {
	p, ok := source.(*metrics.CloudWatch)
	if !ok {
		return nil
	}
	for _, text := range queriesOf(g) {
		if err := p.Prepare(text, from, stepOf(g), g.Interval); err != nil {
			return err
		}
	}
	return nil
}

// stepOf returns the time between two points of a series.
func stepOf(g appfile.Gate) time.Duration { return min(g.Interval, time.Minute) }

// valuesReader reads the values of a series, and of its control.
type valuesReader struct {
	source metrics.Source
	query  appfile.Queries
	step   time.Duration
	pipeCD bool // queries may have several series
}

// queryPoints returns the points of a query. In PipeCD's files they are those of all of its series.
func queryPoints(ctx context.Context, source metrics.Source, query string, span metrics.Span, step time.Duration,
	pipeCD bool) ([]metrics.Point, error) {
	of, ok := source.(metrics.SeriesSource)
	if !ok || !pipeCD {
		return source.Query(ctx, query, span, step)
	}
	all, err := of.QuerySeries(ctx, query, span, step)
	return slices.Concat(all...), err
}

func (r valuesReader) queryPoints(ctx context.Context, query string, span metrics.Span) ([]metrics.Point, error) {
	return queryPoints(ctx, r.source, query, span, r.step, r.pipeCD)
}

func (r valuesReader) read(ctx context.Context, t times) (l analysis.Look) {
	span := spanOf(r.source, t, r.step)
	if !span.From.Before(span.To) {
		return l
	}
	canary, err := r.queryPoints(ctx, r.query.Canary, span)
	if err == nil && r.query.Control != "" {
		var control []metrics.Point
		control, err = r.queryPoints(ctx, r.query.Control, span)
		l.Control = valuesOf(control)
	}
	if l.Canary = valuesOf(canary); err != nil {
		return unanswered(err)
	}
	return l
}

// unanswered returns the look of a reading that failed. People know from the gate what it queries.
func unanswered(err error) analysis.Look {
	var e *sluice.Error
	if errors.As(err, &e) && e.Err != nil && strings.HasPrefix(e.Op, "query ") {
		err = e.Err
	}
	return analysis.Look{Problem: err.Error()}
}

// earlierReader reads the values of a series, and those of the same series after as much time of the same
// stage of an earlier deployment.
type earlierReader struct {
	valuesReader
	earlier     time.Time // when that stage began; zero: no earlier deployment is known
	began       time.Time // when this stage began
	firstIsGood bool      // without an earlier deployment a value is good, as in PipeCD; otherwise it has no verdict
}

func (r earlierReader) read(ctx context.Context, t times) analysis.Look {
	if r.earlier.IsZero() && (r.pipeCD || !r.firstIsGood) {
		return analysis.Look{First: r.firstIsGood}
	}
	look := r.valuesReader.read(ctx, t)
	if look.First = r.earlier.IsZero(); look.First || look.Problem != "" {
		return look
	}
	ago := r.began.Sub(r.earlier)
	past := r.valuesReader.read(ctx, times{since: t.since.Add(-ago), last: t.last.Add(-ago), now: t.now.Add(-ago)})
	if past.Problem != "" {
		return past
	}
	look.Control = past.Canary
	return look
}

// spanOf returns the time whose values a read sees: the steps that have ended since the read before. They are
// counted from the begin of the gate, so that each step is in exactly one read. CloudWatch has only closed
// minutes, so that its times end earlier: each minute is in exactly one of them.
func spanOf(source metrics.Source, t times, step time.Duration) metrics.Span {
	if _, closes := source.(*metrics.CloudWatch); !closes {
		ended := func(at time.Time) time.Time { return t.since.Add(at.Sub(t.since).Truncate(step)) }
		return metrics.Span{From: ended(t.last), To: ended(t.now)}
	}
	span := metrics.Span{From: metrics.CloseTime(t.last, time.Minute), To: metrics.CloseTime(t.now, time.Minute)}
	if span.From.Before(t.since) {
		span.From = t.since
	}
	return span
}

func valuesOf(points []metrics.Point) (all []float64) {
	for _, p := range points {
		all = append(all, p.Value)
	}
	return all
}

// countsReader counts requests by queries of a provider.
type countsReader struct {
	source   metrics.Source
	bad, all appfile.Queries
}

// readAgain is how much time before the last read is read again: a minute closes some minutes after its end.
const readAgain = 10 * time.Minute

func (r countsReader) read(ctx context.Context, t times) analysis.Look {
	span := metrics.Span{From: t.since, To: metrics.CloseTime(t.now, time.Minute)}
	if again := t.last.Add(-readAgain); again.After(span.From) {
		span.From = again
	}
	// Points of a window have the times of whole minutes.
	if span.From = span.From.Add(time.Minute - 1).Truncate(time.Minute); !span.From.Before(span.To) {
		return analysis.Look{}
	}
	windows, hasBad, err := r.windows(ctx, span)
	if err != nil {
		return unanswered(err)
	}
	return analysis.Look{Windows: windows, NoBadSeries: !hasBad}
}

// windows reads the windows of a span, and whether the series of bad requests has a point for one of the
// variants.
func (r countsReader) windows(ctx context.Context, span metrics.Span) (_ []analysis.Window, hasBad bool, _ error) {
	var pairs [2]metrics.Pair
	for i, q := range []struct{ bad, all string }{{r.bad.Canary, r.all.Canary}, {r.bad.Control, r.all.Control}} {
		if q.all == "" {
			continue // the canary is not compared
		}
		bad, err := r.counts(ctx, q.bad, span)
		if err != nil {
			return nil, false, err
		}
		all, err := r.counts(ctx, q.all, span)
		if err != nil {
			return nil, false, err
		}
		hasBad = hasBad || len(bad) > 0
		pairs[i] = metrics.Pair{Bad: bad, All: all}
	}
	return metrics.CloseWindows(span, time.Minute, pairs[0], pairs[1], nil), hasBad, nil
}

// counts reads the points of a query that counts requests.
func (r countsReader) counts(ctx context.Context, query string, span metrics.Span) (metrics.Points, error) {
	points, err := r.source.Query(ctx, query, span, time.Minute)
	for _, p := range points {
		if !(p.Value >= 0) || math.IsInf(p.Value, 0) {
			return nil, fmt.Errorf("the query %s has the value %v, and a count is 0 or more", query, p.Value)
		}
	}
	return metrics.PointsOf(points), err
}
