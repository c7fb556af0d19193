package session

import (
	"testing"

	"github.com/sluice-ecs/sluice"
)

func TestExitCodeOfErrors(t *testing.T) {
	denied := &sluice.Error{Op: "plan", Err: &sluice.Error{Kind: sluice.Denied}, Kind: sluice.Conflict}
	for want, err := range map[int]error{
		sluice.ExitDenied:     denied,
		sluice.ExitStopped:    ErrInterrupted,
		sluice.ExitSuperseded: &sluice.Error{Kind: sluice.Overtaken},
		sluice.ExitUsage:      &sluice.Error{Kind: sluice.NotFound},
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v: exit code %d, not %d", err, got, want)
		}
	}
}
