package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func TestExpiredCredentialsPauseTheDeployment(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.Start(b.Files("sim/web:v2", canaryPipeline))
		must(b, b.Sim.Inject("expired-credentials after=60s for=1h"))
		ctx := context.Background()
		end, err := b.Engine.Run(ctx, id, engine.Options{})
		if sluice.KindOf(err) != sluice.Denied || end.State != journal.Paused {
			b.Fatalf("%s: %v\n%s", end.State, err, b.EventLog())
		}
		b.Sim.ClearFaults()
		end = got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.Succeeded, "", servesV2)
		b.ExpectNoneLost()
	})
}

// Two engines on one journal: the second is refused while the first lives.
func TestSecondEngineIsRefusedWhileTheFirstLives(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.Start(b.Files("sim/web:v2", canaryPipeline))
		second := b.other("test/2")
		second.IsAlive = func(string) bool { return true }
		var refused error
		b.Clock.Go(func() { _, refused = second.Run(context.Background(), id, engine.Options{}) })
		end := got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.Succeeded, "", servesV2)
		if !errors.Is(refused, journal.ErrHeld) || sluice.KindOf(refused) != sluice.Overtaken {
			b.Errorf("the second engine: %v", refused)
		}
	})
}
