package session

import (
	"context"

	"github.com/spf13/cobra"
)

// DeploymentCommand is a command on a deployment of the journal.
type DeploymentCommand struct {
	Name     string
	OnlyOpen bool // the command is for deployments that have not ended
	// RunSeveral runs the command for several names. Nil: the command takes one.
	RunSeveral func(ctx context.Context, paths []string) error
	App        SeveralFlag
	NoWait     bool
}

// New returns the cobra command.
func (t *DeploymentCommand) New(s *Session, short, long, example string,
	run func(c *cobra.Command, path string, given bool) error) *cobra.Command {
	c := &cobra.Command{Use: t.Name + " [ID | DIR | CLUSTER/SERVICE | -c FILE]", Short: short, Long: long, Example: example,
		Args: AtMost(1),
		RunE: t.App.RunNamed(s, func(c *cobra.Command, n Named) error {
			if n.AreSeveral && t.RunSeveral != nil {
				return t.RunSeveral(c.Context(), n.Paths)
			}
			return run(c, n.Paths[0], n.IsGiven)
		})}
	if t.RunSeveral != nil {
		c.Use, c.Args = t.Name+" [ID… | DIR… | CLUSTER/SERVICE… | -c FILE]", nil
	}
	t.App.Register(c)
	c.ValidArgsFunction = CompleteIDs(s, t.OnlyOpen, t.RunSeveral != nil)
	return c
}

// IDHelp describes how a command finds its deployment.
const IDHelp = `The first characters of an ID
are enough, if no other ID begins so. Without an ID, it is the newest deployment of the
application in the current directory. If there is no application, it is the only
deployment that has not ended.`
