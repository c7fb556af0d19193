package analysis

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// The expected time is near the median of releases that are played until the gate decides.
func TestExpectedTimeIsNearTheMedian(t *testing.T) {
	const runs, looks = 200, 600
	for _, c := range []struct {
		perMinute, bad, ratio float64
		gate                  Gate
		want                  Verdict
	}{
		{600, .01, 1, Gate{Max: .03}, Good},
		{600, .01, 1, Gate{}, Good},
		{600, .01, 5, Gate{}, Bad},
		{600, .01, 3, Gate{}, Bad},
		{600, .001, 5, Gate{}, Bad},
		{6000, .001, 20, Gate{}, Bad}, // three minutes must have failures
		{6000, .001, 5, Gate{Max: .004, Worse: 1.5}, Bad},
		{6000, .0001, 5, Gate{Max: .01, Worse: 1.5}, Good}, // five times as bad, and far below max
		{600, .01, 5, Gate{Max: .01}, Bad},
	} {
		t.Run(fmt.Sprintf("%v/min, %v bad, %v times, max %v", c.perMinute, c.bad, c.ratio, c.gate.Max), func(t *testing.T) {
			got := c.gate.Expect(Traffic{Canary: c.perMinute * canaryShare, Primary: c.perMinute * (1 - canaryShare), Bad: c.bad},
				c.ratio)
			p := c.ratio * c.bad / (1 - c.bad)
			all := playAll(c.gate, release{perMinute: c.perMinute, bad: c.bad, times: p / (1 + p) / c.bad}, runs, looks, 7)
			ends := all.looks
			if got.Verdict != c.want {
				t.Fatalf("expected %s, want %s", got.Verdict, c.want)
			}
			if c.want == Good {
				ends = all.passes
			}
			if len(ends) < runs*9/10 {
				t.Fatalf("%d of %d releases are %s", len(ends), runs, c.want)
			}
			slices.Sort(ends)
			median := time.Duration(ends[len(ends)/2]) * time.Minute
			t.Logf("expected %s, median %s", got.After, median)
			if got.After < median*6/10-time.Minute || got.After > median*16/10+time.Minute {
				t.Errorf("expected after %s, the median is %s", got.After, median)
			}
		})
	}
}

// A canary within the margin is never bad, and without requests or failures a comparison decides nothing.
func TestNothingIsExpected(t *testing.T) {
	for name, got := range map[string]Expected{
		"no requests":             Gate{}.Expect(Traffic{Canary: 0, Primary: 900, Bad: .01}, 5),
		"the primary never fails": Gate{}.Expect(Traffic{Canary: 100, Primary: 900}, 5),
		"on the margin":           Gate{Worse: 5}.Expect(Traffic{Canary: 100, Primary: 900, Bad: .01}, 5),
		"everything fails":        Gate{}.Expect(Traffic{Canary: 100, Primary: 900, Bad: 1}, 2),
	} {
		if got != (Expected{Verdict: Undecided}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := (Gate{Worse: 3}).Expect(Traffic{Canary: 100, Primary: 900, Bad: .01}, 2); got.Verdict != Good {
		t.Errorf("twice as bad, three times accepted: %v", got)
	}
}
