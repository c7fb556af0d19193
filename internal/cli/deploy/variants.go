package deploy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/survey"
)

// deployVariant is a command that is sluice deploy with some flags already given.
type deployVariant struct {
	at        session.ApplicationFlag
	plan      planFlags
	conflicts conflictFlags
	noWait    bool
	dry       bool
}

// complete adds what the variants have in common to the command. check completes the flags.
func (v *deployVariant) complete(p *program, c *cobra.Command, check func() error) *cobra.Command {
	c.Use += " [DIR | -c FILE]"
	c.Args = session.AtMost(1, "give the folder of one application")
	c.RunE = v.at.Run(func(c *cobra.Command, path string) error {
		if err := check(); err != nil {
			return err
		}
		how := deployOptions{plan: v.plan, run: engine.Options{NoWait: v.noWait}, conflicts: v.conflicts}
		if v.dry {
			how.plan.Adopt = how.conflicts.adopt
			return p.planNamed(c.Context(), c.Name(), session.Named{Paths: []string{path}}, how.plan, planOutput{})
		}
		return p.runDeploy(c.Context(), path, how)
	})
	v.at.Register(c)
	v.conflicts.registerAll(c)
	v.conflicts.operation = c.Name() + " the service"
	v.plan.registerOverrides(c.Flags())
	session.RegisterNoWait(c.Flags(), &v.noWait, noWaitHelp)
	session.RegisterWaitUntil(c, nil)
	c.Flags().BoolVar(&v.dry, "dry-run", false, "show the plan and write nothing")
	p.RegisterReports(c)
	return c
}

func newScaleCommand(p *program) *cobra.Command {
	v := &deployVariant{}
	v.plan.definitions = survey.LiveDefinitions{ServingTask: true, Service: true}
	v.plan.QuickSync, v.plan.Operates, v.plan.operates = true, true, true
	c := v.complete(p, &cobra.Command{
		Use:   "scale",
		Short: "Change the desired count of a service",
		Long: `Change the desired count of a service, or the settings of its auto scaling. The
task definition and all other attributes of the service stay as they are, whatever the
files say, and so do a canary and the weights of listener rules. It waits until the
tasks run. It is the same as sluice deploy --quick-sync --skip-task-definition
--no-update-service --tasks N, without the steps of before and after.`,
		Example: `  sluice scale examples/rolling --tasks 4
  sluice scale --auto-scaling-min 2 --auto-scaling-max 8`,
	}, func() error {
		if v.plan.Tasks == nil && !v.plan.Scaling.IsRequested() {
			return &sluice.Error{Op: "sluice scale", Err: errors.New("nothing to change is given"),
				Next: "give --tasks N"}
		}
		return nil
	})
	c.Flags().Var(countFlag(&v.plan.Tasks), "tasks", "desired count")
	registerScalingFlags(c, &v.plan.Scaling)
	atMost := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if v.plan.Tasks == nil && !v.plan.Scaling.IsRequested() {
			return cmp.Or(refuseBareCount(args), atMost(c, args))
		}
		return atMost(c, args)
	}
	return c
}

// refuseBareCount returns an error if a count of tasks is an argument in place of --tasks.
func refuseBareCount(args []string) error {
	for i, arg := range args {
		if _, err := strconv.ParseUint(arg, 10, 31); err == nil {
			words := slices.Concat([]string{"sluice", "scale"}, args[:i], args[i+1:], []string{"--tasks", arg})
			return &sluice.Error{Op: "sluice scale", Err: errors.New("the count is given without its flag: " + arg),
				Next: "run " + session.ShellLine(words)}
		}
	}
	return nil
}

func newRefreshCommand(p *program) *cobra.Command {
	v := &deployVariant{}
	v.plan.definitions = survey.LiveDefinitions{ServingTask: true, Service: true}
	v.plan.refreshes, v.plan.QuickSync, v.plan.Operates, v.plan.operates = true, true, true, true
	return v.complete(p, &cobra.Command{
		Use:   "refresh",
		Short: "Replace all tasks by new ones of the same revision",
		Long: `Replace all tasks of a service by new ones of the same revision, for example to pull
an image or a secret again. The files change nothing, and a canary and the weights of
listener rules stay as they are. For a service that ECS or CodeDeploy deploys, it is the
same as sluice deploy --quick-sync --skip-task-definition --no-update-service
--force-new-deployment, without the steps of before and after. A service of task sets
gets a new one.`,
		Example: `  sluice refresh examples/rolling
  sluice refresh --no-wait`,
	}, func() error { return nil })
}

func newCreateCommand(p *program) *cobra.Command {
	v := &deployVariant{}
	v.plan.creates = true
	c := v.complete(p, &cobra.Command{
		Use:   "create",
		Short: "Create a service that does not exist",
		Long: `Create a service as its files describe it, with a desired count of 0 unless --tasks
gives another one. If the service exists, it is an error and nothing is written.
sluice deploy also creates a service, with the desired count of the file.`,
		Example: `  sluice create examples/rolling
  sluice create examples/rolling --tasks 2`,
	}, func() error { return nil })
	c.Flags().Var(countFlag(&v.plan.Tasks), "tasks", "desired count (default 0)")
	v.plan.images = session.RegisterImages(c.Flags())
	return c
}

func newDiffCommand(p *program) *cobra.Command {
	var at session.SeveralFlag
	var o planFlags
	c := &cobra.Command{
		Use:   "diff [DIR… | -c FILE]",
		Short: "Show the differences between the files and AWS",
		Long: `Show the differences between the files and AWS: of the task definition that serves, and
of the service. Values that AWS fills in are no difference. The exit code is 2 if there
are differences, and 0 if there are none. sluice plan also shows the stages and every
write.

` + session.SeveralHelp,
		Example: `  sluice diff examples/canary
  sluice diff web api worker
  sluice diff --output json | jq .changes`,
		RunE: at.RunNamed(p.Session, func(c *cobra.Command, n session.Named) error {
			o.images.ForSeveral(len(n.Paths))
			return n.Run(c.Context(), p.Session, c.Name(),
				func(ctx context.Context, s *session.Session, path string, _ bool) (string, error) {
					return (&program{Session: s}).runDiff(ctx, path, o)
				})
		}),
	}
	at.Register(c)
	registerTaskSource(c.Flags(), &o.definitions)
	o.images = session.RegisterImages(c.Flags())
	c.Flags().BoolVar(&o.definitions.Service, "without-service", false, "compare only the task definition")
	return c
}

// runDiff prints the differences. It does not ask whether the running revision works, as a plan does.
func (p *program) runDiff(ctx context.Context, path string, o planFlags) (result string, err error) {
	o.compares = true
	pre, err := p.preparePlan(ctx, path, o)
	if err != nil {
		return "", err
	}
	if p.Flags.Output == session.JSON {
		err = show.PlanJSON(p.Env.Out, pre.plan, nil)
	} else {
		err = show.Differences(p.Env.Out, p.PaintFor(p.Env.Out), pre.plan)
	}
	if err == nil && pre.plan.HasChanges() {
		err = session.ExitStatus(sluice.ExitChanges)
	}
	return changesText(pre.plan), err
}
