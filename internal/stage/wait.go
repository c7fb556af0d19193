package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// runWait runs ANALYSIS and WAIT for a host whose stages do not wait by themselves. ANALYSIS ends as soon as its
// gates are good, WAIT when its time is over. The engine waits with the same monitor.
func runWait(ctx context.Context, s *step.Step) error {
	monitor := openMonitor(s)
	end := s.Host.Began().Add(s.Stage.Duration)
	for {
		next, trouble, err := monitor.Poll(ctx)
		if err != nil {
			return err
		}
		switch status := monitor.GateStatus(); {
		case trouble != "":
		case status.AllGood && s.Stage.JudgesGates():
			return nil
		case status.AtEnd && status.Undecided == "":
			return nil
		case status.AtEnd && s.Ask == nil:
			return errUndecided(s, status.Undecided)
		case status.AtEnd && s.Ask(fmt.Sprintf("gate %s has no verdict after %s", status.Undecided, s.Stage.Duration)):
			return nil
		}
		if left := end.Sub(s.Clock.Now()); left > 0 {
			next = min(next, left)
		}
		if err := s.PauseFor(ctx, max(next, time.Millisecond)); err != nil {
			return err
		}
	}
}

// errUndecided is the error of a stage whose gates a person must decide, in a host that cannot ask.
func errUndecided(s *step.Step, gates string) error {
	return &sluice.Error{Op: s.Stage.Name, Resource: s.Client.Resource(), Kind: sluice.Stall,
		Err:  fmt.Errorf("gate %s has no verdict after %s", gates, s.Stage.Duration),
		Next: "set onUndecided to pass or fail, or give the gate more time or a larger share of the requests"}
}
