package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/definitions"
	"github.com/sluice-ecs/sluice/internal/cli/deploy"
	"github.com/sluice-ecs/sluice/internal/cli/hooks"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
	"github.com/sluice-ecs/sluice/internal/cli/local"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/tasks"
)

// Main runs the command line once and returns its exit code.
func Main(env session.Env) int {
	s, err := session.New(env)
	if err != nil {
		return sluice.ExitUsage // without random numbers no deployment ID can be made either
	}
	p := &program{s}
	ctx, twice := env.HandleSignals(context.Background(), s.Notices.NoteInterrupt)
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
	*session.Session
}

// run runs the command and returns its exit code. It turns a panic into an error message, because a
// stack trace does not help a terminal user.
func (p *program) run(ctx context.Context) (code int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(p.Env.Err, "sluice has a defect: %v\nnext: report it with the command and the output of "+
				"sluice version\n", r)
			code = sluice.ExitUsage
		}
	}()
	root := p.newRootCommand()
	root.SetArgs(p.Env.Args)
	root.SetIn(p.Env.In)
	root.SetOut(p.Env.Out)
	root.SetErr(p.Env.Err)
	err := p.End(root.ExecuteContext(ctx))
	var ended session.ExitStatus
	if errors.As(err, &ended) {
		return int(ended)
	}
	if err != nil {
		p.PrintError(err)
		return session.ExitCode(err)
	}
	return sluice.ExitDone
}

const (
	groupDeploy      = "deploy"
	groupInspect     = "look"
	groupDefinitions = "definitions"
	groupLocal       = "local"
)

// Commands are listed in the order in which they are used. The setting is global in cobra: it is
// written once, because several commands run at the same time in one process of tests.
func init() { cobra.EnableCommandSorting = false }

func (p *program) newRootCommand() *cobra.Command {
	version := false
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
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              refuseUnknownCommand,
		PersistentPreRunE: p.Begin,
		RunE: func(c *cobra.Command, _ []string) error {
			if version {
				return p.printVersion()
			}
			return c.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(p.flagError)
	root.AddGroup(
		&cobra.Group{ID: groupDeploy, Title: "Deploy:"},
		&cobra.Group{ID: groupInspect, Title: "Inspect:"},
		&cobra.Group{ID: groupDefinitions, Title: "Task definitions:"},
		&cobra.Group{ID: groupLocal, Title: "Try and set up:"},
	)
	p.addCommands(root)
	root.SetHelpCommandGroupID(groupLocal)
	root.SetCompletionCommandGroupID(groupLocal)
	p.Flags.Register(root.PersistentFlags())
	registerHelp(root)
	return root
}

// addCommands adds every command, in the order of sluice --help.
func (p *program) addCommands(root *cobra.Command) {
	add := func(group string, all ...*cobra.Command) {
		for _, c := range all {
			c.GroupID = group
		}
		root.AddCommand(all...)
	}
	add(groupDeploy, deploy.Commands(p.Session)...)
	add(groupDeploy, hooks.Commands(p.Session)...)
	add(groupInspect, inspect.Commands(p.Session)...)
	add(groupInspect, tasks.Commands(p.Session)...)
	add(groupDefinitions, definitions.Commands(p.Session)...)
	add(groupLocal, local.Commands(p.Session)...)
	add(groupLocal, p.newSchemaCommand(), p.newManCommand(), p.newVersionCommand())
}

// flagError returns the error for a wrong flag, with what to use instead or the command that lists the flags.
func (p *program) flagError(c *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if !c.HasParent() { // the flags of a command that does not exist
		for _, word := range p.Env.Args {
			if otherCommands[word] != "" {
				return refuseUnknownCommand(c, []string{word})
			}
		}
	}
	next := "run " + c.CommandPath() + " --help"
	if advice := adviseOnFlag(c, p.Env.Args, err); advice != "" {
		next = advice
	}
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		return explainWrongValue(c, wrong, next)
	}
	return &sluice.Error{Op: c.CommandPath(), Err: err, Next: next}
}

// explainWrongValue returns the error for a value that a flag does not take, with those that it takes. The errors of Go's
// parsers say only that parsing failed.
func explainWrongValue(c *cobra.Command, wrong *pflag.InvalidValueError, next string) error {
	var choice session.ChoiceError
	flag, value := wrong.GetFlag().Name, wrong.GetValue()
	if errors.As(wrong, &choice) {
		choice.Value = value
		return choice.OfFlag(c.CommandPath(), flag)
	}
	kind := wrong.GetFlag().Value.Type()
	if kind == "duration" {
		return session.WrongValue(c.CommandPath(), flag, value, durationForm, durationAdvice(flag, value))
	}
	takes := map[string]string{"int": "a whole number", "uint64": "a whole number of 0 or more",
		"float64": "a number, such as 1 or 2.5", "bool": "true or false"}[kind]
	if takes == "" {
		return &sluice.Error{Op: c.CommandPath(), Err: wrong, Next: next}
	}
	return session.WrongValue(c.CommandPath(), flag, value, takes, next)
}

func refuseUnknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if next := otherCommands[args[0]]; next != "" {
		return &sluice.Error{Op: "sluice", Err: fmt.Errorf("there is no command %q", args[0]), Next: next}
	}
	c.SuggestionsMinimumDistance = 2
	next := "run sluice --help to list the commands"
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		next = "run sluice " + near[0] + ", or sluice --help to list the commands"
	}
	return &sluice.Error{Op: "sluice", Err: fmt.Errorf("there is no command %q", args[0]), Next: next}
}
