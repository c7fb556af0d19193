package show

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// Durations of a plan and of its forecast are text and seconds, and texts keep their characters.
func TestDurationsOfAPlanInJSON(t *testing.T) {
	pl := canaryPlan()
	pl.Timeout, pl.Stages[0].Timeout, pl.Notes = 6*time.Hour, 90*time.Second, []string{"a < b & c"}
	var b bytes.Buffer
	if err := PlanJSON(&b, pl, &forecast.Forecast{Took: time.Minute, Stages: []time.Duration{time.Second}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"timeout":{"text":"6h0m0s","seconds":21600}`, `"timeout":{"text":"1m30s","seconds":90}`,
		`"took":{"text":"1m0s","seconds":60}`, `"stages":[{"text":"1s","seconds":1}]`, `"a < b & c"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the plan has no %s: %s", want, b.String())
		}
	}
	if strings.Count(b.String(), "\n") != 1 {
		t.Errorf("the plan is not one line: %q", b.String())
	}
}

// Each line names the revision that is deployed as soon as an event names it, also after a restart of sluice.
func TestEventsInJSONNameTheRevision(t *testing.T) {
	started := func(to string) sluice.Event { return sluice.DeploymentStarted{From: "web:1", To: to} }
	registers := func(revision string) sluice.Event {
		return sluice.Wrote{Write: sluice.Write{Operation: "ecs:RegisterTaskDefinition"}, Result: revision}
	}
	lost := sluice.Wrote{Write: sluice.Write{Operation: "ecs:RegisterTaskDefinition"}, Cause: "HTTP 500"}
	runs := func(v sluice.Variant, revision string) sluice.Event {
		return sluice.CapacityChanged{Variant: v, Revision: revision}
	}
	for name, c := range map[string]struct {
		before, events []sluice.Event
		want           string // of each event; -: none
	}{
		"it is registered already":  {nil, []sluice.Event{started("web:7"), sluice.Noted{}}, "web:7 web:7"},
		"it is registered":          {nil, []sluice.Event{started("web"), registers("web:2"), sluice.Noted{}}, "- web:2 web:2"},
		"its registration was lost": {nil, []sluice.Event{started("web"), lost}, "- -"},
		"only its tasks name it": {nil, []sluice.Event{started("web"), runs(sluice.Primary, "web:1"),
			runs(sluice.Canary, "web:2")}, "- - web:2"},
		"the leaving one is none": {nil, []sluice.Event{started("web"), runs(sluice.Leaving, "web:0")}, "- -"},
		"a rollback registers a copy": {nil, []sluice.Event{started("web"), registers("web:2"), registers("web:3")},
			"- web:2 web:2"},
		"after a restart": {[]sluice.Event{started("web"), registers("web:2")},
			[]sluice.Event{sluice.Noted{}}, "web:2"},
		"another deployment on the line": {nil, []sluice.Event{started("web:7"), started("web"),
			registers("web:2")}, "web:7 - web:2"},
	} {
		var b bytes.Buffer
		j := NewJSONLines(&b, io.Discard)
		for _, e := range c.before {
			j.ReplayEvent(sluice.Seal("slc-1", "", e))
		}
		for _, e := range c.events {
			j.ShowEvent(sluice.Seal("slc-1", "", e))
		}
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n")[1:] {
			var e sluice.Envelope
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			if e.Revision == "" {
				e.Revision = "-"
			}
			got = append(got, e.Revision)
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: the events name %q, want %q", name, text, c.want)
		}
	}
}
