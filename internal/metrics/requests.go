package metrics

import (
	"context"
	"math"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/analysis"
)

const (
	settleTime = analysis.SettleTime
	// lookBack is how old the shown minute can be.
	lookBack = 10 * minute
)

// TargetGroups are the two target groups of a canary behind one Application Load Balancer, as
// CloudWatch's dimensions name them.
type TargetGroups struct {
	balancer        string // app/edge/0123456789abcdef
	primary, canary string // targetgroup/web/0123456789abcdef
}

// GroupsOf returns the groups with these ARNs. listener is the ARN of a listener or of a rule that
// forwards to them. ok is false if the load balancer is not an Application Load Balancer: others
// have other metrics.
func GroupsOf(listener, primary, canary string) (g TargetGroups, ok bool) {
	_, path, _ := strings.Cut(listener, ":listener")
	parts := strings.Split(path, "/") // "", or "-rule"; app, name, id, …
	if len(parts) < 4 || parts[1] != "app" || primary == "" || canary == "" {
		return g, false
	}
	return TargetGroups{balancer: strings.Join(parts[1:4], "/"), primary: lastARNPart(primary),
		canary: lastARNPart(canary)}, true
}

func lastARNPart(arn string) string { return arn[strings.LastIndex(arn, ":")+1:] }

// CompleteMinutes returns the complete minutes at a time, not older than lookBack and not older than
// since. It returns false if there is none yet.
func CompleteMinutes(since, now time.Time) (Span, bool) {
	to := now.UTC().Add(-settleTime).Truncate(minute)
	from := to.Add(-lookBack)
	if first := since.UTC().Add(minute - 1).Truncate(minute); first.After(from) {
		from = first
	}
	return Span{from, to}, from.Before(to)
}

// ReadRequests reads how many requests the two groups got in the newest minute of the span for which
// CloudWatch has data, as a part of the call for the whole account. If it has none, the minute is the last
// of the span. It returns nil before the first read of these groups.
func (r *SharedReader) ReadRequests(ctx context.Context, g TargetGroups, span Span) (*sluice.RequestsCounted, error) {
	var queries []Query
	for _, s := range g.requestSeries() {
		queries = append(queries, s.Query())
	}
	got, err := r.Read(ctx, queries, span.From)
	if err != nil || got.To.IsZero() {
		return nil, err
	}
	counted := newestCount(span, got.Points)
	return &counted, nil
}

func (g TargetGroups) requestSeries() []Series {
	return []Series{
		g.newSeries("RequestCount", ""),
		g.newSeries("RequestCount", g.primary), g.newSeries("HTTPCode_Target_5XX_Count", g.primary),
		g.newSeries("RequestCount", g.canary), g.newSeries("HTTPCode_Target_5XX_Count", g.canary),
	}
}

// newestCount returns the newest minute of the points of requestSeries.
func newestCount(span Span, points []Points) sluice.RequestsCounted {
	return newestMinute(span, points[0], groupPoints{points[1], points[2]}, groupPoints{points[3], points[4]})
}

// newSeries returns a metric of one of the groups; without a group, of the load balancer.
func (g TargetGroups) newSeries(metric, group string) Series {
	s := Series{Namespace: "AWS/ApplicationELB", Metric: metric, Statistic: "Sum",
		Dimensions: []Dimension{{"LoadBalancer", g.balancer}}}
	if group != "" {
		s.Dimensions = append(s.Dimensions, Dimension{"TargetGroup", group})
	}
	return s
}

// groupPoints are the metrics of one target group.
type groupPoints struct{ requests, errors Points }

// newestMinute returns the newest minute of the span that has data. AWS reports no point for a group
// without requests. Another point of the same load balancer shows that the minute was reported, so
// the group's number is 0 then; without any point it is unknown.
func newestMinute(span Span, balancer Points, primary, canary groupPoints) sluice.RequestsCounted {
	for at := span.To.Add(-minute); !at.Before(span.From); at = at.Add(-minute) {
		for _, p := range []Points{balancer, primary.requests, canary.requests} {
			if _, ok := p[at]; ok {
				p, c := primary.countOf(at), canary.countOf(at)
				return sluice.RequestsCounted{From: at, To: at.Add(minute), Primary: p, Canary: c,
					Share: sluice.MeasureShare(p.Requests, c.Requests)}
			}
		}
	}
	return sluice.RequestsCounted{From: span.To.Add(-minute), To: span.To}
}

func (g groupPoints) countOf(at time.Time) *sluice.RequestCount {
	return &sluice.RequestCount{Requests: int(math.Round(g.requests[at])), Errors: int(math.Round(g.errors[at]))}
}
