package sluice

import "testing"

// Weights that were no whole shares are not told as 0 / 0, which nobody set.
func TestWhatWeightsHadBeen(t *testing.T) {
	for want, e := range map[string]TrafficShifted{
		"75 / 25":       {FromPrimary: 75, FromCanary: 25},
		"0 / 100":       {FromCanary: 100},
		"other weights": {ToPrimary: 100},
	} {
		if e.Was() != want {
			t.Errorf("%q, want %q", e.Was(), want)
		}
	}
}
