package inspect

import (
	"testing"

	"github.com/sluice-ecs/sluice"
)

// Only the wanted outcome has exit code 0: a success is a failure of a wait for a rollback.
func TestExitCodeOfAGoal(t *testing.T) {
	for _, c := range []struct {
		wants, outcome sluice.Outcome
		code           int
	}{
		{sluice.Succeeded, sluice.Succeeded, sluice.ExitDone},
		{sluice.Succeeded, sluice.RolledBack, sluice.ExitRolledBack},
		{sluice.RolledBack, sluice.RolledBack, sluice.ExitDone},
		{sluice.RolledBack, sluice.Succeeded, sluice.ExitFailed},
		{sluice.RolledBack, sluice.TimedOut, sluice.ExitUndecided},
	} {
		if got := (&waitView{wants: c.wants}).exitCode(c.outcome); got != c.code {
			t.Errorf("%s, wanted %s: %d, not %d", c.outcome, c.wants, got, c.code)
		}
	}
}
