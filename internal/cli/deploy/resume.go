package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

func newResumeCommand(p *program) *cobra.Command {
	t := session.DeploymentCommand{Name: "resume", OnlyOpen: true}
	var l conflictFlags
	t.RunSeveral = func(ctx context.Context, paths []string) error {
		return p.resumeSeveral(ctx, paths, t.App.FilesPath, engine.Options{NoWait: t.NoWait}, l)
	}
	c := t.New(p.Session, "Continue a deployment that was paused or killed",
		`Continue a deployment that was paused, killed or left waiting.

It uses the plan of that deployment, not the current files, and finds the resources
that the deployment has created. The journal does not contain the values of
environment variables: if the task definition is not registered yet, sluice reads them
from the files again (DIR, -c FILE, or the current directory). If the deployment has
ended, sluice only releases its claim on the service, if the claim still exists. `+session.IDHelp+`

Several deployments continue concurrently. Each has its own outcome; the exit code is
the worst of them.`,
		`  sluice resume
  sluice resume --take-over            take it over from the process that runs it
  sluice resume slc-01k0…
  sluice resume web api worker         concurrently; exits with the worst exit code`,
		func(c *cobra.Command, path string, given bool) error {
			return p.runResume(c.Context(), path, t.App.FilesPath(path), given, engine.Options{NoWait: t.NoWait}, l)
		})
	l.registerTakeOver(c, "take it over from the process that runs it, and the service from a deployment of "+
		"another machine")
	session.RegisterNoWait(c.Flags(), &t.NoWait, noWaitHelp)
	p.RegisterReports(c)
	return c
}

func (p *program) runResume(ctx context.Context, path, files string, given bool, o engine.Options,
	l conflictFlags) error {
	t, err := p.FindAndOpen(ctx, "resume", path, given)
	if err != nil {
		return err
	}
	defer t.Journal.Close()
	d := t.Deployment
	if d.State == journal.Ended {
		if err := p.refuseOtherClaim(ctx, t, "resume the deployment", path); err != nil {
			return err
		}
		return p.resumeEnded(ctx, t)
	}
	runs, err := p.Env.RunningProcess(ctx, t.Journal, t.Deployment)
	if err != nil {
		return err
	}
	if runs != "" && !l.takeOver {
		return &sluice.Error{Op: "resume the deployment", Resource: d.ID, Kind: sluice.Overtaken,
			Err:  fmt.Errorf("process %s runs it", runs),
			Next: "wait for it, check it with sluice status, or take it over with --take-over"}
	}
	e := p.NewEngine(t.Account, t.Clock, t.Journal)
	if l.takeOver {
		if err := p.takeOverDeployment(ctx, e, t); err != nil {
			return err
		}
	}
	if err := e.SendCommand(ctx, d.ID, journal.Resume, 0, p.Env.ActorName("")); err != nil {
		return err
	}
	if err := p.restoreSecrets(ctx, e, t, files); err != nil {
		return err
	}
	return p.runOrFollow(ctx, e, t, o, sluice.Succeeded)
}

// resumeEnded releases the claim of an ended deployment, if it still exists. It does nothing else.
func (p *program) resumeEnded(ctx context.Context, t *session.Opened) error {
	d := t.Deployment
	released, err := p.NewEngine(t.Account, t.Clock, t.Journal).ReleaseEndedClaim(ctx, d.ID)
	if err != nil {
		return err
	}
	if released {
		p.PrintResult("released the claim on " + d.Cluster + "/" + d.Service)
	}
	next, err := nextAfterEnd(ctx, t)
	if err != nil {
		return err
	}
	events, err := t.Journal.Events(ctx, d.ID, 0, 0)
	if err != nil {
		return err
	}
	return p.reportEnd(runEnd{deployment: d, result: "nothing to resume: " + show.DeploymentSummary(d, ""), Next: next,
		runs: show.LastPrimaryRevision(events), events: events, exit: d.Outcome.ExitCode()})
}

// nextAfterEnd returns the rollback that the end of a deployment named, if no newer deployment of the service has begun.
func nextAfterEnd(ctx context.Context, t *session.Opened) (string, error) {
	d := t.Deployment
	back := "restore the previous state: sluice rollback " + d.ID
	if !strings.Contains(d.Next, "sluice rollback "+d.ID) {
		return "", nil
	}
	all, err := t.Journal.Deployments(ctx, journal.Filter{Account: d.Account, Region: d.Region, Cluster: d.Cluster,
		Service: d.Service})
	if err != nil || len(all) == 0 || all[0].ID != d.ID {
		return "", err
	}
	return back, nil
}

// resumeSeveral continues several deployments concurrently. It first finds all of them.
func (p *program) resumeSeveral(ctx context.Context, paths []string, filesOf func(string) string, o engine.Options,
	l conflictFlags) error {
	j, err := p.OpenExistingJournal()
	if err != nil {
		return err
	}
	defer j.Close()
	var errs []error
	jobs, first := make([]*job, len(paths)), map[string]string{} // deployment → path
	for i, path := range paths {
		d, err := p.Deployments(j).Find(ctx, "resume", path, true)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		case first[d.ID] != "":
			errs = append(errs, &sluice.Error{Op: "resume the deployment", Resource: d.ID,
				Err: fmt.Errorf("%s and %s name the same deployment", first[d.ID], path), Next: "name each deployment once"})
		}
		first[d.ID] = path
		jobs[i] = &job{path: path, name: d.Application, service: d.Cluster + "/" + d.Service,
			start: func(ctx context.Context, p *program) error {
				return p.runResume(ctx, path, filesOf(path), true, o, l)
			}}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return (&severalRun{program: p, command: "resume", jobs: jobs}).run(ctx, len(jobs))
}

// restoreSecrets gives the engine the values of environments, which the journal does not contain.
// The engine returns the error if it needs them and the files cannot be read.
func (p *program) restoreSecrets(ctx context.Context, e *engine.Engine, t *session.Opened, files string) error {
	if !t.Plan.NeedsFiles() {
		return nil
	}
	app, err := p.LoadApplication(files)
	if err != nil {
		return nil
	}
	_, err = e.RestoreSecrets(ctx, t.Deployment.ID, app)
	return err
}
