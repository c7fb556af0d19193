package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// deploymentCommand is a command on a deployment of the journal.
type deploymentCommand struct {
	commandName string
	onlyOpen    bool // the command is for deployments that have not ended
	// takesSeveral allows several names; the command runs for each in turn.
	takesSeveral bool
	app          appFlag
	noWait       bool
}

// newDeploymentCommand returns the cobra command of a deploymentCommand.
func (p *program) newDeploymentCommand(t *deploymentCommand, short, long, example string,
	run func(c *cobra.Command, path string, given bool) error) *cobra.Command {
	c := &cobra.Command{Use: t.commandName + " [ID | DIR | -c FILE]", Short: short, Long: long, Example: example,
		Args: atMost(1),
		RunE: func(c *cobra.Command, args []string) error {
			path, given, err := t.app.applicationPath(c, args)
			if err != nil {
				return err
			}
			if len(args) < 2 {
				return run(c, path, given)
			}
			if err := p.refuseDuplicates(t.commandName, args); err != nil {
				return err
			}
			return p.forEachPath(c.Context(), args, func(path string) error { return run(c, path, true) })
		}}
	if t.takesSeveral {
		c.Use, c.Args = t.commandName+" [ID… | DIR… | -c FILE]", nil
	}
	t.app.registerConfigFlag(c)
	c.ValidArgsFunction = p.completeIDs(t.onlyOpen)
	return c
}

// openDeployment is a deployment of the journal with its opened account.
type openDeployment struct {
	journal    *journal.Journal
	deployment journal.Deployment
	plan       *plan.Plan
	account    *account.Account
	clock      clock.Clock
}

// findAndOpen finds the deployment and opens its account.
func (p *program) findAndOpen(ctx context.Context, verb, path string, given bool) (*openDeployment, error) {
	t := &openDeployment{}
	var err error
	if t.journal, err = p.openJournalForWrite(); err != nil {
		return nil, err
	}
	if t.deployment, err = p.findDeployment(ctx, t.journal, verb, path, given); err == nil {
		err = p.enterAccount(ctx, t)
	}
	if err != nil {
		t.journal.Close()
		return nil, err
	}
	return t, nil
}

// enterAccount opens the account of the deployment. It returns an error if the credentials or the
// Region belong to another one.
func (p *program) enterAccount(ctx context.Context, t *openDeployment) error {
	d := t.deployment
	var err error
	if t.plan, err = readPlan(d); err != nil {
		return err
	}
	if p.flags.region != "" && p.flags.region != d.Region {
		return &sluice.Error{Op: "open AWS account", Err: fmt.Errorf("deployment %s is in %s, but --region is %s", d.ID,
			d.Region, p.flags.region),
			Next: "leave --region out"}
	}
	if t.account, t.clock, err = p.openAccount(ctx, d.Region); err != nil {
		return err
	}
	id, err := t.account.ID(ctx)
	if err == nil && id != d.Account {
		err = &sluice.Error{Op: "open AWS account",
			Err: fmt.Errorf("deployment %s is in account %s, but the credentials are those of %s", d.ID, d.Account,
				id),
			Next: "log in to that account, or give --profile or --assume-role"}
	}
	return err
}

// runOrFollow follows the process that runs the deployment already. If none does, or that process
// stops, it runs the deployment here.
func (p *program) runOrFollow(ctx context.Context, e *engine.Engine, t *openDeployment, o engine.Options,
	want sluice.Outcome) error {
	runs, err := p.runningProcess(ctx, t)
	if err != nil {
		return err
	}
	r := p.newRenderer(t.plan, t.clock)
	last, err := replayEvents(ctx, t, r)
	if err != nil {
		r.close()
		return err
	}
	if runs != "" {
		over, err := p.followProcess(ctx, t, r, last, runs, want)
		if over || err != nil {
			return err
		}
	}
	return p.runHere(ctx, e, r, t.deployment.ID, o, want)
}

// runningProcess returns the name of the process that runs the deployment now, or "".
func (p *program) runningProcess(ctx context.Context, t *openDeployment) (string, error) {
	d := t.deployment
	owner, _, err := t.journal.Holder(ctx, engine.LeaseResource(d.Account, d.Region, d.Cluster, d.Service))
	if err != nil || owner == "" || !p.isOwnerAlive(owner) {
		return "", err
	}
	return owner, nil
}

// replayEvents gives the renderer the events of earlier runs. It returns the number of the last
// one.
func replayEvents(ctx context.Context, t *openDeployment, r renderer) (last int64, err error) {
	events, err := t.journal.Events(ctx, t.deployment.ID, 0, 0)
	for _, e := range events {
		r.replayEvent(e)
		last = e.Seq
	}
	return last, err
}

// followInterval is the time between two reads of the events of another process, in the machine's
// time.
const followInterval = 200 * time.Millisecond

// followProcess prints the events of a deployment that another process runs. over is false if that
// process paused or died; this process then continues the deployment.
func (p *program) followProcess(ctx context.Context, t *openDeployment, r renderer, last int64, runs string,
	want sluice.Outcome) (over bool, err error) {
	release := p.setInterruptNote(r, "no longer watching; process "+runs+" continues to run the deployment")
	defer release()
	r.showNote("process " + runs + " runs it; watching")
	d, err := p.watchUntilEnd(ctx, t, r, last)
	if err == nil && d.State != journal.Ended {
		r.showNote("process " + runs + " stopped running the deployment; continuing here")
		return false, nil
	}
	r.close()
	switch {
	case err != nil && ctx.Err() != nil:
		return true, exitStatus(sluice.ExitStopped)
	case err != nil:
		return true, err
	}
	return true, p.concludeRun(ctx, t.journal, engine.RunResult{Deployment: d}, nil, want)
}

// watchUntilEnd shows the events of a deployment. It returns when the deployment has ended or no
// process runs it.
func (p *program) watchUntilEnd(ctx context.Context, t *openDeployment, r renderer, last int64) (journal.Deployment,
	error) {
	for {
		runs, err := p.runningProcess(ctx, t)
		if err != nil {
			return journal.Deployment{}, err
		}
		d, err := t.journal.Deployment(ctx, t.deployment.ID)
		if err != nil {
			return d, err
		}
		events, err := t.journal.Events(ctx, d.ID, last, 0)
		if err != nil {
			return d, err
		}
		for _, e := range events {
			r.showEvent(e)
			last = e.Seq
		}
		if d.State == journal.Ended || runs == "" {
			return d, nil
		}
		if err := clock.Real().Sleep(ctx, followInterval); err != nil {
			return d, err
		}
	}
}
