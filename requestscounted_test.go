package sluice

import (
	"math"
	"testing"
)

// The interval is Wilson's, with the values of textbooks.
func TestMeasureShare(t *testing.T) {
	for want, counts := range map[string][2]int{
		"10.0 % (5.5–17.4 %)":    {90, 10},
		"0.0 % (0.0–27.8 %)":     {10, 0},
		"100.0 % (72.2–100.0 %)": {0, 10},
		"10.0 % (9.9–10.1 %)":    {900000, 100000},
		"50.0 % (9.5–90.5 %)":    {1, 1},
	} {
		if got := MeasureShare(counts[0], counts[1]); got.String() != want {
			t.Errorf("%v: %s, want %s", counts, got, want)
		}
	}
	if MeasureShare(0, 0) != nil {
		t.Error("there is a share of no requests")
	}
}

// The interval contains the true share in about 95 of 100 minutes, also with few requests.
func TestIntervalContainsTheShare(t *testing.T) {
	for _, n := range []int{20, 60, 600} {
		for _, share := range []float64{.1, .2, .5} {
			covered, chance := 0.0, math.Pow(1-share, float64(n)) // of no request of the canary
			for k := range n + 1 {
				if m := MeasureShare(n-k, k); m.Low <= 100*share && 100*share <= m.High {
					covered += chance
				}
				chance *= float64(n-k) / float64(k+1) * share / (1 - share)
			}
			if covered < .92 || covered > .98 {
				t.Errorf("%d requests, share %v: contained in %.3f", n, share, covered)
			}
		}
	}
}
