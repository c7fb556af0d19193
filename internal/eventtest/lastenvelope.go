package eventtest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
)

// LastEnvelope returns the last line of a text, and fails if it is not the JSON of e, or if the schema of events does not
// allow it.
func LastEnvelope(t *testing.T, text string, e sluice.Envelope) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := lines[len(lines)-1]
	var got sluice.Envelope
	if err := json.Unmarshal([]byte(last), &got); err != nil || got.Kind != e.Kind || !bytes.Equal(got.Data, e.Data) {
		t.Errorf("event %s is printed as %s, %v", e.Kind, last, err)
		return ""
	}
	checker, err := NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	if err := checker.Check([]byte(last)); err != nil {
		t.Errorf("event %s is printed as %s: %v", e.Kind, last, err)
	}
	return last
}
