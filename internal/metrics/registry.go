package metrics

import (
	"context"
	"slices"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
)

const (
	// keepFor is how long a series stays registered at least after the last caller asked for it.
	keepFor = 5 * time.Minute
	// maxSharedPeriods is how many periods a series may read in the shared call. CloudWatch returns
	// 100,800 points in one call, so 500 series have room for 200 (API reference, GetMetricData).
	maxSharedPeriods = 180
)

// registry keeps the series of all callers of a [SharedReader], by query: callers with the same query
// share a series.
type registry struct {
	series map[string]*sharedSeries
	order  []string // keys in the order of registration
}

func newRegistry() registry { return registry{series: map[string]*sharedSeries{}} }

// sharedSeries is one series, and which of its periods were read after they closed.
type sharedSeries struct {
	query      Query
	from       time.Time     // the first period that a caller needs
	every      time.Duration // how often callers ask, at most
	asked      time.Time     // when a caller asked last
	read       Span          // zero: nothing yet
	points     Points
	err        error // of its last read
	isAccepted bool  // CloudWatch has answered it once
}

func (g *registry) addQueries(all []Query, from time.Time, every time.Duration, now time.Time) {
	for _, q := range all {
		s := g.series[q.key()]
		if s == nil {
			s = &sharedSeries{query: q, from: from, points: Points{}, isAccepted: !q.isMath}
			g.series[q.key()] = s
			g.order = append(g.order, q.key())
		}
		s.asked, s.every = now, max(s.every, every)
		if from.Before(s.from) {
			s.from = from
		}
	}
}

// dropUnused removes series for which no caller has asked for a while.
func (g *registry) dropUnused(now time.Time) {
	g.order = slices.DeleteFunc(g.order, func(key string) bool {
		s := g.series[key]
		isUnused := now.Sub(s.asked) > max(keepFor, 3*s.every)
		if isUnused {
			delete(g.series, key)
		}
		return isUnused
	})
}

// isDue reports whether a series has a closed period to read.
func (g *registry) isDue(now time.Time) bool {
	return slices.ContainsFunc(g.order, func(key string) bool { return !g.series[key].nextSpan(now).isEmpty() })
}

// readingOf returns what is known of the queries since a time.
func (g *registry) readingOf(all []Query, from, now time.Time) (out Reading, err error) {
	for i, q := range all {
		s := g.series[q.key()]
		if s.err != nil {
			return Reading{}, s.err
		}
		out.Points = append(out.Points, s.points.since(from))
		if to := s.knownTo(from, now); i == 0 || to.Before(out.To) {
			out.To = to
		}
	}
	return out, nil
}

// knownTo returns the end of the last period that is known without a gap since a time.
func (s *sharedSeries) knownTo(from, now time.Time) time.Time {
	first := alignUp(from, s.query.period)
	switch {
	case !first.Before(CloseTime(now, s.query.period)):
		return first // no period since then has closed
	case s.read.isEmpty() || first.Before(s.read.From):
		return time.Time{}
	}
	return s.read.To
}

// nextSpan returns the closed periods that a read now asks for. The last ten minutes are asked for
// again: AWS may publish a point after its period closed.
func (s *sharedSeries) nextSpan(now time.Time) Span {
	to := CloseTime(now, s.query.period)
	first := alignUp(s.from, s.query.period)
	if s.read.isEmpty() || first.Before(s.read.From) {
		return Span{first, to}
	}
	if !s.read.To.Before(to) {
		return Span{to, to}
	}
	from := to.Add(-lookBack).Truncate(s.query.period)
	if s.read.To.Before(from) {
		from = s.read.To
	}
	if from.Before(first) {
		from = first
	}
	return Span{from, to}
}

// batch are the series of one read.
type batch struct {
	span    Span
	all     []*batchSeries
	singles []*batchSeries // each in a call of its own, see SharedReader
}

// batchSeries is a series of a batch, and its result.
type batchSeries struct {
	key    string
	query  Query
	span   Span
	result seriesResult
	isRead bool
}

func (g *registry) newBatch(now time.Time) *batch {
	g.dropUnused(now)
	b := &batch{}
	for _, key := range g.order {
		s := g.series[key]
		x := &batchSeries{key: key, query: s.query, span: s.nextSpan(now)}
		switch {
		case x.span.isEmpty():
			continue
		case s.isAccepted && x.span.periods(minute) <= maxSharedPeriods:
			b.all, b.span = append(b.all, x), b.span.join(x.span)
		default:
			b.singles = append(b.singles, x)
		}
	}
	return b
}

// readCalls reads the series: one call for all of them, and one for each of the singles.
// It returns the error of the call for all.
func (b *batch) readCalls(ctx context.Context, api *awscw.Client) error {
	var err error
	if len(b.all) > 0 {
		err = readSeries(ctx, api, b.span, b.all)
	}
	for _, x := range b.singles {
		if e := readSeries(ctx, api, x.span, []*batchSeries{x}); e != nil {
			x.isRead, x.result = true, seriesResult{err: e}
		}
	}
	return err
}

func readSeries(ctx context.Context, api *awscw.Client, span Span, all []*batchSeries) error {
	queries := make([]Query, 0, len(all))
	for _, x := range all {
		queries = append(queries, x.query)
	}
	results, err := readQueries(ctx, api, span, queries)
	if err != nil {
		return err
	}
	for i, x := range all {
		x.isRead, x.result = true, results[i]
	}
	return nil
}

// addBatch keeps the results of a batch. A series that was dropped during the call stays dropped.
func (g *registry) addBatch(b *batch) {
	for _, x := range slices.Concat(b.all, b.singles) {
		if s := g.series[x.key]; s != nil && x.isRead {
			s.addResult(x)
		}
	}
}

func (s *sharedSeries) addResult(x *batchSeries) {
	points, err := x.result.onePoints()
	if s.err = err; err != nil {
		// An expression with several series is a wrong query, but one that CloudWatch accepts.
		s.isAccepted = s.isAccepted || x.result.err == nil
		return
	}
	s.isAccepted = true
	for at, v := range points {
		end := at.Add(s.query.period)
		if _, known := s.points[at]; !known && !at.Before(x.span.From) && !end.After(x.span.To) {
			s.points[at] = v
		}
	}
	s.read = s.read.join(x.span)
}

// since returns the points that are not older than a time.
func (p Points) since(from time.Time) Points {
	out := Points{}
	for at, v := range p {
		if !at.Before(from) {
			out[at] = v
		}
	}
	return out
}

// periods returns how many periods a span has.
func (s Span) periods(period time.Duration) int { return int(s.To.Sub(s.From) / period) }

func (s Span) isEmpty() bool { return !s.From.Before(s.To) }

// join returns the time from the first begin to the last end.
func (s Span) join(t Span) Span {
	if s.isEmpty() {
		return t
	}
	if t.From.Before(s.From) {
		s.From = t.From
	}
	if t.To.After(s.To) {
		s.To = t.To
	}
	return s
}

// alignUp returns the begin of the first period that is not before a time.
func alignUp(t time.Time, period time.Duration) time.Time {
	return t.UTC().Add(period - 1).Truncate(period)
}
