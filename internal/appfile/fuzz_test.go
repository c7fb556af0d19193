package appfile

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/sluice-ecs/sluice/internal/definition"
)

// FuzzLoad holds that no files make the reader panic, and that every problem
// points into one of them.
func FuzzLoad(f *testing.F) {
	for _, s := range samples() {
		f.Add(s.file, "family: web\ncontainerDefinitions: [{name: web, image: x}]\n", "serviceName: web\n")
	}
	f.Fuzz(func(t *testing.T, app, task, service string) {
		all := map[string]string{"sluice.yaml": app, "taskdef.json": task, "servicedef.yaml": service}
		fsys := fstest.MapFS{}
		for name, text := range all {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
		got, err := Load(fsys, ".", nil)
		if err == nil {
			checkApplication(t, got)
			return
		}
		problems := []error{err}
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			problems = joined.Unwrap()
		}
		for _, err := range problems {
			checkPlace(t, err, all)
		}
	})
}

func checkPlace(t *testing.T, err error, all map[string]string) {
	var p *definition.Problem
	if !errors.As(err, &p) {
		t.Fatalf("%T is no *Problem: %v", err, err)
	}
	text := strings.ReplaceAll(strings.TrimPrefix(all[p.File], "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > utf8.RuneCountInString(lines[p.Line-1])+1 {
		t.Fatalf("%s:%d:%d is not in the file %q", p.File, p.Line, p.Column, text)
	}
}

// checkApplication holds that what is accepted is whole.
func checkApplication(t *testing.T, app *Application) {
	if app.Task == nil || app.Timeout <= 0 || app.ProgressDeadline <= 0 || app.Access == "" {
		t.Fatalf("%+v", app)
	}
	for _, st := range app.Pipeline {
		if routing, ok := st.With.(TrafficRouting); st.With == nil || st.Timeout <= 0 || ok &&
			!routing.Weights.Valid() {
			t.Fatalf("%+v", st)
		}
		if rollout, ok := st.With.(CanaryRollout); ok && (rollout.Scale < 1 || rollout.Scale > 100) {
			t.Fatalf("%+v", st)
		}
	}
}
