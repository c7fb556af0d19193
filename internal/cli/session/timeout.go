package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
)

// boundByDeployment are the commands that run a deployment: its own timeout ends it, so that it can be rolled back.
// The others in the list run until a person ends them.
var boundByDeployment = []string{"deploy", "create", "scale", "refresh", "run", "resume", "rollback", "abort", "approve",
	"wait", "exec", "sim", "demo", "rehearse"}

// LimitTime ends a command after --timeout, if it runs no deployment. EndTime has to be called at its end.
func (s *Session) LimitTime(c *cobra.Command) error {
	s.command = c.Context()
	isBound := slices.Contains(boundByDeployment, c.Name())
	if flag := c.InheritedFlags().Lookup("timeout"); flag == nil || !flag.Changed {
		return nil // not given, or the command's own flag
	}
	if s.Flags.timeout <= 0 {
		return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("--timeout is %s", s.Flags.timeout),
			Next: "give a time above 0, such as 15m"}
	}
	if !isBound {
		ctx, cancel := context.WithTimeout(c.Context(), s.Flags.timeout)
		s.limited, s.endTime = ctx, cancel
		c.SetContext(ctx)
		s.command = ctx
	}
	return nil
}

// EndTime frees what LimitTime uses. It returns the error of the command, or one that says that the time was over.
func (s *Session) EndTime(err error) error {
	if s.endTime == nil {
		return err
	}
	defer s.endTime()
	if err != nil && errors.Is(s.limited.Err(), context.DeadlineExceeded) {
		return &sluice.Error{Op: "sluice", Err: fmt.Errorf("the command took longer than --timeout %s", s.Flags.timeout),
			Next: "give a longer --timeout, or check the network and the endpoint"}
	}
	return err
}
