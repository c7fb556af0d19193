package gates

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	provider provider.Provider
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
		l.source, err = l.provider.Open(ctx, l.env)
	}
	return l.source, err
}

// places are where providers are read from.
type places struct {
	account *account.Account
	clock   clock.Clock
	outside *step.OutsideAWS
}

// openSource returns the source of a provider of the file. It makes no call.
func (p places) openSource(from appfile.Provider) (metrics.Source, error) {
	if from.Type == string(provider.CloudWatch) {
		return metrics.NewCloudWatch(from.Name, step.SharedMetrics(p.account, p.clock)), nil
	}
	parsed, err := parseProvider(from)
	if err != nil {
		return nil, err
	}
	return &lazySource{provider: parsed, env: provider.Environment{Client: p.outside.HTTP, Resolve: p.outside.Secret,
		Credentials: p.account.Credentials(), Region: p.account.Region(), Now: p.clock.Now}}, nil
}

// parseProvider returns the provider with its settings checked.
func parseProvider(from appfile.Provider) (provider.Provider, error) {
	config := map[string]any{}
	headers := map[string]any{}
	for key, value := range from.Config {
		name, isHeader := strings.CutPrefix(key, "headers.")
		switch {
		case isHeader:
			headers[name], config["headers"] = value, headers
		case key == "sigv4" && value == "true":
			config[key] = true
		case key == "sigv4":
			config[key] = map[string]any{"region": value}
		default:
			config[key] = value
		}
	}
	p, problems := provider.Parse(from.Name, from.Type, config)
	var all []error
	for _, x := range problems {
		all = append(all, fmt.Errorf("provider %s: %w", from.Name, x.Err))
	}
	return p, errors.Join(all...)
}
