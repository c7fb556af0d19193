package engine_test

import (
	"testing"

	"github.com/sluice-ecs/sluice"
)

func TestCanaryGoesFromV1ToV2WithoutLosingARequest(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v2", canaryPipeline))
		if end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.log())
		}
		if want := "PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"; b.state() != want {
			b.Errorf("%s, want %s\n%s", b.state(), want, b.log())
		}
		b.noneLost()
	})
}

// The proof can fail: without the waits for health requests are lost.
func TestWithoutTheHealthWaitRequestsAreLost(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.engine.Hasty = true
		b.deploy(b.files("sim/web:v2", canaryPipeline))
		if r := b.tally.Report(); r.Failed == 0 {
			b.Errorf("none of %.0f requests failed", r.Requests)
		}
	})
}
