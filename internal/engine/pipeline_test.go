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
