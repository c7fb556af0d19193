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
	c := p.newDeploymentCommand(&t, "Go on with a deployment that was paused or killed",
		`Go on with a deployment that was paused, killed or left waiting.

It goes by the plan that was made then, whatever the files say now, and finds
again what the deployment had made. Values of environments are not kept in the
journal: if the task definition is not registered yet, they are read from the
files again (DIR, -c FILE, or here). Of a deployment that has ended it gives back the
claim on the service, if that stayed. `+idHelp,
		`  sluice resume
  sluice resume --take-over            from the process that runs it
  sluice resume slc-01k0…`,
		func(c *cobra.Command, path string, given bool) error {
			return p.runResume(c.Context(), path, t.app.filesPath(path), given, engine.Options{NoWait: t.noWait}, l)
		})
	l.registerTakeOver(c, "take it from the process that runs it, or from the deployment of another machine that "+
		"holds the service")
	c.Flags().BoolVar(&t.noWait, "no-wait", false, noWaitHelp)
	return c
}

// idHelp describes how a command finds its deployment.
const idHelp = `Without an ID it is the newest deployment of the
application here, or else the only one that has not ended.`

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
			Next: "wait for it; sluice status shows how far it is; --take-over takes it from there"}
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
		p.printResult("gave the claim on " + d.Cluster + "/" + d.Service + " back")
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
