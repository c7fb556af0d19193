package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func (p *program) rollback() *cobra.Command {
	t := task{verb: "rollback"}
	c := p.command(&t, "Return to what was before a deployment",
		`Return to what was before a deployment: its rules as they were, the old revision
serving, nothing left of the new one. A deployment that runs is told to; one that
was paused, killed or has ended is rolled back here.

Exit code 0 says that it was rolled back. `+idHelp,
		`  sluice rollback
  sluice rollback slc-01k0…`,
		func(c *cobra.Command, path string, given bool) error {
			return p.runRollback(c.Context(), path, given, t.noWait)
		})
	c.Flags().BoolVar(&t.noWait, "no-wait", false, "return once the process that runs the deployment was told")
	return c
}

func (p *program) runRollback(ctx context.Context, path string, given, noWait bool) error {
	t, err := p.take(ctx, "rollback", path, given)
	if err != nil {
		return err
	}
	defer t.journal.Close()
	d := t.deployment
	if d.State == journal.Ended && d.Outcome == sluice.RolledBack {
		p.say("nothing to roll back: " + summary(d, ""))
		return nil
	}
	if err := p.newest(ctx, t); err != nil {
		return err
	}
	runs, err := p.runner(ctx, t)
	if err != nil {
		return err
	}
	e := p.engine(t.account, t.clock, t.journal)
	if err := e.Command(ctx, d.ID, journal.Rollback, 0, p.who("")); err != nil {
		return err
	}
	if err := e.Reopen(ctx, d.ID); err != nil {
		return err
	}
	if noWait && runs != "" {
		p.say("rollback asked of process " + runs + ", deployment " + d.ID)
		return nil
	}
	return p.lead(ctx, e, t, engine.Options{}, sluice.RolledBack)
}

// newest refuses to roll back under a later deployment of the same service.
func (p *program) newest(ctx context.Context, t *taken) error {
	d := t.deployment
	last, err := t.journal.Latest(ctx, d.Account, d.Region, d.Cluster, d.Service)
	if err != nil || last.ID == d.ID {
		return err
	}
	return &sluice.Error{Op: "roll the deployment back", Resource: d.ID, Kind: sluice.Overtaken,
		Err: errLater(last.ID), Next: "roll the later one back first: sluice rollback " + last.ID}
}
