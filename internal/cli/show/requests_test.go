package show

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
)

// The row of the canary has the measured share, until the weights change: a minute from before the change does not
// count.
func TestBoardShowsTheMeasuredShare(t *testing.T) {
	shift := func(primary, canary int) sluice.Event {
		return sluice.TrafficShifted{FromPrimary: 100, ToPrimary: primary, ToCanary: canary}
	}
	minute := func(from time.Time, primary, canary int) sluice.Event {
		return sluice.RequestsCounted{From: from, To: from.Add(time.Minute), Primary: &sluice.RequestCount{Requests: primary},
			Canary: &sluice.RequestCount{Requests: canary}, Share: sluice.MeasureShare(primary, canary)}
	}
	for name, c := range map[string]struct {
		events []sluice.Event
		want   string
	}{
		"measured":       {[]sluice.Event{shift(90, 10), minute(start.Add(time.Minute), 5400, 600)}, "measured 9.3–10.8 %"},
		"another shift":  {[]sluice.Event{shift(90, 10), minute(start.Add(time.Minute), 5400, 600), shift(50, 50)}, ""},
		"an older one":   {[]sluice.Event{shift(50, 50), minute(start.Add(-time.Minute), 5400, 600)}, ""},
		"no requests":    {[]sluice.Event{shift(90, 10), minute(start.Add(time.Minute), 0, 0)}, ""},
		"all to primary": {[]sluice.Event{shift(90, 10), minute(start.Add(time.Minute), 5400, 600), shift(100, 0)}, ""},
	} {
		b := NewBoard(canaryPlan())
		for _, e := range c.events {
			sealed := sluice.Seal("slc-1", "", e)
			sealed.At = start
			b.ApplyEvent(sealed)
		}
		text := strings.Join(b.renderLines(start, 120, 40, Paint{}), "\n")
		if c.want == "" && strings.Contains(text, "measured") || !strings.Contains(text, c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, text)
		}
	}
}

// The board shows the newest minute until the canary gets no more requests.
func TestBoardShowsRequests(t *testing.T) {
	minute := time.Date(2030, 1, 2, 12, 3, 0, 0, time.UTC)
	figures := sluice.RequestsCounted{From: minute, To: minute.Add(time.Minute),
		Primary: &sluice.RequestCount{Requests: 5511, Errors: 9}, Canary: &sluice.RequestCount{}}
	none := figures
	none.Primary, none.Canary = nil, nil
	for _, c := range []struct {
		name   string
		events []sluice.Event
		want   string
	}{
		{"figures", []sluice.Event{figures},
			"requests 12:03–12:04 UTC: primary 5511 (9 with 5xx), canary 0"},
		{"no data", []sluice.Event{figures, none}, "requests 12:03–12:04 UTC: primary –, canary –"},
		{"a problem", []sluice.Event{sluice.RequestsCounted{Problem: "denied"}}, "no request figures: denied"},
		{"no traffic", []sluice.Event{figures, sluice.TrafficShifted{FromPrimary: 90, FromCanary: 10, ToPrimary: 100}}, ""},
		{"the end", []sluice.Event{figures, sluice.DeploymentEnded{Outcome: sluice.Stopped}}, ""},
	} {
		b := NewBoard(canaryPlan())
		for _, e := range c.events {
			b.ApplyEvent(sluice.Seal("slc-1", "", e))
		}
		got := ""
		for _, row := range b.renderLines(start, 120, 40, Paint{}) {
			if strings.Contains(row, "request") && !strings.Contains(row, "requested") {
				got = strings.TrimSpace(row)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
