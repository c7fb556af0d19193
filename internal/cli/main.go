package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/printable"
)

// Main runs the command line once and returns its exit code.
func Main(env Env) int {
	env, err := env.printed()
	if err != nil {
		return sluice.ExitUsage // without random numbers no deployment ID can be made either
	}
	p := &program{env: env, paint: painter(env, env.Err)}
	ctx, twice := env.interrupts(context.Background(), p.interrupted)
	done := make(chan int, 1)
	go func() { done <- p.run(ctx) }()
	select {
	case code := <-done:
		return code
	case <-twice:
		return sluice.ExitStopped
	}
}

// program is one run of the command line.
type program struct {
	env   Env
	flags flags
	paint paint // for progress on Err

	time   clock.Clock // see openClock
	scaled bool
	opened map[string]*account.Account // by Region; see openAccount

	// onInterrupt is called at the first Ctrl-C. Nil: no text is printed.
	onInterrupt atomic.Pointer[func()]
}

func (p *program) interrupted() {
	if f := p.onInterrupt.Load(); f != nil {
		(*f)()
	}
}

// run runs the command and returns its exit code. It turns a panic into an error message, because a
// stack trace does not help a terminal user.
func (p *program) run(ctx context.Context) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(p.env.Err, "sluice has a defect: %v\nnext: report it with the command and the output of sluice version\n", r)
			code = sluice.ExitUsage
		}
	}()
	root := p.root()
	root.SetArgs(p.env.Args)
	root.SetIn(p.env.In)
	root.SetOut(p.env.Out)
	root.SetErr(p.env.Err)
	err := root.ExecuteContext(ctx)
	var ended exit
	if errors.As(err, &ended) {
		return int(ended)
	}
	if err != nil {
		p.tell(err)
		return exitCode(err)
	}
	return sluice.ExitDone
}

// exitStatus is an error that ends a command with an exit code and without a message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitWith returns an exitStatus, or nil for 0.
func code(n int) error {
	if n == sluice.ExitDone {
		return nil
	}
	return exit(n)
}

const (
	groupDeploy = "deploy"
	groupLook   = "look"
	groupLocal  = "local"
)

func (p *program) root() *cobra.Command {
	version := false
	cobra.EnableCommandSorting = false // commands are listed in the order in which they are used
	root := &cobra.Command{
		Use:   "sluice",
		Short: "Deploys Amazon ECS services without dropping a request",
		Long: `sluice deploys Amazon ECS services without dropping a request.

It reads an application (app.pipecd.yaml or sluice.yaml with a task and a service
definition), plans every write, and carries the plan out: a canary, its share of
the traffic, the new primary, and the way back if something fails.`,
		Example: `  sluice plan examples/canary        what would change, and every write
  sluice deploy examples/canary      do it
  sluice status                      what stands now
  sluice rollback                    back to what was
  sluice sim --world world.yaml      a local AWS to try it on`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noVerb,
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return p.tellVersion()
			}
			return c.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(misused)
	root.AddGroup(
		&cobra.Group{ID: groupDeploy, Title: "Deploy:"},
		&cobra.Group{ID: groupLook, Title: "Look:"},
		&cobra.Group{ID: groupLocal, Title: "Try and set up:"},
	)
	for _, v := range p.verbs() {
		v.cmd.GroupID = v.group
		root.AddCommand(v.cmd)
	}
	root.SetHelpCommandGroupID(groupLocal)
	root.SetCompletionCommandGroupID(groupLocal)
	root.SetUsageFunc(usage)
	p.flags.register(root.PersistentFlags())
	return root
}

type verb struct {
	group string
	cmd   *cobra.Command
}

func (p *program) verbs() []verb {
	return []verb{
		{groupDeploy, p.plan()},
		{groupDeploy, p.deploy()},
		{groupDeploy, p.runVerb()},
		{groupDeploy, p.resume()},
		{groupDeploy, p.rollback()},
		{groupDeploy, p.abort()},
		{groupDeploy, p.approve()},
		{groupLook, p.status()},
		{groupLook, p.history()},
		{groupLook, p.wait()},
		{groupLook, p.appspec()},
		{groupLocal, p.rehearse()},
		{groupLocal, p.sim()},
		{groupLocal, p.demo()},
		{groupLocal, p.schema()},
		{groupLocal, p.version()},
	}
}

// flagError returns the error for a wrong flag, with the command that lists the flags.
func misused(c *cobra.Command, err error) error {
	return &sluice.Error{Op: c.CommandPath(), Err: plainly(err), Next: c.CommandPath() + " --help"}
}

// explainFlagError names the values that a flag takes. The errors of Go's parsers say only that
// parsing failed.
func plainly(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	takes := map[string]string{"int": "a whole number", "uint64": "a whole number of 0 or more", "float64": "a number, such as 1 or 2.5",
		"duration": "a duration, such as 90s, 10m or 1h30m", "bool": "true or false"}[wrong.GetFlag().Value.Type()]
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s is %q, and it takes %s", wrong.GetFlag().Name, printable.Clip(wrong.GetValue(), 60), takes)
}

func noVerb(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	next := "sluice --help lists the verbs"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		next = "did you mean: sluice " + near[0]
	}
	return &sluice.Error{Op: "sluice", Err: fmt.Errorf("there is no verb %q", args[0]), Next: next}
}

// atMost returns a check that refuses more than n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("it takes %s, and there are %d", sluice.Plural(n, "argument"), len(args)),
			Next: c.CommandPath() + " --help"}
	}
}
