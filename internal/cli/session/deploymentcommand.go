package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
)

// DeploymentCommand is a command on a deployment of the journal.
type DeploymentCommand struct {
	Name     string
	OnlyOpen bool // the command is for deployments that have not ended
	// TakesSeveral allows several names; the command runs for each in turn.
	TakesSeveral bool
	// RunSeveral runs the command for several names, if TakesSeveral is set. Nil: each in turn.
	RunSeveral func(ctx context.Context, paths []string) error
	App        ApplicationFlag
	NoWait     bool
}

// NewDeploymentCommand returns the cobra command of a DeploymentCommand.
func (s *Session) NewDeploymentCommand(t *DeploymentCommand, short, long, example string,
	run func(c *cobra.Command, path string, given bool) error) *cobra.Command {
	c := &cobra.Command{Use: t.Name + " [ID | DIR | CLUSTER/SERVICE | -c FILE]", Short: short, Long: long, Example: example,
		Args: AtMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, given, err := t.App.Path(c, args)
			if err != nil {
				return err
			}
			if len(args) < 2 {
				return run(c, path, given)
			}
			if err := s.RefuseDuplicates(t.Name, args); err != nil {
				return err
			}
			if t.RunSeveral != nil {
				return t.RunSeveral(c.Context(), args)
			}
			return s.ForEachPath(c.Context(), args, func(path string) error { return run(c, path, true) })
		}}
	if t.TakesSeveral {
		c.Use, c.Args = t.Name+" [ID… | DIR… | CLUSTER/SERVICE… | -c FILE]", nil
	}
	t.App.Register(c)
	c.ValidArgsFunction = s.CompleteIDs(t.OnlyOpen, t.TakesSeveral)
	return c
}

// RefuseDuplicates returns an error if an application is named twice, which is a mistake.
func (s *Session) RefuseDuplicates(verb string, paths []string) error {
	seen := map[string]bool{}
	for _, path := range paths {
		abs, err := s.Env.absolutePath(path)
		if err != nil {
			return &sluice.Error{Op: "find the working directory", Err: err}
		}
		if abs = filepath.Clean(abs); seen[abs] {
			return &sluice.Error{Op: "sluice " + verb, Resource: path,
				Err: errors.New("the application is named twice"), Next: "name each application once"}
		}
		seen[abs] = true
	}
	return nil
}

// ForEachPath calls one for each path in turn and returns the worst exit code. It continues after
// a failure and stops after an interrupt.
func (s *Session) ForEachPath(ctx context.Context, paths []string, one func(path string) error) error {
	var codes []int
	for _, path := range paths {
		if ctx.Err() != nil {
			return ExitStatus(sluice.ExitStopped)
		}
		fmt.Fprintf(s.Env.Err, "%s\n", path)
		err := one(path)
		var ended ExitStatus
		switch {
		case errors.As(err, &ended):
			codes = append(codes, int(ended))
		case err != nil:
			s.PrintError(err)
			codes = append(codes, ExitCode(err))
		}
	}
	return ExitWith(sluice.WorstExit(codes...))
}

// IDHelp describes how a command finds its deployment.
const IDHelp = `The first characters of an ID
are enough, if no other ID begins so. Without an ID, it is the newest deployment of the
application in the current directory. If there is no application, it is the only
deployment that has not ended.`
