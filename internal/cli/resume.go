package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func (p *program) newResumeCommand() *cobra.Command {
	t := deploymentCommand{commandName: "resume", onlyOpen: true}
	var l conflictFlags
	c := p.newDeploymentCommand(&t, "Continue a deployment that was paused or killed",
		`Continue a deployment that was paused, killed or left waiting.

It uses the plan of that deployment, not the current files, and finds the resources
that the deployment has created. The journal does not contain the values of
environment variables: if the task definition is not registered yet, sluice reads them
from the files again (DIR, -c FILE, or the current directory). If the deployment has
ended, sluice only releases its claim on the service, if the claim still exists. `+idHelp,
		`  sluice resume
  sluice resume --take-over            take it over from the process that runs it
  sluice resume slc-01k0…`,
		func(c *cobra.Command, path string, given bool) error {
			return p.runResume(c.Context(), path, t.app.filesPath(path), given, engine.Options{NoWait: t.noWait}, l)
		})
	l.registerTakeOver(c, "take it over from the process that runs it, and the service from a deployment of "+
		"another machine")
	c.Flags().BoolVar(&t.noWait, "no-wait", false, noWaitHelp)
	return c
}

// idHelp describes how a command finds its deployment.
const idHelp = `Without an ID, it is the newest deployment of the
application in the current directory. If there is no application, it is the only
deployment that has not ended.`

func (p *program) runResume(ctx context.Context, path, files string, given bool, o engine.Options,
	l conflictFlags) error {
	t, err := p.findAndOpen(ctx, "resume", path, given)
	if err != nil {
		return err
	}
	defer t.journal.Close()
	d := t.deployment
	if d.State == journal.Ended {
		return p.resumeEnded(ctx, t)
	}
	runs, err := p.runningProcess(ctx, t)
	if err != nil {
		return err
	}
	if runs != "" && !l.takeOver {
		return &sluice.Error{Op: "resume the deployment", Resource: d.ID, Kind: sluice.Overtaken,
			Err:  fmt.Errorf("process %s runs it", runs),
			Next: "wait for it, check it with sluice status, or take it over with --take-over"}
	}
	e := p.newEngine(t.account, t.clock, t.journal)
	if l.takeOver {
		if err := p.takeOverDeployment(ctx, e, t); err != nil {
			return err
		}
	}
	if err := e.SendCommand(ctx, d.ID, journal.Resume, 0, p.actorName("")); err != nil {
		return err
	}
	if err := p.restoreSecrets(ctx, e, t, files); err != nil {
		return err
	}
	return p.runOrFollow(ctx, e, t, o, sluice.Succeeded)
}

// resumeEnded releases the claim of an ended deployment, if it still exists. It does nothing else.
func (p *program) resumeEnded(ctx context.Context, t *openDeployment) error {
	d := t.deployment
	released, err := p.newEngine(t.account, t.clock, t.journal).ReleaseEndedClaim(ctx, d.ID)
	if err != nil {
		return err
	}
	if released {
		p.printResult("released the claim on " + d.Cluster + "/" + d.Service)
	}
	p.printResult("nothing to resume: " + deploymentSummary(d, ""))
	return exitWith(d.Outcome.ExitCode())
}

// restoreSecrets gives the engine the values of environments, which the journal does not contain.
// The engine returns the error if it needs them and the files cannot be read.
func (p *program) restoreSecrets(ctx context.Context, e *engine.Engine, t *openDeployment, files string) error {
	if !t.plan.NeedsFiles() {
		return nil
	}
	app, err := p.loadApplication(files)
	if err != nil {
		return nil
	}
	_, err = e.RestoreSecrets(ctx, t.deployment.ID, app)
	return err
}

// actorName returns the given name, or user@host if it is empty.
func (p *program) actorName(by string) string {
	if by != "" {
		return by
	}
	return p.env.User + "@" + p.env.Host
}
