package session

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
)

// Session is one run of the command line: its environment, the flags of every command, and what
// the command has opened.
type Session struct {
	Env   Env
	Flags Flags
	Paint show.Paint // for progress on Err

	time     clock.Clock // see openClock
	scaled   bool
	accounts map[string]*account.Account // by Region; see openAccount

	// onInterrupt is called at the first Ctrl-C. Nil: no text is printed.
	onInterrupt atomic.Pointer[func()]
}

// New returns a session whose writers make all text printable. It returns an error if there
// are no random numbers.
func New(env Env) (*Session, error) {
	env, err := env.sanitizeWriters()
	if err != nil {
		return nil, err
	}
	p := &Session{Env: env}
	p.Paint = p.PaintFor(env.Err)
	return p, nil
}

// PaintFor returns a paint that colors text for a terminal only, and never if NO_COLOR is set.
func (p *Session) PaintFor(w io.Writer) show.Paint {
	return show.NewPaint(p.Env.IsTerminal(w) && p.Env.Getenv("NO_COLOR") == "", p.Env.own)
}

// Terminal returns what the command writes to.
func (p *Session) Terminal() show.Terminal {
	t := show.Terminal{Out: p.Env.Out, Err: p.Env.Err, OutPaint: p.PaintFor(p.Env.Out), ErrPaint: p.Paint,
		JSON: p.Flags.Output == JSON, Groups: p.isOnGitHub()}
	if p.Env.IsTerminal(p.Env.Err) {
		t.Size = func() (int, int) { return p.Env.Size(p.Env.Err) }
	}
	return t
}

// HandleSignals returns a context that the first signal cancels and a channel that the second
// signal closes.
func (p *Session) HandleSignals(ctx context.Context) (context.Context, <-chan struct{}) {
	return p.Env.handleSignals(ctx, p.noteInterrupt)
}

// noteInterrupt prints the text of setInterruptNote, if there is one.
func (p *Session) noteInterrupt() {
	if f := p.onInterrupt.Load(); f != nil {
		(*f)()
	}
}

// SetInterruptNote sets the text that the first Ctrl-C prints. It returns a function that clears
// the text.
func (p *Session) SetInterruptNote(r show.Renderer, says string) func() {
	f := func() { r.ShowNote(says) }
	p.onInterrupt.Store(&f)
	return func() { p.onInterrupt.Store(nil) }
}

// PrintResult prints a result in text output. In JSON output the events contain the result.
func (p *Session) PrintResult(s string) {
	if p.Flags.Output == Text {
		fmt.Fprintln(p.Env.Out, s)
	}
}

// TriggerName returns what started the deployment: CI or a terminal user.
func (p *Session) TriggerName() string {
	if p.Env.Getenv("CI") != "" || p.isOnGitHub() {
		return engine.TriggerCI
	}
	return engine.TriggerManual
}

// ActorName returns the given name, or user@host if it is empty.
func (p *Session) ActorName(by string) string {
	if by != "" {
		return by
	}
	return p.Env.User + "@" + p.Env.Host
}

// ExitStatus is an error that ends a command with an exit code and without a message.
type ExitStatus int

func (e ExitStatus) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// ExitWith returns an exitStatus, or nil for 0.
func ExitWith(n int) error {
	if n == sluice.ExitDone {
		return nil
	}
	return ExitStatus(n)
}

// AtMost returns a check that refuses more than n arguments.
func AtMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("it takes %s, but %d were given",
			sluice.Plural(n, "argument"), len(args)),
			Next: "run " + c.CommandPath() + " --help"}
	}
}
