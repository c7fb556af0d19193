package piped_test

import (
	"testing"
)

func TestPipelineGoesFromV1ToV2WithoutLosingARequest(t *testing.T) {
	t.Parallel()
	r := newRig(t, external)
	r.flow()
	d := r.usual()
	for i, s := range d.forward() {
		d.run(s)
		t.Logf("%s: %s\n%s", s.GetName(), r.state(), r.piped.text(s.GetId()))
		if i == 1 {
			r.want("PRIMARY sim/web:v1 100% 2 running; ACTIVE sim/web:v2 50% 1 running; primary 90; canary 10")
		}
	}
	r.want(serves("v2"))
	r.noneLost()
}
