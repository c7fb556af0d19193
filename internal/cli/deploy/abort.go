package deploy

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/inspect"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// laterDeploymentError is the ID of a newer deployment of the same service.
type laterDeploymentError string

func (e laterDeploymentError) Error() string {
	return "deployment " + string(e) + " of the same service is newer"
}

func newAbortCommand(p *program) *cobra.Command {
	t := session.DeploymentCommand{Name: "abort", OnlyOpen: true}
	return t.New(p.Session, "End a deployment and keep the current state",
		`End a deployment and keep the current state: sluice moves no traffic and deletes
no tasks. It then prints the state of the service. To restore the state before the
deployment, use sluice rollback.

Exit code 0: the deployment was aborted. `+session.IDHelp,
		`  sluice abort
  sluice abort slc-01k0…`,
		func(c *cobra.Command, path string, given bool) error {
			return p.runAbort(c.Context(), path, given)
		})
}

func (p *program) runAbort(ctx context.Context, path string, given bool) error {
	t, err := p.FindAndOpen(ctx, "abort", path, given)
	if err != nil {
		return err
	}
	defer t.Journal.Close()
	d := t.Deployment
	if d.State == journal.Ended {
		if err := p.refuseOtherClaim(ctx, t, "abort the deployment", path); err != nil {
			return err
		}
		none, err := lacksFormer(ctx, t)
		if err != nil {
			return err
		}
		next := "run " + t.Plan.RollbackCommand(d.ID) + " to restore the state before the deployment"
		switch {
		case none, !t.Plan.Mode().HasService(), d.Outcome == sluice.RolledBack, d.Outcome == sluice.Superseded,
			d.Outcome == sluice.Gone, t.Plan.Returns && d.Outcome == sluice.Succeeded: // there is nothing to restore
			next = "run sluice status to see what is running"
		}
		return &sluice.Error{Op: "abort the deployment", Resource: d.ID, Err: fmt.Errorf("the deployment has ended: %s",
			d.Outcome), Next: next}
	}
	e := p.NewEngine(t.Account, t.Clock, t.Journal)
	if err := e.SendCommand(ctx, d.ID, journal.Abort, 0, p.Env.ActorName("")); err != nil {
		return err
	}
	if err := p.runOrFollow(ctx, e, t, engine.Options{}, sluice.Stopped); err != nil {
		return err
	}
	return p.printAborted(ctx, t)
}

// printAborted prints the state of the service after its deployment was aborted.
func (p *program) printAborted(ctx context.Context, t *session.Opened) error {
	if p.Flags.Output == session.JSON {
		return nil
	}
	if err := inspect.PrintService(ctx, p.Session, t); err != nil {
		return err
	}
	if !t.Plan.Mode().HasService() {
		return nil
	}
	next := "run " + t.Plan.RollbackCommand(t.Deployment.ID) + " to restore the state before the deployment"
	if by := t.Plan.Mode().Deployer(); by != "" {
		p.PrintResult("note: " + by + " continues a deployment that it has begun")
		next = "run " + t.Plan.RollbackCommand(t.Deployment.ID) + " to stop it and restore the state before"
	}
	if t.Plan.Returns {
		next = "run sluice rollback to restore the former version after all"
	}
	p.PrintNext(next)
	return nil
}
