package deploy

import (
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// program is one run of a command of this package.
type program struct {
	*session.Session
	// onEnd takes how each run ended, for one of several applications. Nil: it is printed.
	onEnd func(runEnd)
}

// Commands returns the commands that change a service, in the order of sluice --help.
func Commands(s *session.Session) []*cobra.Command {
	p := &program{Session: s}
	return []*cobra.Command{newPlanCommand(p), newDiffCommand(p), newDeployCommand(p), newCreateCommand(p),
		newScaleCommand(p), newRefreshCommand(p), newRunCommand(p), newResumeCommand(p),
		newRollbackCommand(p), newAbortCommand(p), newApproveCommand(p), newDeleteCommand(p)}
}
