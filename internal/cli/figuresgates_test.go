package cli

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
)

// gateFigures are those of metric gates: make gates plays their releases.
func gateFigures() []figure {
	played := &releases{}
	return []figure{
		{"metric gates: 20,000 good releases, 10 to 6,000 requests/min of which 0.01 to 5 % fail: called bad", "≤ 1 %",
			played.good},
		{"half of the canary's requests fail, 60 requests/min: called bad, median", "≤ 3 min",
			played.median("half fails, 60/min", 3)},
		{"the same, 120 requests/min: called bad within 3 min", "≥ 95 %", played.found("half fails, 120/min", 95)},
		{"five times as bad, 600 requests/min of which 1 % fail: called bad within 30 min", "≥ 50 %",
			played.found("five times as bad, 600/min, 1 %", 50)},
		{"the same, of which 0.1 % fail, with `worse: 1`", "≥ 50 %",
			played.found("five times as bad, 600/min, 0.1 %, worse: 1", 50)},
		{"the same with the default, `worse: 1.5`", "none", played.found("five times as bad, 600/min, 0.1 %", 0)},
	}
}

// releases are played once for all figures.
type releases struct {
	out string
	ok  bool
}

func (r *releases) play(t *testing.T) string {
	if r.out == "" {
		r.out, r.ok = tested(t, "./internal/analysis", "TestGoodReleasesAreNotRolledBack|TestBadCanariesAreFound",
			"-gates")
	}
	return r.out
}

func (r *releases) good(t *testing.T) result {
	m := regexp.MustCompile(`good releases, the default: (\d+) of (\d+) called bad`).FindStringSubmatch(r.play(t))
	if m == nil {
		t.Fatal("no figure of good releases")
	}
	bad, _ := strconv.ParseFloat(m[1], 64)
	all, _ := strconv.ParseFloat(m[2], 64)
	return result{fmt.Sprintf("%s of %s (%.2f %%)", m[1], m[2], 100*bad/all), 0, r.ok && bad <= all/100}
}

// find returns a figure of bad canaries: the share that was called bad in time, and the median minute.
func (r *releases) find(t *testing.T, what string) (share, median float64) {
	m := regexp.MustCompile(regexp.QuoteMeta("bad canaries, "+what) +
		`: ([0-9.]+) % called bad .*, the median after (\d+);`).FindStringSubmatch(r.play(t))
	if m == nil {
		t.Fatalf("no figure of %s", what)
	}
	share, _ = strconv.ParseFloat(m[1], 64)
	median, _ = strconv.ParseFloat(m[2], 64)
	return share, median
}

func (r *releases) found(what string, least float64) func(*testing.T) result {
	return func(t *testing.T) result {
		share, median := r.find(t, what)
		return result{fmt.Sprintf("%.1f %%, the median after %.0f min", share, median), 0, r.ok && share >= least}
	}
}

func (r *releases) median(what string, most float64) func(*testing.T) result {
	return func(t *testing.T) result {
		share, median := r.find(t, what)
		return result{fmt.Sprintf("%.0f min (%.1f %% within 3)", median, share), 0, r.ok && median <= most}
	}
}
