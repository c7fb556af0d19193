package metrics

import (
	"context"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
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
// of the span, and its numbers are unknown. It returns nil before the first read of these groups.
func (r *SharedReader) ReadRequests(ctx context.Context, g TargetGroups, span Span) (*sluice.RequestsCounted, error) {
	got, err := r.Read(ctx, g.signalQueries(appfile.Signal{}), span.From)
	if err != nil || got.To.IsZero() {
		return nil, err
	}
	counted := newestMinute(span, signalWindows(span, got.Points))
	return &counted, nil
}

func newestMinute(span Span, all []analysis.Window) sluice.RequestsCounted {
	if len(all) == 0 {
		return sluice.RequestsCounted{From: span.To.Add(-minute), To: span.To}
	}
	w := all[len(all)-1]
	p, c := requestCount(w.Primary), requestCount(w.Canary)
	return sluice.RequestsCounted{From: w.From, To: w.From.Add(minute), Primary: p, Canary: c,
		Share: sluice.MeasureShare(p.Requests, c.Requests)}
}

func requestCount(c analysis.Counts) *sluice.RequestCount {
	return &sluice.RequestCount{Requests: int(c.All), Errors: int(c.Bad)}
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
