package image_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice/awssim/image"
)

func parse(t *testing.T, ref string) image.Behaviour {
	t.Helper()
	b, err := image.Parse(ref)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDegradingImages(t *testing.T) {
	const m = time.Minute
	for ref, want := range map[string]map[time.Duration]float64{
		"sim/web:v2?errors=2%":                                   {0: .02, 60 * m: .02},
		"sim/web:v2?errors-after=5m":                             {0: 0, 5*m - 1: 0, 5 * m: 1, 60 * m: 1},
		"sim/web:v2?errors=2%&errors-after=5m":                   {5*m - 1: 0, 5 * m: .02, 60 * m: .02},
		"sim/web:v2?errors-grow=1%/m":                            {0: 0, 30 * time.Second: .005, 10 * m: .1, 200 * m: 1},
		"sim/web:v2-errors-grow-1%":                              {10 * m: .1},
		"sim/web:v2?errors-grow=60%/h&errors=2%&errors-after=m":  nil,
		"sim/web:v2?errors-grow=60%/h&errors=2%&errors-after=1m": {0: 0, m: .02, 11 * m: .12},
		"sim/web:v2?errors-grow=1%/10x":                          nil,
		"sim/web:v2?errors-grow=0%/m":                            nil,
		"sim/web:v2?error-bursts=3m/2m":                          nil,
		"sim/web:v2?error-bursts=10s":                            nil,
		"sim/web:v2?latency-share=0%":                            nil,
	} {
		b, err := image.Parse(ref)
		if want == nil {
			if err == nil || !strings.Contains(err.Error(), "option ") {
				t.Errorf("%s is accepted: %+v, %v", ref, b, err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
		}
		for at, rate := range want {
			if got := b.ErrorRateAt(at); math.Abs(got-rate) > 1e-12 {
				t.Errorf("%s after %v: %v, want %v", ref, at, got, rate)
			}
		}
	}
	b := parse(t, "sim/web:v2?latency=100ms&latency-grow=60ms/m&latency-after=1m&latency-share=5%")
	for at, want := range map[time.Duration]time.Duration{0: 0, m - 1: 0, m: 100 * time.Millisecond,
		m + 9*time.Second: 100 * time.Millisecond, m + 10*time.Second: 110 * time.Millisecond,
		11 * m: 700 * time.Millisecond} {
		if got := b.LatencyAt(at); got != want {
			t.Errorf("latency after %v: %v, want %v", at, got, want)
		}
	}
	if b.SlowShare() != .05 || parse(t, "sim/web:v2?latency=1s").SlowShare() != 1 {
		t.Error("the share of slow answers is wrong")
	}
}

// A burst is in each part of the time, at another moment in each, and the same in each run.
func TestErrorBursts(t *testing.T) {
	b := parse(t, "sim/web:v2-error-bursts-10s-2m")
	begins := map[int]bool{}
	for part := range 20 {
		var seconds, first int
		for s := range 120 {
			if b.ErrorRateAt(time.Duration(part*120+s)*time.Second+time.Millisecond) == 1 {
				if seconds++; seconds == 1 {
					first = s
				}
			}
		}
		begins[first] = true
		if seconds < 10 || seconds > 11 {
			t.Errorf("part %d: errors in %d seconds", part, seconds)
		}
	}
	if len(begins) < 15 {
		t.Errorf("20 bursts begin at %d moments", len(begins))
	}
	begin, _ := b.NextRateChange(0)
	if got := parse(t, "sim/web:v2?error-bursts=10s/2m&errors=30%").ErrorRateAt(begin); got != .3 {
		t.Errorf("in a burst %v fail, want the share of the option", got)
	}
}

// Between two changes the error rate is a straight line and the latency is constant.
func TestRatesChangeOnlyWhenSaid(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, all ...string) string { return rapid.SampledFrom(all).Draw(rt, name) }
		b, err := image.Parse("sim/web:v" + pick("version", "1", "2", "3") + "?" + strings.Join([]string{
			pick("errors", "", "errors=2%"), pick("after", "", "errors-after=95s"), pick("grow", "", "errors-grow=20%/m"),
			pick("bursts", "", "error-bursts=10s/1m"), pick("latency", "", "latency=100ms"),
			pick("later", "", "latency-after=33s"), pick("leak", "", "latency-grow=30ms/m")}, "&"))
		if err != nil {
			rt.Fatal(err)
		}
		for since := time.Duration(0); since < 6*time.Minute; {
			next, ok := b.NextRateChange(since)
			if !ok || next > since+time.Minute {
				next = since + time.Minute
			}
			last := next - time.Nanosecond
			middle := since + (last-since)/2
			mean := (b.ErrorRateAt(since) + b.ErrorRateAt(last)) / 2
			if math.Abs(b.ErrorRateAt(middle)-mean) > 1e-9 || b.LatencyAt(since) != b.LatencyAt(last) {
				rt.Fatalf("%+v from %v to %v: rates %v, %v, %v; latency %v, %v", b, since, next, b.ErrorRateAt(since),
					b.ErrorRateAt(middle), b.ErrorRateAt(last), b.LatencyAt(since), b.LatencyAt(last))
			}
			since = next
		}
	})
}
