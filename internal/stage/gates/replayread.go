package gates

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

// pastSignal has the metrics of a load balancer.
type pastSignal struct {
	from   Past
	signal appfile.Signal
}

func (p pastSignal) replay(ctx context.Context, span metrics.Span, out *Replay) error {
	all, err := metrics.ReadPastSignal(ctx, p.from.Account.CloudWatch(), *p.from.Groups, p.signal, span)
	if err == nil {
		replayWindows(all, span, out, true)
	}
	return err
}

// longestQuery is how much time one query asks for: Prometheus returns at most 11,000 points.
const longestQuery = 7 * 24 * time.Hour

// chunksOf divides a span.
func chunksOf(span metrics.Span) (all []metrics.Span) {
	for from := span.From; from.Before(span.To); from = from.Add(longestQuery) {
		to := from.Add(longestQuery)
		if to.After(span.To) {
			to = span.To
		}
		all = append(all, metrics.Span{From: from, To: to})
	}
	return all
}

// pastCounts has counts of a provider.
type pastCounts struct{ source metrics.Source }

func (p pastCounts) replay(ctx context.Context, span metrics.Span, out *Replay) error {
	reader := countsReader{p.source, out.Gate.Read.Bad, out.Gate.Read.All}
	var all []analysis.Window
	has := false
	for _, chunk := range chunksOf(span) {
		windows, hasBad, err := reader.windows(ctx, chunk)
		if err != nil {
			return err
		}
		all, has = append(all, windows...), has || hasBad
	}
	replayWindows(all, span, out, has)
	return nil
}

// pastValues has series of a provider.
type pastValues struct{ source metrics.Source }

// defaultRun is how long a run of a gate of the whole pipeline is, if no canary limits it.
const defaultRun = 30 * time.Minute

// replay replays a comparison while both series have values; another gate as if its stage had begun again and
// again.
func (p pastValues) replay(ctx context.Context, span metrics.Span, out *Replay) error {
	g := out.Gate
	canary, err := p.points(ctx, g.Read.Values.Canary, span, g.Gate)
	if err != nil {
		return err
	}
	control, err := p.points(ctx, g.Read.Values.Control, span, g.Gate)
	if err != nil {
		return err
	}
	if len(canary) == 0 {
		return nil
	}
	var runs []run
	if g.Read.Values.Control != "" {
		for _, at := range splitRuns(timesOf(canary)) {
			runs = append(runs, newRun(g, at))
		}
	} else {
		runs = consecutiveRuns(span, g.Duration)
	}
	for _, r := range runs {
		out.Runs = append(out.Runs, r.play(g, func(t times) analysis.Look {
			at := spanOf(p.source, t, stepOf(g.Gate))
			return analysis.Look{Canary: valuesOf(pointsIn(canary, at)), Control: valuesOf(pointsIn(control, at))}
		}))
	}
	return nil
}

// points returns the points of a query; none without a query.
func (p pastValues) points(ctx context.Context, query string, span metrics.Span,
	g appfile.Gate) (all []metrics.Point, err error) {
	if query == "" {
		return nil, nil
	}
	for _, chunk := range chunksOf(span) {
		points, err := queryPoints(ctx, p.source, query, chunk, stepOf(g), g.How.PipeCD)
		if err != nil {
			return nil, err
		}
		all = append(all, points...)
	}
	return all, nil
}

func timesOf(points []metrics.Point) (all []time.Time) {
	for _, p := range points {
		all = append(all, p.At)
	}
	return all
}

func pointsIn(all []metrics.Point, span metrics.Span) (out []metrics.Point) {
	for _, p := range all {
		if !p.At.Before(span.From) && p.At.Before(span.To) {
			out = append(out, p)
		}
	}
	return out
}

// consecutiveRuns returns stages of a length, one after the other.
func consecutiveRuns(span metrics.Span, length time.Duration) (all []run) {
	if length == 0 {
		length = defaultRun
	}
	for from := span.From; !from.Add(length).After(span.To); from = from.Add(length) {
		all = append(all, run{metrics.Span{From: from, To: from.Add(length)}, from, from.Add(length), true})
	}
	return all
}

// errNoPast is the reason if a span has no closed minute.
var errNoPast = errors.New("no minute of this time has closed yet")

// PastSpan returns the closed minutes since a time.
func PastSpan(since, now time.Time) (metrics.Span, error) {
	span := metrics.Span{From: since.UTC().Add(time.Minute - 1).Truncate(time.Minute),
		To: metrics.CloseTime(now, time.Minute)}
	if !span.From.Before(span.To) {
		return span, errNoPast
	}
	return span, nil
}
