package gates

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/metrics/provider"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// CheckFiles refuses gates of an application that can never answer: whose query does not parse, whose
// credentials are missing, or whose program does not exist here. It asks no provider. All problems are returned together.
func CheckFiles(ctx context.Context, app *appfile.Application, outside *step.OutsideAWS) error {
	var all []error
	for _, g := range app.AllGates() {
		if err := checkGate(ctx, g, outside); err != nil {
			all = append(all, &sluice.Error{Op: "read gate " + g.Name, Resource: fmt.Sprintf("%s:%d", app.File, g.Line),
				Err: err, Next: sluice.NextStep(err)})
		}
	}
	return errors.Join(all...)
}

func checkGate(ctx context.Context, g appfile.Gate, outside *step.OutsideAWS) error {
	if g.Read.HTTPS != nil {
		for _, h := range g.Read.HTTPS.Headers {
			if _, err := outside.Resolve(ctx, h.Value); err != nil {
				return err
			}
		}
	}
	if len(g.Read.Command) > 0 {
		return commandOf(g).Find()
	}
	if g.Read.Provider == nil {
		return nil
	}
	for _, text := range queriesOf(g) {
		if err := provider.CheckQuery(g.Read.Provider.Type, text, stepOf(g)); err != nil {
			return err
		}
	}
	_, err := provider.Open(ctx, *g.Read.Provider, provider.Environment{Client: outside.HTTP, Resolve: outside.Secret})
	return err
}
