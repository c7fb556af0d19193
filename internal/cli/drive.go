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
func (p *program) renderer(pl *plan.Plan, c clock.Clock) renderer {
	switch {
	case p.flags.output == jsonOut:
		return &jsonLines{w: p.env.Out, notes: p.env.Err}
	case pl.Standalone:
		return &lines{w: p.env.Err, out: p.env.Out, paint: p.paint, groups: p.onGitHub()}
	case p.env.IsTerminal(p.env.Err) && !p.onGitHub():
		return newLive(p.env.Err, p.paint, newBoard(pl), c, func() (int, int) { return p.env.Size(p.env.Err) })
	}
	return &lines{w: p.env.Err, paint: p.paint, groups: p.onGitHub()}
}

// setInterruptNote sets the text that the first Ctrl-C prints. It returns a function that clears
// the text.
func (p *program) hold(r renderer, says string) func() {
	f := func() { r.note(says) }
	p.onInterrupt.Store(&f)
	return func() { p.onInterrupt.Store(nil) }
}

// runHere runs a deployment in this process and prints the outcome. The exit code is 0 if the
// outcome is want.
func (p *program) drive(ctx context.Context, e *engine.Engine, r renderer, id string, o engine.Options, want sluice.Outcome) error {
	release := p.hold(r, "pausing at a safe point; Ctrl-C again leaves at once")
	e.Watch = p.browsing(e.Account.Region(), e.Account.Endpoints(), r.event)
	ended, err := e.Run(ctx, id, o)
	release()
	r.close()
	return p.conclude(ctx, e.Journal, ended, err, want)
}

// concludeRun prints the result of a run and returns the error that carries the exit code.
func (p *program) conclude(ctx context.Context, j *journal.Journal, ended engine.Ended, err error, want sluice.Outcome) error {
	ctx = context.WithoutCancel(ctx)
	d := ended.Deployment
	switch {
	case errors.Is(err, journal.ErrHeld), errors.Is(err, engine.ErrTakenOver):
		return err
	case d.State == journal.Ended:
		return errors.Join(err, p.over(ctx, j, d, want))
	case ended.Waiting != "" && err == nil:
		return p.waits(ctx, j, d, ended.Waiting)
	case err != nil && !interrupted(err):
		p.tell(err)
		p.goOn(d)
		return exit(pausedCode(err))
	case d.State != journal.Paused:
		// The interrupt arrived between two stages.
		if err := j.SetState(ctx, d.ID, journal.Paused); err != nil {
			return err
		}
	}
	p.say("paused: " + d.Cluster + "/" + d.Service + ", deployment " + d.ID)
	p.goOn(d)
	return exit(sluice.ExitStopped)
}

func interrupted(err error) bool {
	return errors.Is(err, error(errInterrupted)) || errors.Is(err, context.Canceled)
}

// printResumeHints prints the commands that continue or end an unfinished deployment.
func (p *program) goOn(d journal.Deployment) {
	if isRun(d.Service) {
		fmt.Fprintf(p.env.Err, "next: sluice resume %s waits for the end; sluice abort %s ends the waiting, and stops no task\n", d.ID, d.ID)
		return
	}
	fmt.Fprintf(p.env.Err, "next: sluice resume %s goes on; sluice rollback %s returns to what was; sluice abort %s leaves it as it stands\n", d.ID, d.ID, d.ID)
}

// printWaiting prints what a deployment waits for. It is used with --no-wait.
func (p *program) waits(ctx context.Context, j *journal.Journal, d journal.Deployment, what string) error {
	approval, err := awaitsApproval(ctx, j, d)
	if err != nil {
		return err
	}
	p.say("waiting for " + what + ": " + d.Cluster + "/" + d.Service + ", deployment " + d.ID)
	if what == engine.LeftToECS && isRun(d.Service) {
		fmt.Fprintf(p.env.Err, "next: sluice resume %s waits for the end\n", d.ID)
		return nil
	}
	if what == engine.LeftToECS || what == engine.LeftToCodeDeploy {
		fmt.Fprintf(p.env.Err, "next: sluice resume %s follows it; so does sluice wait --cluster %s --service %s\n", d.ID, d.Cluster, d.Service)
		return nil
	}
	if approval {
		fmt.Fprintf(p.env.Err, "next: sluice approve %s, then sluice resume %s\n", d.ID, d.ID)
		return exit(sluice.ExitAwaitApprove)
	}
	fmt.Fprintf(p.env.Err, "next: sluice resume %s goes on\n", d.ID)
	return nil
}

// printOutcome prints how a deployment ended. It repeats the cause of a failure, because the
// failure may have been printed long ago.
func (p *program) over(ctx context.Context, j *journal.Journal, d journal.Deployment, want sluice.Outcome) error {
	events, err := j.Events(ctx, d.ID, 0, 0)
	if err != nil {
		return err
	}
	if isRun(d.Service) {
		p.say(summaryOf(d, ranWords(events)))
	} else {
		p.say(summary(d, serves(events)))
	}
	if d.Next != "" && (d.Outcome != want || d.Outcome == sluice.Succeeded || d.Outcome == sluice.RolledBack) {
		fmt.Fprintln(p.env.Err, "next: "+d.Next)
	}
	if d.Outcome == want {
		return nil
	}
	return code(d.Outcome.ExitCode())
}

// printResult prints a result in text output. In JSON output the events contain the result.
func (p *program) say(s string) {
	if p.flags.output == text {
		fmt.Fprintln(p.env.Out, s)
	}
}

func summary(d journal.Deployment, revision string) string {
	if revision != "" {
		revision = " runs " + revision
	}
	return summaryOf(d, revision)
}

// outcomeSummary describes how a deployment ended. The text brought is added after a success; it
// names the revision that runs.
func summaryOf(d journal.Deployment, brought string) string {
	s := string(d.Outcome) + ": " + d.Cluster + "/" + d.Service
	if d.Outcome == sluice.Succeeded {
		s += brought
	}
	s += " (" + d.ID + ", " + took(d.Ended.Sub(d.Began)) + ")"
	if d.Cause != "" {
		s += ": " + d.Cause
	}
	return s
}

// lastPrimaryRevision returns the revision of the primary in the last event that has one.
func serves(events []sluice.Envelope) string {
	for i := len(events) - 1; i >= 0; i-- {
		if c, ok := events[i].Open().(sluice.CapacityChanged); ok && c.Variant == sluice.Primary {
			return c.Revision
		}
	}
	return ""
}

// needsApproval reports whether the first stage that is not done waits for approval.
func awaitsApproval(ctx context.Context, j *journal.Journal, d journal.Deployment) (bool, error) {
	pl, err := planOf(d)
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
