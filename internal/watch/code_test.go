package watch_test

import (
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

func TestACodeDeploymentThatSucceeds(t *testing.T) {
	onCode(t, codeOptions{seed: 1}, func(b *codeBench) {
		id := b.bring("sim/web:v2", "half")
		v := b.follow(verdict.Wanted{Deployment: id})
		b.is(v, sluice.Succeeded, "", "", "web:2 serves, 3 of 3 running")
		for _, s := range b.seen {
			t.Log(s)
		}
		t.Log(len(b.calls), b.get(id).Status, b.clock.Now().Sub(*b.get(id).CompleteTime))
		for _, c := range b.calls {
			t.Log(c.At.Sub(dawn), c.Operation, c.Resource)
		}
	})
}
