package gates

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

// signalReader counts requests by the metrics of a load balancer.
type signalReader struct {
	shared *metrics.SharedReader
	groups metrics.TargetGroups
	signal metrics.Signal
}

func (r signalReader) read(ctx context.Context, t times) analysis.Look {
	windows, err := r.shared.ReadSignal(ctx, r.groups, r.signal, t.since)
	if err != nil {
		return unanswered(err)
	}
	return analysis.Look{Windows: windowsOf(windows)}
}

// windowsOf returns windows as the statistics take them.
func windowsOf(all []metrics.Window) (out []analysis.Window) {
	for _, w := range all {
		out = append(out, analysis.Window{From: w.From, Canary: analysis.Counts(w.Canary),
			Primary: analysis.Counts(w.Primary)})
	}
	return out
}
