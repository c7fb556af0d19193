package session_test

import (
	"testing"

	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// --deregister-task-definition and its opposite have no default.
func TestRegisterOptional(t *testing.T) {
	for text, want := range map[string]bool{"true": true, "false": false} {
		for name, yes := range map[string]bool{"run": true, "no-run": false} {
			var value *bool
			set := pflag.NewFlagSet("", pflag.ContinueOnError)
			session.RegisterOptional(set, &value, yes, name, "")
			if err := set.Set(name, text); err != nil || *value != (want == yes) {
				t.Errorf("%s %s: %v %v", name, text, value, err)
			}
		}
	}
}
