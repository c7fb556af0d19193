package deploy

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/survey"
)

func newRunCommand(p *program) *cobra.Command {
	var at session.ApplicationFlag
	var o runFlags
	var noWait, dry bool
	c := &cobra.Command{
		Use:   "run [DIR | -c FILE] [-- COMMAND…]",
		Short: "Run a task of an application until it stops",
		Long: `Run a task of an application until it stops: a job, a migration, a one-off command.

If the task definition differs from the newest revision, sluice registers it. Then it
starts tasks of exactly that revision, in the network that the files specify. The
application may have a service: it stays as it is. sluice prints the output of the
containers as it arrives, and how each container ended. The exit code is 0 if the
watched container exits with 0. It is 5 if that container exits with another code or
the task never ran.

If a response of ECS is lost, sluice searches for the tasks, so that none is started
twice. After Ctrl-C, the tasks keep running; sluice resume waits for them again.`,
		Example: `  sluice run examples/job
  sluice run examples/job --count 3
  sluice run examples/canary -- ./manage.py migrate
  sluice run . --env web=DRY_RUN=1 --watch-container web
  sluice run . --overrides '{"cpu":"1024","memory":"4096"}'
  sluice run . --output json | jq 'select(.kind == "taskEnded").data'`,
		RunE: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n >= 0 {
				args, o.words = args[:n], args[n:]
			}
			if err := checkRunArguments(c, args, o.words); err != nil {
				return err
			}
			path, _, err := at.Path(c, args)
			if err != nil {
				return err
			}
			return p.runRun(c.Context(), path, o, noWait, dry)
		},
	}
	at.Register(c)
	o.registerRunFlags(p.Session, c.Flags())
	session.RegisterNoWait(c.Flags(), &noWait, "exit after ECS has started the tasks")
	c.Flags().BoolVar(&dry, "dry-run", false, "show the plan and write nothing")
	p.RegisterReports(c)
	return c
}

// checkRunArguments returns an error if there are several arguments before --, such as a command without it.
func checkRunArguments(c *cobra.Command, args, words []string) error {
	next := "give the folder of one application"
	if len(args) > 1 && len(words) == 0 {
		next = "write -- before the command: sluice run " + session.ShellLine(slices.Insert(slices.Clone(args), 1, "--"))
	}
	return session.AtMost(1, next)(c, args)
}

func (p *program) runRun(ctx context.Context, path string, o runFlags, noWait, dry bool) error {
	pre, err := p.prepareRun(ctx, path, o)
	if err != nil {
		return err
	}
	if dry {
		return p.showPlan(ctx, pre.plan, nil, sluice.ExitDone)
	}
	j, err := p.OpenJournalForWrite()
	if err != nil {
		return err
	}
	defer j.Close()
	if err := (&serviceConflicts{program: p, journal: j, pre: pre}).refuseSecondRun(ctx); err != nil {
		return err
	}
	return p.runNewDeployment(ctx, j, pre, engine.Options{NoWait: noWait})
}

// prepareRun reads the files and AWS and plans the run. It makes no changes.
func (p *program) prepareRun(ctx context.Context, path string, o runFlags) (*preparedPlan, error) {
	app, err := p.LoadApplication(path)
	if err != nil {
		return nil, err
	}
	options, err := o.runOptions(p.Session)
	if err != nil {
		return nil, err
	}
	if err := checkSources(o.definitions); err != nil {
		return nil, err
	}
	defer p.ShowCalls()()
	out := &preparedPlan{app: app}
	if out.account, out.clock, err = p.OpenAccountOf(ctx, app); err != nil {
		return nil, err
	}
	if err := o.definitions.ReplaceIn(ctx, out.account, app); err != nil {
		return nil, err
	}
	if err := o.images.Choose(ctx, out.account, app); err != nil {
		return nil, err
	}
	if out.state, err = survey.ReadRunInputs(ctx, out.account, out.clock, app); err != nil {
		return nil, err
	}
	if out.plan, err = mode.MakeRun(app, out.state, options); err == nil && app.Service != nil {
		out.plan.Notes = append(slices.Clone(out.plan.Notes), p.noteOnService(app, out.plan, options))
	}
	return out, err
}

// noteOnService says what a run of the files of a service does. If the task gets no override, a deployment of the service
// may be meant.
func (p *program) noteOnService(app *appfile.Application, pl *plan.Plan, o mode.RunOptions) string {
	note := fmt.Sprintf("these are the files of service %s/%s: a run starts %s of its task definition and leaves the service "+
		"as it is", pl.Cluster,
		session.ServiceOrGroup(app), plan.TaskCountText(pl.Stages[0].Task.Count))
	if len(o.Command) > 0 || o.Given.HasOverrides() || app.Standalone.RunTask.HasOverrides() {
		return note
	}
	return note + ". To deploy the files to the service, " + p.NextStep("run sluice deploy")
}
