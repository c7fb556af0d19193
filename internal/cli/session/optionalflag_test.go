package session_test

import (
	"testing"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// --deregister-task-definition and its opposite have no default.
func TestOptionalFlag(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "false": false} {
		var value *bool
		if err := (session.OptionalFlag{To: &value, Yes: true}).Set(text); err != nil || *value != want {
			t.Errorf("%s: %v %v", text, value, err)
		}
		if err := (session.OptionalFlag{To: &value}).Set(text); err != nil || *value == want {
			t.Errorf("no-%s: %v %v", text, value, err)
		}
	}
}
