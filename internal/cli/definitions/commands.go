package definitions

import (
	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice/internal/cli/session"
)

// program is one run of a command of this package.
type program struct{ *session.Session }

// Commands returns the commands of this package, in the order of sluice --help.
func Commands(s *session.Session) []*cobra.Command {
	p := &program{s}
	return []*cobra.Command{p.newRenderCommand(), p.newRevisionsCommand(), p.newRegisterCommand(),
		p.newDeregisterCommand()}
}
