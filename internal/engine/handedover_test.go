package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
)

func TestRollingLeftToECSIsHeldByNobodyAndResumed(t *testing.T) {
	rolls(t, func(b *bench) {
		id := b.LeaveToECS("sim/web:v2", breaker)
		if state := b.RollingState(); strings.Contains(state, "tag ") ||
			!strings.Contains(state, "sim/web:v2 IN_PROGRESS") {
			b.Errorf("left as %s", state)
		}
		b.ExpectRolled(got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "", rolledV2)
		b.ExpectNoneLost()
	})
}
