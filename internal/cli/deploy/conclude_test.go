package deploy

import (
	"errors"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// How a run ends: what the terminal shows, the exit code, and the state in the journal.
func TestConcludeRun(t *testing.T) {
	for name, c := range map[string]struct {
		end        sluice.Outcome // empty: it has not ended
		waitingFor string
		err        error
		want       sluice.Outcome
		code       int
		shows      string
		state      journal.State
	}{
		"succeeded": {end: sluice.Succeeded, want: sluice.Succeeded, shows: "succeeded: prod/web (slc-1, ",
			state: journal.Ended},
		"rolled back instead": {end: sluice.RolledBack, want: sluice.Succeeded, code: sluice.ExitRolledBack,
			shows: "rolled back: prod/web (slc-1, 0s): the cause\n", state: journal.Ended},
		"rolled back on request": {end: sluice.RolledBack, want: sluice.RolledBack,
			shows: "rolled back: prod/web (slc-1, 0s): the cause\n", state: journal.Ended},
		"handed over to ECS": {waitingFor: engine.HandedToECS, want: sluice.Succeeded,
			shows: "next: run sluice resume slc-1 to follow it, or sluice wait --cluster prod --service web\n"},
		"interrupted": {err: session.ErrInterrupted, want: sluice.Succeeded, code: sluice.ExitStopped,
			shows: "paused: prod/web, deployment slc-1\nnext: run sluice resume slc-1 to continue", state: journal.Paused},
		"no access": {err: &sluice.Error{Op: "poll", Kind: sluice.Denied, Err: errors.New("no")},
			want: sluice.Succeeded, code: sluice.ExitDenied, shows: "next: run sluice resume slc-1 to continue"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newApproval(t)
			if c.end != "" {
				cause := ""
				if c.end != sluice.Succeeded {
					cause = "the cause"
				}
				failOn(t, a.journal.EndDeployment(t.Context(), "slc-1", c.end, cause, ""))
			}
			d, err := a.journal.Deployment(t.Context(), "slc-1")
			failOn(t, err)
			before := d.State
			r := &deploymentRun{program: a.program, engine: &engine.Engine{Journal: a.journal}, want: c.want}
			err = r.conclude(t.Context(), engine.RunResult{Deployment: d, WaitingFor: c.waitingFor}, c.err)
			var code session.ExitStatus
			if err != nil && !errors.As(err, &code) || int(code) != c.code {
				t.Errorf("%v, want exit code %d", err, c.code)
			}
			if !strings.Contains(a.out.String(), c.shows) {
				t.Errorf("shows\n%s\nwant\n%s", a.out.String(), c.shows)
			}
			d, err = a.journal.Deployment(t.Context(), "slc-1")
			failOn(t, err)
			if c.state == "" {
				c.state = before
			}
			if d.State != c.state {
				t.Errorf("the journal has state %s, want %s", d.State, c.state)
			}
		})
	}
}
