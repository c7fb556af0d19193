package gates

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/analysis"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

// signalReader counts requests by the metrics of a load balancer.
type signalReader struct {
	shared *metrics.SharedReader
	groups metrics.TargetGroups
	signal appfile.Signal
}

func (r signalReader) read(ctx context.Context, t times) analysis.Look {
	windows, err := r.shared.ReadSignal(ctx, r.groups, r.signal, t.since)
	if err != nil {
		return unanswered(err)
	}
	return analysis.Look{Windows: windows}
}
