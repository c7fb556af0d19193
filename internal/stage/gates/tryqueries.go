package gates

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/appfile"
)

// Trial is what one gate would read now.
type Trial struct {
	Gate   appfile.PlacedGate
	Values int   // of all queries of the gate
	IsRead bool  // the queries were sent to the provider
	Err    error // if IsRead is false, a deployment refuses the gate
}

// TryQueries checks gates as [CheckFiles] does, and sends each query of a provider once. It does not read CloudWatch, where
// each read costs money. It only reads.
func TryQueries(ctx context.Context, from Past, all []appfile.PlacedGate) []Trial {
	out := make([]Trial, len(all))
	for i, g := range all {
		out[i] = Trial{Gate: g, Err: checkGate(ctx, g.Gate, from.OutsideAWS)}
		if p := g.Read.Provider; out[i].Err == nil && p != nil && p.Type != appfile.ProviderCloudWatch {
			out[i].IsRead = true
			out[i].Values, out[i].Err = countValues(ctx, from, g.Gate)
		}
	}
	return out
}

// countValues sends the queries of a gate and returns how many values they have.
func countValues(ctx context.Context, from Past, g appfile.Gate) (n int, err error) {
	source := openSource(*g.Read.Provider, from.Account, from.Clock, from.OutsideAWS)
	for _, text := range queriesOf(g) {
		points, err := queryPoints(ctx, source, text, from.Span, stepOf(g), g.How.PipeCD)
		if err != nil {
			return n, err
		}
		n += len(points)
	}
	return n, nil
}

// queriesOf returns the queries of a gate of a provider.
func queriesOf(g appfile.Gate) (all []string) {
	for _, q := range []appfile.Queries{g.Read.Values, g.Read.Bad, g.Read.All} {
		for _, text := range []string{q.Canary, q.Control} {
			if text != "" {
				all = append(all, text)
			}
		}
	}
	return all
}
