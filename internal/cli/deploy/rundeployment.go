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

// deploymentRun is a run of a deployment: in this process, or in another one that is followed.
type deploymentRun struct {
	program  *program
	engine   *engine.Engine
	renderer show.Renderer
	want     sluice.Outcome // the exit code is 0 if it is the outcome
}

// run runs a deployment in this process and prints the outcome.
func (r *deploymentRun) run(ctx context.Context, id string, o engine.Options) error {
	e := r.engine
	release := r.program.Notices.SetInterrupt(r.renderer,
		"pausing at a safe point; press Ctrl-C again to exit immediately")
	e.OnEvent = r.program.withConsolePage(e.Account.Region(), e.Account.Endpoints(), r.renderer.ShowEvent)
	ended, err := e.Run(ctx, id, o)
	release()
	r.renderer.Close()
	if err == nil && o.Until != "" && ended.WaitingFor == engine.HandedToECS &&
		isAtHook(context.WithoutCancel(ctx), e.Account, ended.Deployment) {
		ended.WaitingFor = atHook
	}
	return r.conclude(ctx, ended, err)
}

// atHook is what a deployment waits for that was handed over to ECS, which has paused it at a hook.
const atHook = "the answer to a hook of ECS"

// runEnd is how a run of a deployment ended, for people.
type runEnd struct {
	deployment journal.Deployment // the zero value: there was nothing to deploy
	result     string             // one line
	runs       string             // family:revision of the primary; empty: unknown
	err        error              // why the run stopped; nil: the deployment ended, waits or was paused
	Next       string
	exit       int
	events     []sluice.Envelope // of the deployment
	service    string            // without a deployment: cluster/service
}

// conclude reports how a run ended. It returns an error that carries the exit code.
func (r *deploymentRun) conclude(ctx context.Context, ended engine.RunResult, err error) error {
	ctx = context.WithoutCancel(ctx)
	d, j := ended.Deployment, r.engine.Journal
	switch {
	case errors.Is(err, journal.ErrHeld), errors.Is(err, engine.ErrTakenOver):
		return err
	case d.State == journal.Ended:
		end, readErr := describeOutcome(ctx, j, d, r.want)
		if readErr != nil {
			return errors.Join(err, readErr)
		}
		return errors.Join(err, r.program.reportEnd(end))
	case ended.WaitingFor != "" && err == nil:
		end, err := describeWait(ctx, j, d, ended.WaitingFor)
		if err != nil {
			return err
		}
		return r.reportUnfinished(ctx, end)
	case err != nil && !isInterrupt(err):
		return r.reportUnfinished(ctx, runEnd{deployment: d, err: err, Next: resumeHint(d),
			exit: session.ExitCode(err)})
	case d.State != journal.Paused:
		// The interrupt arrived between two stages.
		if err := j.SetState(ctx, d.ID, journal.Paused); err != nil {
			return err
		}
		d.State = journal.Paused
	}
	return r.reportUnfinished(ctx, runEnd{deployment: d,
		result: "paused: " + d.Cluster + "/" + d.Service + ", deployment " + d.ID,
		Next:   resumeHint(d), exit: sluice.ExitStopped})
}

// reportUnfinished is reportEnd for a deployment that waits or was paused.
func (r *deploymentRun) reportUnfinished(ctx context.Context, e runEnd) (err error) {
	if e.events, err = r.engine.Journal.Events(ctx, e.deployment.ID, 0, 0); err != nil {
		return errors.Join(e.err, err)
	}
	return r.program.reportEnd(e)
}

// reportEnd prints how a run ended, or passes it to the program of several applications. It returns
// the exit code as an error.
func (p *program) reportEnd(e runEnd) error {
	e.Next = p.NextStep(e.Next)
	r := e.report()
	if e.err == nil && r.IsFailure() {
		p.WriteAnnotation(p.Env.Err, "error", r.Message(), show.AnnotationTitle(r.Title()))
	}
	p.Reports.Add(r)
	if p.onEnd != nil {
		p.onEnd(e)
		return session.ExitWith(e.exit)
	}
	if e.err != nil {
		p.PrintError(e.err)
	}
	if e.result != "" {
		p.PrintResult(e.result)
	}
	if e.Next != "" {
		p.PrintNext(e.Next)
	}
	return session.ExitWith(e.exit)
}

func isInterrupt(err error) bool {
	return errors.Is(err, error(session.ErrInterrupted)) || errors.Is(err, context.Canceled)
}

// resumeHint returns the commands that continue or end an unfinished deployment.
func resumeHint(d journal.Deployment) string {
	if session.IsTaskRun(d.Service) {
		return fmt.Sprintf("run sluice resume %s to wait for the tasks, or sluice abort %s to end the deployment "+
			"without stopping them", d.ID, d.ID)
	}
	if isOpenReturn(d) {
		return fmt.Sprintf("run sluice resume %s to continue the rollback, or sluice abort %s to stop here and change nothing",
			d.ID, d.ID)
	}
	return fmt.Sprintf("run sluice resume %s to continue, sluice rollback %s to restore the previous state, or sluice "+
		"abort %s to stop here and change nothing", d.ID, d.ID, d.ID)
}

// describeWait describes what a deployment waits for. It is used with --no-wait.
func describeWait(ctx context.Context, j *journal.Journal, d journal.Deployment, what string) (runEnd, error) {
	approval, waits, err := session.AwaitedApproval(ctx, j, d)
	e := runEnd{deployment: d,
		result: "waiting for " + what + ": " + d.Cluster + "/" + d.Service + ", deployment " + d.ID}
	switch {
	case what == atHook:
		e.Next = "run sluice continue to answer the hook, or sluice continue --rollback to roll back"
	case what == engine.HandedToECS && session.IsTaskRun(d.Service):
		e.Next = fmt.Sprintf("run sluice resume %s to wait for the tasks", d.ID)
	case what == engine.HandedToECS || what == engine.HandedToCodeDeploy:
		e.Next = fmt.Sprintf("run sluice resume %s to follow it, or sluice wait --cluster %s --service %s", d.ID, d.Cluster,
			d.Service)
	case waits && approval.AsksGates:
		e.Next = show.DecisionText(fmt.Sprintf("%s, then sluice resume %s", session.ApproveCommand(d.ID, approval), d.ID),
			"sluice rollback "+d.ID)
		e.exit = sluice.ExitAwaitApprove
	case waits:
		e.Next = fmt.Sprintf("run %s, then sluice resume %s", session.ApproveCommand(d.ID, approval), d.ID)
		e.exit = sluice.ExitAwaitApprove
	default:
		e.Next = fmt.Sprintf("run sluice resume %s to continue", d.ID)
	}
	return e, err
}

// describeOutcome describes how a deployment ended. It repeats the cause of a failure, because the
// failure may have been printed long ago.
func describeOutcome(ctx context.Context, j *journal.Journal, d journal.Deployment, want sluice.Outcome) (runEnd, error) {
	events, err := j.Events(ctx, d.ID, 0, 0)
	if err != nil {
		return runEnd{}, err
	}
	e := runEnd{deployment: d, runs: show.LastPrimaryRevision(events), events: events}
	if session.IsTaskRun(d.Service) {
		e.result = show.TaskSummary(d, events)
	} else {
		e.result = show.DeploymentSummary(d, e.runs)
	}
	if d.Next != "" && (d.Outcome != want || d.Outcome == sluice.Succeeded || d.Outcome == sluice.RolledBack) {
		e.Next = d.Next
	}
	switch {
	case d.Outcome == sluice.Gone && want == sluice.Gone && isIdle(d):
		e.result, e.Next = fmt.Sprintf("done: %s/%s has 0 tasks, as requested (%s)", d.Cluster, d.Service, d.ID), ""
	case d.Outcome != want || d.Outcome == sluice.Gone:
		e.exit = d.Outcome.ExitCode()
	}
	return e, nil
}

// isIdle reports whether a deployment is gone only because its desired count is 0.
func isIdle(d journal.Deployment) bool {
	pl, err := session.ReadPlan(d)
	return err == nil && pl.Idle && d.Cause == pl.IdleCause()
}
