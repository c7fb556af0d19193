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

func TestHasWorseCanary(t *testing.T) {
	count := func(errors, requests int) *RequestCount { return &RequestCount{Requests: requests, Errors: errors} }
	for _, c := range []struct {
		canary, primary *RequestCount
		want            bool
	}{
		{count(60, 1200), count(0, 10800), true},
		{count(5, 6), count(0, 51), true},
		{count(60, 1200), count(540, 10800), false}, // both fail alike
		{count(1, 6), count(0, 51), false},          // one request is chance, measured by 51 others
		{count(3, 1200), count(0, 0), false},        // less than 1 %
		{count(60, 1200), count(0, 0), true},        // the canary gets all requests
		{count(0, 0), count(0, 51), false},
		{nil, count(0, 51), false},
		{count(5, 6), nil, false},
	} {
		if got := (RequestsCounted{Canary: c.canary, Primary: c.primary}).HasWorseCanary(); got != c.want {
			t.Errorf("canary %s, primary %s: HasWorseCanary() = %t, want %t", c.canary, c.primary, got, c.want)
		}
	}
}
