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
	env, err := env.sanitizeWriters()
	if err != nil {
		return sluice.ExitUsage // without random numbers no deployment ID can be made either
	}
	p := &program{env: env, paint: newPaint(env, env.Err)}
	ctx, twice := env.handleSignals(context.Background(), p.noteInterrupt)
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
	flags globalFlags
	paint paint // for progress on Err

	time     clock.Clock // see openClock
	scaled   bool
	accounts map[string]*account.Account // by Region; see openAccount

	requests requestFigures // of a watched status

	// onInterrupt is called at the first Ctrl-C. Nil: no text is printed.
	onInterrupt atomic.Pointer[func()]
}

func (p *program) noteInterrupt() {
	if f := p.onInterrupt.Load(); f != nil {
		(*f)()
	}
}

// run runs the command and returns its exit code. It turns a panic into an error message, because a
// stack trace does not help a terminal user.
func (p *program) run(ctx context.Context) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(p.env.Err, "sluice has a defect: %v\nnext: report it with the command and the output of "+
				"sluice version\n", r)
			code = sluice.ExitUsage
		}
	}()
	root := p.newRootCommand()
	root.SetArgs(p.env.Args)
	root.SetIn(p.env.In)
	root.SetOut(p.env.Out)
	root.SetErr(p.env.Err)
	err := root.ExecuteContext(ctx)
	var ended exitStatus
	if errors.As(err, &ended) {
		return int(ended)
	}
	if err != nil {
		p.printError(err)
		return exitCode(err)
	}
	return sluice.ExitDone
}

// exitStatus is an error that ends a command with an exit code and without a message.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// exitWith returns an exitStatus, or nil for 0.
func exitWith(n int) error {
	if n == sluice.ExitDone {
		return nil
	}
	return exitStatus(n)
}

const (
	groupDeploy  = "deploy"
	groupInspect = "look"
	groupLocal   = "local"
)

func (p *program) newRootCommand() *cobra.Command {
	version := false
	cobra.EnableCommandSorting = false // commands are listed in the order in which they are used
	root := &cobra.Command{
		Use:   "sluice",
		Short: "Deploys Amazon ECS services without dropping a request",
		Long: `sluice deploys Amazon ECS services without dropping a request.

It reads an application (app.pipecd.yaml or sluice.yaml with a task and a service
definition), plans every write, and runs the plan: a canary, its share of the
traffic, the new primary, and the rollback if a stage fails.`,
		Example: `  sluice plan examples/canary        show the changes and every write
  sluice deploy examples/canary      run that plan
  sluice status                      show the current state
  sluice rollback                    restore the state before the deployment
  sluice sim --world world.yaml      start a local AWS for tests`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          refuseUnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return p.printVersion()
			}
			return c.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(
		&cobra.Group{ID: groupDeploy, Title: "Deploy:"},
		&cobra.Group{ID: groupInspect, Title: "Inspect:"},
		&cobra.Group{ID: groupLocal, Title: "Try and set up:"},
	)
	for _, v := range p.listCommands() {
		v.cmd.GroupID = v.group
		root.AddCommand(v.cmd)
	}
	root.SetHelpCommandGroupID(groupLocal)
	root.SetCompletionCommandGroupID(groupLocal)
	root.SetUsageFunc(printUsage)
	p.flags.registerGlobalFlags(root.PersistentFlags())
	return root
}

type groupedCommand struct {
	group string
	cmd   *cobra.Command
}

func (p *program) listCommands() []groupedCommand {
	return []groupedCommand{
		{groupDeploy, p.newPlanCommand()},
		{groupDeploy, p.newDeployCommand()},
		{groupDeploy, p.newRunCommand()},
		{groupDeploy, p.newResumeCommand()},
		{groupDeploy, p.newRollbackCommand()},
		{groupDeploy, p.newAbortCommand()},
		{groupDeploy, p.newApproveCommand()},
		{groupInspect, p.newStatusCommand()},
		{groupInspect, p.newHistoryCommand()},
		{groupInspect, p.newWaitCommand()},
		{groupInspect, p.newAppspecCommand()},
		{groupLocal, p.newRehearseCommand()},
		{groupLocal, p.newSimCommand()},
		{groupLocal, p.newDemoCommand()},
		{groupLocal, p.newSchemaCommand()},
		{groupLocal, p.newVersionCommand()},
	}
}

// flagError returns the error for a wrong flag, with the command that lists the flags.
func flagError(c *cobra.Command, err error) error {
	return &sluice.Error{Op: c.CommandPath(), Err: explainFlagError(err), Next: "run " + c.CommandPath() + " --help"}
}

// explainFlagError names the values that a flag takes. The errors of Go's parsers say only that
// parsing failed.
func explainFlagError(err error) error {
	var wrong *pflag.InvalidValueError
	if !errors.As(err, &wrong) {
		return err
	}
	takes := map[string]string{"int": "a whole number", "uint64": "a whole number of 0 or more",
		"float64":  "a number, such as 1 or 2.5",
		"duration": "a duration, such as 90s, 10m or 1h30m", "bool": "true or false"}[wrong.GetFlag().Value.Type()]
	if takes == "" {
		return err
	}
	return fmt.Errorf("--%s is %q, but must be %s", wrong.GetFlag().Name, printable.Clip(wrong.GetValue(), 60), takes)
}

func refuseUnknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2
	next := "run sluice --help to list the commands"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		next = "run sluice " + near[0] + ", or sluice --help to list the commands"
	}
	return &sluice.Error{Op: "sluice", Err: fmt.Errorf("there is no command %q", args[0]), Next: next}
}

// atMost returns a check that refuses more than n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return &sluice.Error{Op: c.CommandPath(), Err: fmt.Errorf("it takes %s, but %d were given",
			sluice.Plural(n, "argument"), len(args)),
			Next: "run " + c.CommandPath() + " --help"}
	}
}
