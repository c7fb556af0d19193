package awssim_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/awssim"
)

// The control says in plain words what it refuses, and takes nothing of it.
func TestControlRefusesInPlainWords(t *testing.T) {
	s := newSim(t, awssim.Options{Clock: newHands()})
	for _, c := range []struct {
		method, path, body string
		code               int
		says               string
	}{
		{"PUT", "reset", "", 405, "/_sluice/reset takes POST, not PUT"},
		{"POST", "world", "", 405, "/_sluice/world takes GET, not POST"},
		{"GET", "nothing", "", 404, "there is no GET /_sluice/nothing; there are reset (POST)"},
		{"POST", "faults", "throttle ecs:* times=1\n" + strings.Repeat("x", 100_000), 400,
			"a line has more than 65536 bytes"},
		{"POST", "faults", strings.Repeat("throttle ecs:* times=1\n", 100_000), 413, "more than 1048576 bytes"},
		{"POST", "demand", strings.Repeat("x", 50<<20), 413, "more than 1048576 bytes"},
	} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest(c.method, "http://127.0.0.1/_sluice/"+c.path,
			strings.NewReader(c.body)))
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s: %d %.200s", c.method, c.path, w.Code, w.Body)
		}
	}
	if n := len(s.Faults()); n != 0 {
		t.Errorf("%d faults were taken", n)
	}
}

// Control characters that JSON allows are escaped too: a terminal obeys those of C1 and of bidirectional text.
func TestControlAnswersInJSONAreEscaped(t *testing.T) {
	s := newSim(t, awssim.Options{})
	const line = "task-crash w\u009b31meb\u202e\x7f count=1"
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "http://127.0.0.1/_sluice/faults", strings.NewReader(line)))
	text := w.Body.String()
	if w.Code != 200 || strings.ContainsAny(text, "\u009b\u202e\x7f") {
		t.Errorf("%d %q", w.Code, text)
	}
	var list []struct{ Fault string }
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Fault, line) {
		t.Errorf("%v %+v", err, list)
	}
}

// An answer to a terminal has no control character of the request.
func TestControlAnswersAreEscaped(t *testing.T) {
	s := newSim(t, awssim.Options{})
	for path, body := range map[string]string{"faults": "throttle ecs:*\x1b[31m", "demand": "\x1b]0;x\a 5", "%1b%5b31m": ""} {
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, httptest.NewRequest("POST", "http://127.0.0.1/_sluice/"+path, strings.NewReader(body)))
		if text := w.Body.String(); w.Code < 400 || strings.ContainsAny(text, "\x1b\a") || !strings.Contains(text, `\x1b`) {
			t.Errorf("%s: %d %q", path, w.Code, text)
		}
	}
}
