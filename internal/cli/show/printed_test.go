package show

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// hostile is text of a file, a container or AWS that must not leave as it is.
const hostile = "a\x1b]0;pwned\a\x1b[2J\x1b[31m\u009b\u202e\r::error::b\n::error::c\n##[error]d --password=PLANTED9"

// fillText sets every text in a value to the hostile one.
func fillText(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(hostile)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fillText(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillText(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillText(v.Elem())
	}
}

// hostileEvents are an event of each kind with hostile text everywhere.
func hostileEvents() (all []sluice.Envelope) {
	for _, zero := range append([]sluice.Event{sluice.DeploymentStarted{}}, sluice.Events()...) {
		ev := reflect.New(reflect.TypeOf(zero))
		fillText(ev.Elem())
		e := sluice.Seal(hostile, hostile, ev.Elem().Interface().(sluice.Event))
		e.At = start
		all = append(all, e)
	}
	return all
}

// ownCodes are what sluice itself writes to a terminal.
var ownCodes = regexp.MustCompile(`\x1b\[(0|1|2|31|32|33)m|\x1b\[\d+A\r\x1b\[J`)

// Whatever the events say, no view writes a code but sluice's own, no line begins as a
// command of a CI system but sluice's own, and no secret is shown.
func TestEveryViewOfEventsIsPrintable(t *testing.T) {
	pl := canaryPlan()
	fillText(reflect.ValueOf(&pl.Warnings).Elem())
	fillText(reflect.ValueOf(&pl.Notes).Elem())
	fillText(reflect.ValueOf(&pl.Changes).Elem())
	pl.Cluster, pl.To, pl.Stages[0].Desc = hostile, hostile, hostile
	for name, play := range map[string]func(w io.Writer, p Paint){
		"lines":  func(w io.Writer, p Paint) { show(&lineRenderer{w: w, paint: p}) },
		"groups": func(w io.Writer, p Paint) { show(&lineRenderer{w: w, paint: p, ci: GitHub}) },
		"output": func(w io.Writer, p Paint) { show(&lineRenderer{w: w, out: w, paint: p}) },
		"JSON":   func(w io.Writer, _ Paint) { show(NewJSONLines(w, io.Discard)) },
		"live": func(w io.Writer, p Paint) {
			show(newProgressView(w, p, NewBoard(pl), clock.NewVirtual(start),
				func() (int, int) { return 80, 24 }))
		},
		"plan": func(w io.Writer, p Paint) { _ = planView{p}.writePlan(w, pl) },
		"plan as JSON": func(w io.Writer, _ Paint) {
			_ = PlanJSON(w, pl, &forecast.Forecast{})
		},
	} {
		mark, err := printable.NewCodePrefix(strings.NewReader("\xfe\xdc\xba\x98\x76\x54\x32\x10"))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		play(printable.NewWriter(&b, mark, 0), Paint{on: true, own: mark})
		text := ownCodes.ReplaceAllString(b.String(), "")
		if strings.ContainsFunc(text, printable.IsControl) || strings.Contains(text, "\r") {
			t.Errorf("%s: a code that is not ours: %q", name, text)
		}
		if strings.Contains(text, "PLANTED") {
			t.Errorf("%s: a secret is shown: %q", name, text)
		}
		for line := range strings.Lines(text) {
			own := name == "groups" && regexp.MustCompile(`^::(group|endgroup|warning|error)::`).MatchString(line) &&
				!strings.HasPrefix(line, "::error::b") && !strings.HasPrefix(line, "::error::c")
			if strings.HasPrefix(strings.TrimSpace(line), "::") && !own || strings.Contains(line, "##[") {
				t.Errorf("%s: a command that is not ours: %q", name, line)
			}
		}
		if strings.Contains(name, "JSON") {
			for line := range strings.Lines(text) {
				if !json.Valid([]byte(line)) {
					t.Errorf("%s: no JSON: %q", name, line)
				}
			}
		}
	}
}

func show(r Renderer) {
	for _, e := range hostileEvents() {
		r.ShowEvent(e)
	}
	r.Close()
}
