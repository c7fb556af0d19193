package gates

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/metrics"
	"github.com/sluice-ecs/sluice/internal/metrics/provider"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// lazySource opens its provider at the first query: credentials that cannot be read then are a missing
// answer, not the end of the stage.
type lazySource struct {
	provider appfile.Provider
	env      provider.Environment

	mu     sync.Mutex
	source metrics.Source
}

func (l *lazySource) Query(ctx context.Context, query string, span metrics.Span, step time.Duration) ([]metrics.Point,
	error) {
	source, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	return source.Query(ctx, query, span, step)
}

func (l *lazySource) QuerySeries(ctx context.Context, query string, span metrics.Span,
	step time.Duration) ([][]metrics.Point, error) {
	source, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	if of, ok := source.(metrics.SeriesSource); ok {
		return of.QuerySeries(ctx, query, span, step)
	}
	points, err := source.Query(ctx, query, span, step)
	return [][]metrics.Point{points}, err
}

func (l *lazySource) open(ctx context.Context) (_ metrics.Source, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.source == nil {
		l.source, err = provider.Open(ctx, l.provider, l.env)
	}
	return l.source, err
}

// openSource returns the source of a provider of the file. It makes no call.
func openSource(from appfile.Provider, a *account.Account, c clock.Clock, outside *step.OutsideAWS) metrics.Source {
	if from.Type == appfile.ProviderCloudWatch {
		return metrics.NewCloudWatch(from.Name, step.SharedMetrics(a, c))
	}
	return &lazySource{provider: from, env: provider.Environment{Client: outside.HTTP, Resolve: outside.Secret,
		Credentials: a.Credentials(), Region: a.Region(), Now: c.Now}}
}
