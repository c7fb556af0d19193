package metrics

import (
	"context"
	"strconv"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// badSeries returns the series of a group's bad requests. CloudWatch's statistic TC(0.5:) is the
// number of values above 0.5, here of seconds (CloudWatch User Guide, "Statistics definitions").
func (g TargetGroups) badSeries(s appfile.Signal, group string) Series {
	if s.SlowerThan == 0 {
		return g.newSeries("HTTPCode_Target_5XX_Count", group)
	}
	out := g.newSeries("TargetResponseTime", group)
	out.Statistic = "TC(" + strconv.FormatFloat(s.SlowerThan.Seconds(), 'f', -1, 64) + ":)"
	return out
}

// signalQueries returns what a gate of a signal registers with a [SharedReader].
func (g TargetGroups) signalQueries(s appfile.Signal) []Query {
	return []Query{
		g.newSeries("RequestCount", "").Query(),
		g.badSeries(s, g.canary).Query(), g.newSeries("RequestCount", g.canary).Query(),
		g.badSeries(s, g.primary).Query(), g.newSeries("RequestCount", g.primary).Query(),
	}
}

// signalWindows returns the windows of the points of signalQueries.
func signalWindows(span Span, points []Points) []analysis.Window {
	return CloseWindows(span, minute, Pair{points[1], points[2]}, Pair{points[3], points[4]}, points[0])
}

// ReadSignal returns the closed windows of a signal since a time. It has none before the first read,
// and for a minute in which the load balancer got no request.
func (r *SharedReader) ReadSignal(ctx context.Context, g TargetGroups, s appfile.Signal,
	from time.Time) ([]analysis.Window, error) {
	got, err := r.Read(ctx, g.signalQueries(s), from)
	if err != nil || got.To.IsZero() {
		return nil, err
	}
	return signalWindows(Span{from, got.To}, got.Points), nil
}

// ReadPastSignal returns the windows of a signal in a span that has closed. It does not share its call.
func ReadPastSignal(ctx context.Context, api *awscw.Client, g TargetGroups, s appfile.Signal,
	span Span) ([]analysis.Window, error) {
	results, err := readQueries(ctx, api, span, g.signalQueries(s))
	if err != nil {
		return nil, err
	}
	var points []Points
	for i := range results {
		p, err := results[i].onePoints()
		if err != nil {
			return nil, err
		}
		points = append(points, p)
	}
	return signalWindows(span, points), nil
}
