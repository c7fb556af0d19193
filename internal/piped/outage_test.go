package piped_test

import (
	"strings"
	"testing"
)

// Piped cannot pause a stage. One that AWS does not answer for longer than any single
// call is tried goes on when AWS answers again, forward and in a rollback.
func TestStageContinuesAfterAnOutage(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	r.flow()
	d := r.begin(source{image: "sim/web:v1"}, source{}, stagesOf()...)
	must(t, r.sim.Inject("outage *:* as=refused after=8s for=400s"))
	for _, s := range d.forward()[:2] {
		d.run(s)
	}
	r.want("PRIMARY sim/web:v1 100% 2 running; ACTIVE sim/web:v2 50% 1 running; primary 90; canary 10")
	must(t, r.sim.Inject("outage *:* as=page after=3s for=400s"))
	back := d.back()
	d.run(back)
	r.want("PRIMARY sim/web:v1 100% 2 running; primary 100; canary 0")
	r.noneLost()
	for _, stage := range []string{d.forward()[0].GetId(), back.GetId()} {
		if text := r.piped.text(stage); !strings.Contains(text, "AWS responds again after 6m") {
			t.Errorf("the log does not tell of an outage of more than five minutes:\n%s", text)
		}
	}
}
