package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
)

const deployHelp = `Deploy services as described in their files.

It makes a plan and runs it. It starts capacity before it moves traffic, reads the
weights back, and waits until connections have drained before it deletes tasks. If a
stage fails, it restores the state before the deployment.

If the deployment controller is ECS, sluice calls UpdateService once and follows that
deployment to its end. If no circuit breaker of ECS rolls back a failure, sluice does.
If the controller is CODE_DEPLOY, sluice creates one deployment in the deployment
group and follows it, or its rollback, to the end.

Several applications are read and planned first. If one of them cannot be deployed,
sluice reports all problems and writes nothing. Then they are deployed concurrently, at
most N at once with --most N. Each has its own outcome, and a failure of one does not
stop the others. With --one-by-one, each begins after the one before it has succeeded;
after a failure the others are not started, except with --keep-going. A table at the
end lists all of them. The exit code is the worst of theirs. ` + session.PatternHelp + `

Ctrl-C pauses at a safe point, and sluice resume continues. A second Ctrl-C exits
immediately, and sluice resume continues then too. If the terminal closes, the
deployment also pauses, except under nohup. If a pipe of the output closes, the
deployment continues.

Auto scaling that sluice suspends for the deployment is restored exactly as it was
when the process stops running the deployment: at its end, with any outcome, and at
Ctrl-C. sluice resume suspends it again.`

const deployExamples = `  sluice deploy examples/canary
  sluice deploy web api worker         concurrently; the worst exit code
  sluice deploy --one-by-one web api   api after web has succeeded
  sluice deploy --dry-run              the plan; nothing is written
  sluice deploy --no-wait              exit at the next approval
  sluice deploy --force-new-deployment new tasks of the same revision
  sluice deploy --take-over            end the running deployment, then deploy
  sluice deploy --adopt                clean up after a lost journal, then deploy
  sluice deploy --output json | jq .   every event, as JSON Lines`

func newDeployCommand(p *program) *cobra.Command {
	var at session.SeveralFlag
	var o planFlags
	var l conflictFlags
	var s severalFlags
	var noWait, force, dry bool
	var until string
	c := &cobra.Command{
		Use:   "deploy [DIR… | -c FILE]",
		Short: "Deploy services as described in their files",
		Long:  deployHelp, Example: deployExamples,
		RunE: at.RunNamed(p.Session, func(c *cobra.Command, n session.Named) error {
			if o.Scaling.KeepSuspended && !noWait {
				return errors.New(
					"--leave-suspended needs --no-wait: without --no-wait, auto scaling is restored at the end")
			}
			how := deployOptions{plan: o, run: engine.Options{NoWait: noWait, Until: until},
				conflicts: l, force: force}
			if err := s.check(c); err != nil {
				return err
			}
			o.images.ForSeveral(len(n.Paths))
			switch {
			case dry:
				how.plan.Adopt = l.adopt
				return p.planNamed(c.Context(), c.Name(), n, how.plan, planOutput{})
			case n.AreSeveral:
				return deploySeveral(c.Context(), p, n.Paths, how, s)
			}
			return p.runDeploy(c.Context(), n.Paths[0], how)
		}),
	}
	at.Register(c)
	registerPlanFlags(c, &o)
	l.registerAll(c)
	s.register(c)
	c.Flags().Var(session.EventsFlag(&o.RollbackEvents), "rollback-events",
		"events after which CodeDeploy rolls back: `EVENT,…` of DEPLOYMENT_FAILURE, DEPLOYMENT_STOP_ON_ALARM, "+
			"DEPLOYMENT_STOP_ON_REQUEST (default: those of the deployment group)")
	session.RegisterNoWait(c.Flags(), &noWait, noWaitHelp)
	session.RegisterWaitUntil(c, &until)
	c.Flags().BoolVar(&o.Scaling.KeepSuspended, "leave-suspended", false,
		"with --no-wait, auto scaling may stay suspended until sluice resume")
	c.Flags().BoolVar(&force, "force", false, "run the stages even if nothing changes")
	c.Flags().BoolVar(&dry, "dry-run", false, "show the plan and write nothing, as sluice plan")
	p.RegisterReports(c)
	return c
}

const noWaitHelp = "exit at the next approval (8), else at a WAIT without gates, or once ECS or CodeDeploy deploys"

// deployOptions are the flags of sluice deploy for each application.
type deployOptions struct {
	plan      planFlags
	run       engine.Options
	conflicts conflictFlags
	force     bool // run the stages even if nothing changes
}

func (p *program) runDeploy(ctx context.Context, path string, o deployOptions) error {
	pre, err := p.preparePlan(ctx, path, o.plan)
	if err != nil {
		return err
	}
	j, err := p.OpenJournalForWrite()
	if err != nil {
		return err
	}
	defer j.Close()
	return p.deployPrepared(ctx, j, pre, o)
}

// deployPrepared deploys what was planned. It first ends or refuses other deployments of the service.
func (p *program) deployPrepared(ctx context.Context, j *journal.Journal, pre *preparedPlan, o deployOptions) error {
	how, force := o.run, o.force
	if err := (&serviceConflicts{p, j, pre, o.conflicts}).freeService(ctx); err != nil {
		return err
	}
	if !force {
		if err := p.removeLeftoversFirst(ctx, j, pre); err != nil {
			return err
		}
		if err := pre.judgeCurrent(ctx); err != nil {
			return err
		}
	}
	if !pre.plan.HasChanges() && !force {
		return p.finishUnchanged(ctx, pre, how.NoWait)
	}
	if err := refuseUntil(pre, how); err != nil {
		return err
	}
	if err := refuseSuspendedScaling(pre.plan, how.NoWait || how.Until != ""); err != nil {
		return err
	}
	if s := pre.plan.Scaling; how.NoWait && s != nil && s.Suspend {
		pre.plan.Warnings = append(pre.plan.Warnings, "with --no-wait, auto scaling stays suspended after this command: "+
			"sluice resume restores it at the end of the deployment")
	}
	if how.NoWait && pre.plan.NeedsBreaker() && !ecsRollsBack(pre) && !waitsFirst(pre.plan) {
		pre.plan.Warnings = append(pre.plan.Warnings,
			"the service has no circuit breaker that rolls back, and with --no-wait sluice does not monitor "+
				"the deployment: a failed deployment is not rolled back")
	}
	if how.NoWait {
		warnNoRollback(pre.plan)
	}
	pre.warnShortLimitsAtStart(ctx)
	return p.runNewDeployment(ctx, j, pre, how)
}

// waitsFirst reports whether the process of a deployment with --no-wait ends before the stage that deploys: sluice resume
// then monitors that stage.
func waitsFirst(p *plan.Plan) bool {
	return slices.ContainsFunc(p.Stages[:p.LastDeployingStage().Index], func(s plan.Stage) bool {
		return p.EndsNoWait(s.Index)
	})
}

// removeLeftoversFirst removes the leftovers of a lost deployment in a deployment of its own, if
// the files change nothing else. The running revision is judged after that.
func (p *program) removeLeftoversFirst(ctx context.Context, j *journal.Journal, pre *preparedPlan) error {
	if !pre.plan.Adopts() || pre.plan.Deploys() {
		return nil
	}
	pre.options.Only = true
	if err := pre.planAgain(); err != nil {
		return err
	}
	if err := p.runNewDeployment(ctx, j, pre, engine.Options{}); err != nil {
		return err
	}
	pre.options.Only, pre.options.Adopt, pre.options.TakeOver = false, false, ""
	return pre.readAndPlan(ctx)
}

// ecsRollsBack reports whether ECS rolls back a failed deployment by its circuit breaker. The
// configuration is that of the files, or of the service if the files have none.
func ecsRollsBack(pre *preparedPlan) bool {
	c := pre.app.Service.Input.DeploymentConfiguration
	if c == nil && pre.state.Service != nil {
		c = pre.state.Service.DeploymentConfiguration
	}
	return c != nil && c.DeploymentCircuitBreaker != nil && c.DeploymentCircuitBreaker.Enable &&
		c.DeploymentCircuitBreaker.Rollback
}

// runNewDeployment starts a deployment of the plan and runs it.
func (p *program) runNewDeployment(ctx context.Context, j *journal.Journal, pre *preparedPlan,
	how engine.Options) error {
	p.printSummary(pre.plan)
	e := p.NewEngine(pre.account, pre.clock, j)
	e.Endpoint = p.Endpoint(ctx)
	r := p.Terminal().NewRenderer(pre.plan, pre.clock)
	e.OnEvent = r.ShowEvent
	id, err := e.Start(ctx, pre.plan, p.Env.TriggerName())
	if err != nil {
		r.Close()
		return err
	}
	want := sluice.Succeeded
	if pre.plan.AsksNoTasks {
		want = sluice.Gone
	}
	return (&deploymentRun{p, e, r, want}).run(ctx, id, how)
}

// printSummary prints the plan in short form before it runs.
func (p *program) printSummary(pl *plan.Plan) {
	if p.Flags.Output == session.JSON {
		return
	}
	w := p.Env.Err
	fmt.Fprintf(w, "%s in %s: %s\n", p.Paint.Bold(pl.Cluster+"/"+pl.Service), pl.Region, show.PlanRevisions(pl))
	show.Changes(w, p.Paint, pl)
	names := make([]string, 0, len(pl.Stages))
	for _, s := range pl.Stages {
		names = append(names, mode.StageSummary(pl, s))
	}
	fmt.Fprintf(w, "  %s: %s\n", sluice.Plural(len(pl.Stages), "stage"), strings.Join(names, ", "))
	for _, s := range pl.Warnings {
		p.printWarning("  ", s)
	}
	for _, s := range pl.Notes {
		fmt.Fprintln(w, "  note: "+p.Paint.ARNs(s))
	}
}

// printWarning prints a warning of a plan.
func (p *program) printWarning(indent, text string) {
	fmt.Fprintln(p.Env.Err, indent+p.Paint.Warn("warning: "+p.Paint.ARNs(text)))
	p.WriteAnnotation(p.Env.Err, "warning", text, "")
}
