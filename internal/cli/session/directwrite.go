package session

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
)

// NewAct returns an Act for a command that writes outside of a deployment. It prints each write with its result.
func (e Env) NewAct(command string) sluice.Act {
	return func(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
		id := sluice.NewActionID(command, "command", a.Action)
		permitted := account.Permit(context.WithoutCancel(ctx), account.Action{ID: id, Writes: []sluice.Write{a.Actual}})
		result, err := call(permitted)
		if err != nil {
			return fmt.Errorf("%s: %w", a.Action, sluice.Inner(err))
		}
		fmt.Fprintf(e.Err, "%s %s: %s\n", a.Actual.Operation, a.Actual.Resource, result)
		return nil
	}
}
