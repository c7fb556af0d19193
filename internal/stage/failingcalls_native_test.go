package stage_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// These are the calls of a whole failing deployment with ECS's own strategies, plan included. The circuit breaker does not
// count their tasks, so sluice judges the version and rolls it back.
func TestCallsOfAFailingNativeDeployment(t *testing.T) {
	for _, c := range []struct {
		kind, image string
		most        int
	}{
		{"BLUE_GREEN", "sim/web:v2-crash-after-2s-exit-3", 52},
		{"CANARY", "sim/web:v2-crash-after-2s-exit-3", 52},
		{"BLUE_GREEN", "sim/web:v2-noboot", 48},
	} {
		stagetest.RunNative(t, stagetest.Strategies[c.kind], func(b *stagetest.Bench) {
			began, calls := b.Clock.Now(), map[string]int{}
			end := b.Deploy(b.NativeFiles(c.image, stagetest.Strategies[c.kind]))
			took := b.Clock.Now().Sub(began)
			for _, call := range b.Calls {
				calls[call.Service+":"+call.Operation]++
			}
			t.Logf("%s %s: %d calls in %s: %v", c.kind, c.image, len(b.Calls), took.Round(time.Second), calls)
			if end.Outcome != sluice.RolledBack || len(b.Calls) > c.most {
				t.Errorf("%s %s: %s: %s; %d calls, want at most %d", c.kind, c.image, end.Outcome, end.Cause, len(b.Calls),
					c.most)
			}
		})
	}
}
