package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
)

// commandLine is what the command line has given, and the time that its command may take.
type commandLine struct {
	// place is the only argument of the command line, or the file of the flag -c, which placeFlag then is. Empty: there is
	// none, or there are several.
	place, placeFlag string
	words, program   []string        // the command with its arguments, without flags; the arguments after --
	running          context.Context // of the command
	endTime          func()          // of a command with --timeout; nil: it has no limit
}

// Begin checks the flags and arguments of a command and keeps what they name. [Session.End] has to be called at the end.
func (s *Session) Begin(c *cobra.Command, args []string) error {
	if err := refuseEmptyValues(c, args); err != nil {
		return err
	}
	if err := refuseOpposites(c); err != nil {
		return err
	}
	if err := s.Flags.takeVariables(c, s.Env.Getenv); err != nil {
		return err
	}
	s.line.setWords(c, args)
	s.line.setPlace(args, c.Flags())
	return s.line.limitTime(c, s.Flags.timeout)
}

// End frees what Begin uses. It returns the error of the command, or one that says that the time was over.
func (s *Session) End(err error) error {
	if s.line.endTime == nil {
		return err
	}
	defer s.line.endTime()
	if err != nil && errors.Is(s.line.running.Err(), context.DeadlineExceeded) {
		return &sluice.Error{Op: "sluice", Err: fmt.Errorf("the command took longer than --timeout %s", s.Flags.timeout),
			Next: "give a longer --timeout, or check the network and the endpoint"}
	}
	return err
}

// context returns the context of the command.
func (l *commandLine) context() context.Context {
	return cmp.Or[context.Context](l.running, context.Background())
}

// boundByDeployment are the commands that run a deployment: its own timeout ends it, so that it can be rolled back.
// The others in the list run until a person ends them.
var boundByDeployment = []string{"deploy", "create", "scale", "refresh", "run", "resume", "rollback", "abort", "approve",
	"wait", "exec", "sim", "demo", "rehearse"}

// limitTime ends a command after --timeout, if it runs no deployment.
func (l *commandLine) limitTime(c *cobra.Command, timeout time.Duration) error {
	l.running = c.Context()
	if flag := c.InheritedFlags().Lookup("timeout"); flag == nil || !flag.Changed {
		return nil // not given, or the command's own flag
	}
	if timeout <= 0 {
		return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("--timeout is %s", timeout),
			Next: "give a time above 0, such as 15m"}
	}
	if !slices.Contains(boundByDeployment, c.Name()) {
		l.running, l.endTime = context.WithTimeout(c.Context(), timeout)
		c.SetContext(l.running)
	}
	return nil
}

// variableFlags are the flags that have an environment variable of ecspresso: ECSPRESSO_TIMEOUT for --timeout. Those of
// fileFlags have one too.
var variableFlags = []string{"timeout", "assume-role-arn", "log-format"}

// takeVariables sets flags that are not given by the environment variables of ecspresso.
func (f *Flags) takeVariables(c *cobra.Command, getenv func(string) string) error {
	if file := getenv("ECSPRESSO_CONFIG"); file != "" {
		if config := c.Flags().Lookup("config"); config != nil {
			config.DefValue = file
		}
	}
	for _, name := range variableFlags {
		variable := "ECSPRESSO_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		value := getenv(variable)
		flag := c.Flags().Lookup(name)
		if value == "" || flag == nil || flag.Changed || name == "assume-role-arn" && f.role != "" {
			continue
		}
		if err := c.Flags().Set(name, value); err != nil {
			return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("%s is %q: %w", variable, value, err),
				Next: "correct the variable, or unset it"}
		}
	}
	return nil
}
