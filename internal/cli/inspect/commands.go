package inspect

import (
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// program is one run of a command of this package.
type program struct {
	*session.Session
	requests requestFigures // of a watched status
}

// Commands returns the commands that read, in the order of sluice --help.
func Commands(s *session.Session) []*cobra.Command {
	p := &program{Session: s}
	return []*cobra.Command{p.newStatusCommand(), p.newHistoryCommand(), p.newWaitCommand(), p.newAppspecCommand(),
		p.newVerifyCommand(), p.newGateCommand()}
}
