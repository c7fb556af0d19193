package session

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/secret"
)

// Session is one run of the command line: its environment, the flags of every command, and what
// the command has opened.
type Session struct {
	Env     Env
	Flags   Flags
	Paint   show.Paint // for progress on Err
	Notices Notices
	Secrets *secret.Known // values of lookups that no output shows
	Reports *Reports

	line commandLine

	time     clock.Clock // see OpenClock
	scaled   bool
	accounts *openedAccounts
	terminal *show.Terminal // of one of several applications; nil: see Terminal
}

// New returns a session whose writers make all text printable. It returns an error if there
// are no random numbers.
func New(env Env) (*Session, error) {
	known := secret.NewKnown()
	env, err := env.sanitizeWriters(known)
	if err != nil {
		return nil, err
	}
	s := &Session{Env: env, accounts: newOpenedAccounts(), Secrets: known, Reports: &Reports{}}
	s.Paint = s.PaintFor(env.Err)
	return s, nil
}

// Child returns a session for one of several applications, which writes to t. It shares what this
// session has opened. Call OpenClock first.
func (s *Session) Child(t show.Terminal) *Session {
	env := s.Env
	env.Out, env.Err = t.Out, t.Err
	return &Session{Env: env, Flags: s.Flags, Paint: s.Paint, line: s.line, time: s.time, scaled: s.scaled,
		accounts: s.accounts, Secrets: s.Secrets, terminal: &t, Reports: s.Reports}
}

// PaintFor returns a paint that colors text for a terminal only, and never if NO_COLOR is set.
func (s *Session) PaintFor(w io.Writer) show.Paint {
	return show.NewPaint(s.Env.IsTerminal(w) && s.Env.Getenv("NO_COLOR") == "", s.Env.own, &s.Flags.verbose)
}

// Terminal returns what the command writes to.
func (s *Session) Terminal() show.Terminal {
	if s.terminal != nil {
		return *s.terminal
	}
	t := show.Terminal{Out: s.Env.Out, Err: s.Env.Err, OutPaint: s.PaintFor(s.Env.Out), ErrPaint: s.Paint,
		JSON: s.Flags.Output == JSON, CI: s.Env.ciSystem(), Next: s.NextStep}
	if s.Env.IsTerminal(s.Env.Err) {
		t.Size = func() (int, int) { return s.Env.Size(s.Env.Err) }
	}
	return t
}

// PrintResult prints a result in text output. In JSON output the events contain the result.
func (s *Session) PrintResult(text string) {
	if s.Flags.Output == Text {
		fmt.Fprintln(s.Env.Out, s.Paint.ARNs(text))
	}
}

// TriggerName returns what started the deployment: CI or a terminal user.
func (e Env) TriggerName() string {
	if e.Getenv("CI") != "" || e.isOnGitHub() {
		return engine.TriggerCI
	}
	return engine.TriggerManual
}

// starterName returns who starts deployments: the person whom a CI system names, or user@host.
func (e Env) starterName() string {
	for _, variable := range []string{"GITHUB_ACTOR", "GITLAB_USER_LOGIN"} {
		if name := e.Getenv(variable); name != "" {
			return name
		}
	}
	return e.ActorName("")
}

// ActorName returns the given name, or user@host if it is empty.
func (e Env) ActorName(by string) string {
	if by != "" {
		return by
	}
	return e.User + "@" + e.Host
}

// ExitStatus is an error that ends a command with an exit code and without a message.
type ExitStatus int

func (e ExitStatus) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// ExitWith returns an ExitStatus, or nil for 0.
func ExitWith(n int) error {
	if n == sluice.ExitDone {
		return nil
	}
	return ExitStatus(n)
}

// AtMost returns a check that refuses more than n arguments. instead is what to do then; by default, to read the help.
func AtMost(n int, instead ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		given := fmt.Sprintf("%d were given", len(args))
		count := sluice.Plural(n, "argument")
		if n == 0 {
			count, given = "no arguments", strings.Join(args, " ")+" was given"
		}
		next := "run " + c.CommandPath() + " --help"
		if len(instead) > 0 {
			next = instead[0]
		}
		return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("it takes %s, but %s", count, given),
			Next: next}
	}
}
