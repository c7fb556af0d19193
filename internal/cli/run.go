package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

func (p *program) newRunCommand() *cobra.Command {
	var at appFlag
	var o runFlags
	var noWait, dry bool
	c := &cobra.Command{
		Use:   "run [DIR | -c FILE] [-- COMMAND…]",
		Short: "Run an application's task to its end",
		Long: `Run an application's task to its end: a job, a migration, a look around.

The task definition is registered if it differs from the newest revision, and tasks
of exactly that revision are started, of an application without a service or beside
one, in the network that the files say. What the containers print is shown as it
comes, and how each ended; what the watched container exits with decides: 0, or 5
if that is another code or the task never ran.

An answer of ECS that is lost is looked for: nothing is started twice. Ctrl-C leaves
the tasks to ECS; sluice resume waits for them again.`,
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
			if err := atMost(1)(c, args); err != nil {
				return err
			}
			path, _, err := at.applicationPath(c, args)
			if err != nil {
				return err
			}
			return p.runRun(c.Context(), path, o, noWait, dry)
		},
	}
	at.registerConfigFlag(c)
	o.registerRunFlags(c.Flags())
	c.Flags().BoolVar(&noWait, "no-wait", false, "return once ECS has started the tasks")
	c.Flags().BoolVar(&dry, "dry-run", false, "show the plan and write nothing")
	return c
}

func (p *program) runRun(ctx context.Context, path string, o runFlags, noWait, dry bool) error {
	pre, err := p.prepareRun(ctx, path, o)
	if err != nil {
		return err
	}
	if dry {
		return p.showPlan(ctx, pre.plan, nil)
	}
	j, err := p.openJournalForWrite()
	if err != nil {
		return err
	}
	defer j.Close()
	if err := p.refuseSecondRun(ctx, j, pre); err != nil {
		return err
	}
	return p.runNewDeployment(ctx, j, pre, engine.Options{NoWait: noWait})
}

// refuseSecondRun returns an error if this journal has a run of the same tasks that has not ended. It
// prevents a second start of a migration after the terminal of the first run was closed.
func (p *program) refuseSecondRun(ctx context.Context, j *journal.Journal, pre *preparedPlan) error {
	open, err := listOpenDeployments(ctx, j, pre.plan)
	if err != nil || len(open) == 0 {
		return err
	}
	id := open[0].ID
	return &sluice.Error{Op: "start a run", Resource: pre.serviceName(), Kind: sluice.Overtaken,
		Err: fmt.Errorf("deployment %s of it is %s", id, open[0].State),
		Next: "end it first: sluice resume " + id + " waits for its end, sluice abort " + id +
			" leaves its tasks to ECS"}
}

// prepareRun reads the files and AWS and plans the run. It makes no changes.
func (p *program) prepareRun(ctx context.Context, path string, o runFlags) (*preparedPlan, error) {
	app, err := p.loadApplication(path)
	if err != nil {
		return nil, err
	}
	options, err := o.runOptions(p)
	if err != nil {
		return nil, err
	}
	out := &preparedPlan{app: app}
	if out.account, out.clock, err = p.openAccount(ctx, app.Region); err != nil {
		return nil, err
	}
	if out.state, err = stage.SurveyRun(ctx, out.account, out.clock, app); err != nil {
		return nil, err
	}
	out.plan, err = plan.MakeRun(app, out.state, options)
	return out, err
}

// serviceOrGroup returns the name under which the journal has the deployments of an application. It
// is that of the service, or of the task group if there is no service.
func serviceOrGroup(app *appfile.Application) string {
	if app.Service != nil {
		return *app.Service.Input.ServiceName
	}
	return plan.TaskGroup(app)
}

// isTaskRun reports whether the name is that of a task group and not of a service.
func isTaskRun(service string) bool { return strings.HasPrefix(service, plan.GroupPrefix) }

// taskRunText describes the tasks that a stage runs.
func taskRunText(p *plan.Plan, t *plan.Task) string {
	of := p.To
	if t.HasOwnDefinition() {
		of = t.To
	}
	if !strings.Contains(of, ":") {
		of += " (a new revision)"
	}
	text := "run " + sluice.Plural(t.Count, "task") + " of " + of + " to the end"
	if t.Step != "" {
		text = t.Step + ": " + text
	}
	if t.Rollback {
		text += "; its failure rolls back"
	}
	return text
}

// endedTasksText describes how the tasks of a run ended. It is part of the last line.
func endedTasksText(events []sluice.Envelope) string {
	revision, words := "", map[string]int{}
	var order []string
	for _, e := range events {
		ended, ok := e.Open().(sluice.TaskEnded)
		if !ok {
			continue
		}
		revision = ended.Revision
		for _, c := range ended.Containers {
			if words[c.String()] == 0 {
				order = append(order, c.String())
			}
			words[c.String()]++
		}
	}
	for i, w := range order {
		if n := words[w]; n > 1 {
			order[i] = fmt.Sprintf("%s (%d times)", w, n)
		}
	}
	if revision == "" {
		return ""
	}
	return " ran " + revision + ", " + strings.Join(order, ", ")
}
