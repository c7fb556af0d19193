package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// laterDeploymentError is the ID of a newer deployment of the same service.
type laterDeploymentError string

func (e laterDeploymentError) Error() string {
	return "deployment " + string(e) + " of the same service is newer"
}

func (p *program) newAbortCommand() *cobra.Command {
	t := deploymentCommand{commandName: "abort", onlyOpen: true}
	return p.newDeploymentCommand(&t, "End a deployment and keep the current state",
		`End a deployment and keep the current state: sluice moves no traffic and deletes
no tasks. It then prints the state of the service. To restore the state before the
deployment, use sluice rollback.

Exit code 0: the deployment was aborted. `+idHelp,
		`  sluice abort
  sluice abort slc-01k0…`,
		func(c *cobra.Command, path string, given bool) error {
			return p.runAbort(c.Context(), path, given)
		})
}

func (p *program) runAbort(ctx context.Context, path string, given bool) error {
	t, err := p.findAndOpen(ctx, "abort", path, given)
	if err != nil {
		return err
	}
	defer t.journal.Close()
	d := t.deployment
	if d.State == journal.Ended {
		return &sluice.Error{Op: "abort the deployment", Resource: d.ID, Err: fmt.Errorf("the deployment has ended: %s",
			d.Outcome), Next: "run sluice rollback " + d.ID + " to restore the state before the deployment"}
	}
	e := p.newEngine(t.account, t.clock, t.journal)
	if err := e.SendCommand(ctx, d.ID, journal.Abort, 0, p.actorName("")); err != nil {
		return err
	}
	if err := p.runOrFollow(ctx, e, t, engine.Options{}, sluice.Stopped); err != nil {
		return err
	}
	return p.printAborted(ctx, t)
}

// printAborted prints the state of the service after its deployment was aborted.
func (p *program) printAborted(ctx context.Context, t *openDeployment) error {
	if p.flags.output == jsonOut {
		return nil
	}
	tree, err := p.readService(ctx, t.account, targetOfPlan(t.plan))
	if err != nil {
		return err
	}
	if t.deployment, err = t.journal.Deployment(ctx, t.deployment.ID); err != nil {
		return err
	}
	if tree.Deployment, err = p.reportDeployment(ctx, t); err != nil {
		return err
	}
	if err := (serviceView{newPaint(p.env, p.env.Out)}).writeService(p.env.Out, tree); err != nil {
		return err
	}
	if !t.plan.Mode().HasService() {
		return nil
	}
	fmt.Fprintf(p.env.Err, "next: run sluice rollback %s to restore the state before the deployment\n", t.deployment.ID)
	return nil
}
