package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// newRenderer returns the renderer for the events of a deployment: JSON Lines with --output json,
// a progress view on a terminal, and one line per change otherwise.
func (p *program) newRenderer(pl *plan.Plan, c clock.Clock) renderer {
	switch {
	case p.flags.output == jsonOut:
		return &jsonLines{w: p.env.Out, notes: p.env.Err}
	case !pl.Mode().HasService():
		return &lineRenderer{w: p.env.Err, out: p.env.Out, paint: p.paint, groups: p.isOnGitHub()}
	case p.env.IsTerminal(p.env.Err) && !p.isOnGitHub():
		return newProgressView(p.env.Err, p.paint, newProgressBoard(pl), c,
			func() (int, int) { return p.env.Size(p.env.Err) })
	}
	return &lineRenderer{w: p.env.Err, paint: p.paint, groups: p.isOnGitHub()}
}

// setInterruptNote sets the text that the first Ctrl-C prints. It returns a function that clears
// the text.
func (p *program) setInterruptNote(r renderer, says string) func() {
	f := func() { r.showNote(says) }
	p.onInterrupt.Store(&f)
	return func() { p.onInterrupt.Store(nil) }
}

// runHere runs a deployment in this process and prints the outcome. The exit code is 0 if the
// outcome is want.
func (p *program) runHere(ctx context.Context, e *engine.Engine, r renderer, id string, o engine.Options,
	want sluice.Outcome) error {
	release := p.setInterruptNote(r, "pausing at a safe point; press Ctrl-C again to exit immediately")
	e.OnEvent = p.withConsolePage(e.Account.Region(), e.Account.Endpoints(), r.showEvent)
	ended, err := e.Run(ctx, id, o)
	release()
	r.close()
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
		p.printError(err)
		p.printResumeHints(d)
		return exitStatus(pausedExitCode(err))
	case d.State != journal.Paused:
		// The interrupt arrived between two stages.
		if err := j.SetState(ctx, d.ID, journal.Paused); err != nil {
			return err
		}
	}
	p.printResult("paused: " + d.Cluster + "/" + d.Service + ", deployment " + d.ID)
	p.printResumeHints(d)
	return exitStatus(sluice.ExitStopped)
}

func isInterrupt(err error) bool {
	return errors.Is(err, error(errInterrupted)) || errors.Is(err, context.Canceled)
}

// printResumeHints prints the commands that continue or end an unfinished deployment.
func (p *program) printResumeHints(d journal.Deployment) {
	if isTaskRun(d.Service) {
		fmt.Fprintf(p.env.Err, "next: run sluice resume %s to wait for the tasks, or sluice abort %s to end the "+
			"deployment without stopping them\n", d.ID, d.ID)
		return
	}
	fmt.Fprintf(p.env.Err, "next: run sluice resume %s to continue, sluice rollback %s to restore the previous state, "+
		"or sluice abort %s to stop here and change nothing\n", d.ID, d.ID, d.ID)
}

// printWaiting prints what a deployment waits for. It is used with --no-wait.
func (p *program) printWaiting(ctx context.Context, j *journal.Journal, d journal.Deployment, what string) error {
	approval, err := needsApproval(ctx, j, d)
	if err != nil {
		return err
	}
	p.printResult("waiting for " + what + ": " + d.Cluster + "/" + d.Service + ", deployment " + d.ID)
	if what == engine.HandedToECS && isTaskRun(d.Service) {
		fmt.Fprintf(p.env.Err, "next: run sluice resume %s to wait for the tasks\n", d.ID)
		return nil
	}
	if what == engine.HandedToECS || what == engine.HandedToCodeDeploy {
		fmt.Fprintf(p.env.Err, "next: run sluice resume %s to follow it, or sluice wait --cluster %s --service %s\n",
			d.ID, d.Cluster, d.Service)
		return nil
	}
	if approval {
		fmt.Fprintf(p.env.Err, "next: run sluice approve %s, then sluice resume %s\n", d.ID, d.ID)
		return exitStatus(sluice.ExitAwaitApprove)
	}
	fmt.Fprintf(p.env.Err, "next: run sluice resume %s to continue\n", d.ID)
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
	if isTaskRun(d.Service) {
		p.printResult(outcomeSummary(d, endedTasksText(events)))
	} else {
		p.printResult(deploymentSummary(d, lastPrimaryRevision(events)))
	}
	if d.Next != "" && (d.Outcome != want || d.Outcome == sluice.Succeeded || d.Outcome == sluice.RolledBack) {
		fmt.Fprintln(p.env.Err, "next: "+d.Next)
	}
	if d.Outcome == want {
		return nil
	}
	return exitWith(d.Outcome.ExitCode())
}

// printResult prints a result in text output. In JSON output the events contain the result.
func (p *program) printResult(s string) {
	if p.flags.output == textOut {
		fmt.Fprintln(p.env.Out, s)
	}
}

func deploymentSummary(d journal.Deployment, revision string) string {
	if revision != "" {
		revision = " runs " + revision
	}
	return outcomeSummary(d, revision)
}

// outcomeSummary describes how a deployment ended. The text brought is added after a success; it
// names the revision that runs.
func outcomeSummary(d journal.Deployment, brought string) string {
	s := string(d.Outcome) + ": " + d.Cluster + "/" + d.Service
	if d.Outcome == sluice.Succeeded {
		s += brought
	}
	s += " (" + d.ID + ", " + formatDuration(d.Ended.Sub(d.Began)) + ")"
	if d.Cause != "" {
		s += ": " + d.Cause
	}
	return s
}

// lastPrimaryRevision returns the revision of the primary in the last event that has one.
func lastPrimaryRevision(events []sluice.Envelope) string {
	for i := len(events) - 1; i >= 0; i-- {
		if c, ok := events[i].Open().(sluice.CapacityChanged); ok && c.Variant == sluice.Primary {
			return c.Revision
		}
	}
	return ""
}

// needsApproval reports whether the first stage that is not done waits for approval.
func needsApproval(ctx context.Context, j *journal.Journal, d journal.Deployment) (bool, error) {
	pl, err := readPlan(d)
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
