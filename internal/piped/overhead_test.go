package piped_test

import (
	"flag"
	"testing"
	"time"
)

var timed = flag.Bool("timed", false, "hold stages to a second; for a machine that does nothing else")

// A stage that has nothing to wait for in AWS takes less than a second of piped's
// time, log and metadata included: AWS's own delays pass forty times faster here,
// so what is left is ours. Each is executed a few times and the best counts; it is held
// to the second if that is asked for.
func TestStageTakesLittleBeyondAWSsTime(t *testing.T) {
	t.Parallel()
	r := newRig(t, external+quick)
	d := r.usual()
	for _, s := range d.forward() {
		d.run(s)
		best := time.Hour
		for range 4 {
			began := time.Now()
			d.run(s) // its log is complete when it ends
			best = min(best, time.Since(began))
		}
		t.Logf("%s: %s", s.GetName(), best.Round(time.Millisecond))
		if *timed && best > time.Second {
			t.Errorf("%s took %s with nothing to do", s.GetName(), best)
		}
	}
	r.want(serves("v2"))
}
