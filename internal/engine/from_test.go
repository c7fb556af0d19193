package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

func TestSecondDeploymentOfAServiceIsRefused(t *testing.T) {
	on(t, options{}, func(b *bench) {
		files := b.Files("sim/web:v2", heldAfterStage(1))
		id := b.Start(files)
		got(b.Engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
		p := got(b.Plan(files, mode.Options{}))(b)
		if _, err := b.Engine.Start(context.Background(), p,
			engine.TriggerManual); sluice.KindOf(err) != sluice.Overtaken || !strings.Contains(err.Error(), id) {
			b.Errorf("the second one: %v", err)
		}
	})
}
