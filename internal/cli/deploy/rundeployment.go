package deploy

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/cli/session"
	"github.com/sluice-ecs/sluice/internal/cli/show"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// runHere runs a deployment in this process and prints the outcome. The exit code is 0 if the
// outcome is want.
func (p *program) runHere(ctx context.Context, e *engine.Engine, r show.Renderer, id string, o engine.Options,
	want sluice.Outcome) error {
	release := p.SetInterruptNote(r, "pausing at a safe point; press Ctrl-C again to exit immediately")
	e.OnEvent = p.withConsolePage(e.Account.Region(), e.Account.Endpoints(), r.ShowEvent)
	ended, err := e.Run(ctx, id, o)
	release()
	r.Close()
	return p.concludeRun(ctx, e.Journal, ended, err, want)
}

// concludeRun prints the result of a run and returns the error that carries the exit code.
func (p *program) concludeRun(ctx context.Context, j *journal.Journal, ended engine.RunResult, err error,
	want sluice.Outcome) error {
	ctx = context.WithoutCancel(ctx)
	d := ended.Deployment
	switch {
	case errors.Is(err, journal.ErrHeld), errors.Is(err, engine.ErrTakenOver):
		return err
	case d.State == journal.Ended:
		return errors.Join(err, p.printOutcome(ctx, j, d, want))
	case ended.WaitingFor != "" && err == nil:
		return p.printWaiting(ctx, j, d, ended.WaitingFor)
	case err != nil && !isInterrupt(err):
		p.PrintError(err)
		p.printResumeHints(d)
		return session.ExitStatus(pausedExitCode(err))
	case d.State != journal.Paused:
		// The interrupt arrived between two stages.
		if err := j.SetState(ctx, d.ID, journal.Paused); err != nil {
			return err
		}
	}
	p.PrintResult("paused: " + d.Cluster + "/" + d.Service + ", deployment " + d.ID)
	p.printResumeHints(d)
	return session.ExitStatus(sluice.ExitStopped)
}

func isInterrupt(err error) bool {
	return errors.Is(err, error(session.ErrInterrupted)) || errors.Is(err, context.Canceled)
}

// printResumeHints prints the commands that continue or end an unfinished deployment.
func (p *program) printResumeHints(d journal.Deployment) {
	if session.IsTaskRun(d.Service) {
		fmt.Fprintf(p.Env.Err, "next: run sluice resume %s to wait for the tasks, or sluice abort %s to end the "+
			"deployment without stopping them\n", d.ID, d.ID)
		return
	}
	fmt.Fprintf(p.Env.Err, "next: run sluice resume %s to continue, sluice rollback %s to restore the previous state, "+
		"or sluice abort %s to stop here and change nothing\n", d.ID, d.ID, d.ID)
}

// printWaiting prints what a deployment waits for. It is used with --no-wait.
func (p *program) printWaiting(ctx context.Context, j *journal.Journal, d journal.Deployment, what string) error {
	approval, err := needsApproval(ctx, j, d)
	if err != nil {
		return err
	}
	p.PrintResult("waiting for " + what + ": " + d.Cluster + "/" + d.Service + ", deployment " + d.ID)
	if what == engine.HandedToECS && session.IsTaskRun(d.Service) {
		fmt.Fprintf(p.Env.Err, "next: run sluice resume %s to wait for the tasks\n", d.ID)
		return nil
	}
	if what == engine.HandedToECS || what == engine.HandedToCodeDeploy {
		fmt.Fprintf(p.Env.Err, "next: run sluice resume %s to follow it, or sluice wait --cluster %s --service %s\n",
			d.ID, d.Cluster, d.Service)
		return nil
	}
	if approval {
		fmt.Fprintf(p.Env.Err, "next: run sluice approve %s, then sluice resume %s\n", d.ID, d.ID)
		return session.ExitStatus(sluice.ExitAwaitApprove)
	}
	fmt.Fprintf(p.Env.Err, "next: run sluice resume %s to continue\n", d.ID)
	return nil
}

// printOutcome prints how a deployment ended. It repeats the cause of a failure, because the
// failure may have been printed long ago.
func (p *program) printOutcome(ctx context.Context, j *journal.Journal, d journal.Deployment,
	want sluice.Outcome) error {
	events, err := j.Events(ctx, d.ID, 0, 0)
	if err != nil {
		return err
	}
	if session.IsTaskRun(d.Service) {
		p.PrintResult(show.TaskSummary(d, events))
	} else {
		p.PrintResult(show.DeploymentSummary(d, show.LastPrimaryRevision(events)))
	}
	if d.Next != "" && (d.Outcome != want || d.Outcome == sluice.Succeeded || d.Outcome == sluice.RolledBack) {
		fmt.Fprintln(p.Env.Err, "next: "+d.Next)
	}
	if d.Outcome == want {
		return nil
	}
	return session.ExitWith(d.Outcome.ExitCode())
}

// needsApproval reports whether the first stage that is not done waits for approval.
func needsApproval(ctx context.Context, j *journal.Journal, d journal.Deployment) (bool, error) {
	pl, err := session.ReadPlan(d)
	if err != nil {
		return false, err
	}
	stages, err := j.Stages(ctx, d.ID)
	done := map[int]bool{}
	for _, s := range stages {
		done[s.Index] = s.Status == journal.StageDone
	}
	for _, s := range pl.Stages {
		if !done[s.Index] {
			return s.Approvals > 0, err
		}
	}
	return false, err
}

// pausedExitCode returns the exit code for a deployment that an error paused.
func pausedExitCode(err error) int {
	if errors.Is(err, journal.ErrUnusable) {
		return sluice.ExitStopped
	}
	return session.ExitCode(err)
}
