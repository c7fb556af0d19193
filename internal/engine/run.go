package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// pollCommands is the interval at which the engine reads people's commands while it waits.
const pollCommands = time.Second

// Run runs a deployment until it ends, pauses or reaches a wait that [Options.NoWait] ends at. A
// cancelled ctx pauses it at a safe point.
//
// The error is about the run, not about the deployment: a deployment that failed and was rolled
// back is no error.
func (e *Engine) Run(ctx context.Context, id string, o Options) (RunResult, error) {
	d, err := e.Journal.Deployment(ctx, id)
	if err != nil {
		return RunResult{}, err
	}
	if d.State == journal.Ended {
		return RunResult{Deployment: d}, nil
	}
	p, err := e.fullPlan(d)
	if err != nil {
		return RunResult{Deployment: d}, err
	}
	l, err := e.acquireLease(ctx, d)
	if err != nil {
		return RunResult{Deployment: d}, err
	}
	defer l.release(ctx)
	r := &run{Engine: e, d: d, plan: p, lease: l, opts: o}
	r.checkRetry = func() error { return r.checkContinue(ctx) }
	if r.seqAtStart, err = e.lastCommandSeq(ctx, id); err != nil {
		return RunResult{Deployment: d}, err
	}
	if err := r.emitResumed(ctx); err != nil {
		return RunResult{Deployment: d}, err
	}
	waiting, err := r.runSteps(ctx)
	if errors.Is(err, journal.ErrUnusable) && !errors.Is(err, ErrTakenOver) {
		err = r.pauseUnwritable(ctx, err)
	}
	d, readErr := e.Journal.Deployment(context.WithoutCancel(ctx), id)
	return RunResult{Deployment: d, WaitingFor: waiting}, errors.Join(err, readErr)
}

// run is one engine that runs one deployment.
type run struct {
	*Engine
	d              journal.Deployment
	plan           *plan.Plan
	lease          *lease
	opts           Options
	seqAtStart     int64        // Seq of the last command before this run
	announced      string       // the wait that was reported last
	suspendedAgain bool         // suspendAgain has run
	facts          stage.Facts  // what the stages of this run read once
	bake           *bake        // monitor of the waiting stage
	ranStage       bool         // a stage or a wait; else another process ran the last one
	checkRetry     func() error // an error stops retries of a call without an answer
}

// emitResumed reports that a deployment with begun stages continues. One that is aborted does not.
func (r *run) emitResumed(ctx context.Context) error {
	stages, err := r.Journal.Stages(ctx, r.d.ID)
	if err != nil || len(stages) == 0 {
		return err
	}
	commands, err := r.readCommands(ctx)
	if err != nil || plan.CommandInForce(commands) == plan.Abort {
		return err
	}
	return r.emitEvent(ctx, r.d.ID, "", sluice.DeploymentResumed{By: r.Owner})
}

func (r *run) runSteps(ctx context.Context) (waiting string, err error) {
	for {
		if ctx.Err() != nil {
			return "", r.pauseDeployment(ctx, context.Cause(ctx).Error())
		}
		if err := r.checkOwner(ctx); err != nil {
			return "", err
		}
		step, err := r.nextStep(context.WithoutCancel(ctx)) // an interrupt takes effect between steps
		if err != nil {
			return "", err
		}
		if err := r.endPassedWaits(context.WithoutCancel(ctx), step.Passed); err != nil {
			return "", err
		}
		var more bool
		switch step.Do {
		case plan.RunStage:
			r.ranStage = true
			more, waiting, err = r.runStage(ctx, step)
		case plan.WaitUntil, plan.AwaitApproval:
			r.ranStage = true
			more, waiting, err = r.stepWait(ctx, step)
		case plan.StayPaused:
			return "", r.pauseDeployment(ctx, "paused by a user")
		case plan.Finish:
			more, err = r.finishDeployment(ctx, step)
		}
		if err != nil || !more {
			return waiting, err
		}
	}
}

// nextStep returns the next step, computed from everything in the journal.
func (r *run) nextStep(ctx context.Context) (plan.Step, error) {
	ctx = context.WithoutCancel(ctx)
	stages, err := r.Journal.Stages(ctx, r.d.ID)
	if err != nil {
		return plan.Step{}, err
	}
	commands, err := r.readCommands(ctx)
	if err != nil {
		return plan.Step{}, err
	}
	asked, err := r.gatesAsked(ctx, commands)
	var results []plan.Result
	for _, s := range stages {
		results = append(results, plan.Result{Index: s.Index, Status: plan.Status(s.Status), Began: s.Began,
			Kind: s.Kind, Cause: s.Cause, Trouble: r.bake.troubleOf(s.Index), Gates: r.bake.gatesOf(s.Index),
			Asked: asked[s.Index]})
	}
	return plan.Next(r.plan, results, commands, r.Clock.Now()), err
}

func (r *run) readCommands(ctx context.Context) ([]plan.Command, error) {
	rows, err := r.Journal.Commands(ctx, r.d.ID, 0)
	var all []plan.Command
	for _, c := range rows {
		index, _ := strconv.Atoi(c.Stage)
		all = append(all, plan.Command{Kind: c.Kind, Stage: index, By: c.By, At: c.At})
	}
	return all, err
}

// endPassedWaits records the end of waiting stages whose time or approvals are complete. A stage that people approved
// before it waited begins here.
func (r *run) endPassedWaits(ctx context.Context, passed []int) error {
	for _, i := range passed {
		s := r.plan.Stages[i]
		if err := r.beginWait(ctx, s); err != nil {
			return err
		}
		if err := r.Journal.EndStage(ctx, r.d.ID, i, journal.StageDone, "", ""); err != nil {
			return err
		}
		if err := r.emitApprovals(ctx, s); err != nil {
			return err
		}
		if err := r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.StageEnded{Index: i, Name: s.Name,
			Status: journal.StageDone}); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) emitApprovals(ctx context.Context, s plan.Stage) error {
	if s.Approvals == 0 {
		return nil
	}
	commands, err := r.readCommands(ctx)
	for _, c := range commands {
		if c.Kind == plan.Approve && c.Stage == s.Index {
			err = errors.Join(err, r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.Approved{Index: s.Index, By: c.By}))
		}
	}
	return err
}

// runStage runs one stage, or the rollback. more is false if the run ends here.
func (r *run) runStage(ctx context.Context, step plan.Step) (more bool, waiting string, err error) {
	s := r.plan.Stage(step.Index)
	if err := r.checkFiles(ctx, s); err != nil {
		return false, "", errors.Join(r.pauseDeployment(ctx, err.Error()), err)
	}
	row, err := r.beginStage(ctx, s, step.Cause)
	if err != nil {
		return false, "", err
	}
	return r.concludeStage(ctx, s, r.executeStage(ctx, s, row.Began))
}

// concludeStage records how a stage ended and returns whether the run continues.
func (r *run) concludeStage(ctx context.Context, s plan.Stage, err error) (more bool, waiting string, _ error) {
	switch kind := sluice.KindOf(err); {
	case err == nil:
		return true, "", r.endStage(ctx, s, journal.StageDone, nil)
	case errors.Is(err, ErrTakenOver):
		return false, "", err
	case errors.Is(err, stage.ErrHandedOver):
		waiting, err = r.handOver(ctx, s, err)
		return false, waiting, err
	case kind == sluice.Halted && ctx.Err() == nil && r.hasEndingCommand(ctx, s):
		return true, "", nil // plan.Next decides what the command leads to
	case errors.Is(err, journal.ErrUnusable):
		return false, "", err
	case kind == sluice.Halted, canResume(err):
		return false, "", errors.Join(r.pauseDeployment(ctx, err.Error()), ignoreHalted(err))
	default:
		return true, "", r.endStage(ctx, s, journal.StageFailed, err)
	}
}

// pauseUnwritable pauses because the journal cannot be written; the deployment itself is not
// affected. If the pause cannot be recorded either, it is only shown: the row still says running, and a resume works
// the same way.
func (r *run) pauseUnwritable(ctx context.Context, why error) error {
	switch err := r.pauseDeployment(ctx, why.Error()); {
	case errors.Is(err, journal.ErrUnusable):
		r.showEvent(r.d.ID, "", sluice.DeploymentPaused{Why: why.Error()})
	case err != nil:
		return errors.Join(err, why)
	}
	return why
}

// canResume reports whether a call to AWS got no answer: the deployment itself is then not
// affected. One such error among several is enough.
func canResume(err error) bool {
	if sluice.KindOf(err).CanResume() {
		return true
	}
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && slices.ContainsFunc(joined.Unwrap(), canResume)
}

// checkContinue returns an error once the run is interrupted or taken over.
func (r *run) checkContinue(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return &sluice.Error{Op: "run " + r.d.ID, Resource: r.d.Cluster + "/" + r.d.Service, Kind: sluice.Halted,
			Err: err}
	}
	return r.checkOwner(ctx)
}

func (r *run) beginStage(ctx context.Context, s plan.Stage, cause string) (journal.Stage, error) {
	ctx = context.WithoutCancel(ctx)
	row, err := r.Journal.BeginStage(ctx, r.d.ID, s.Index, s.Name)
	if err != nil {
		return row, err
	}
	if s.Index == len(r.plan.Stages) && row.Attempts == 1 {
		if err := r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.RollbackStarted{Cause: cause}); err != nil {
			return row, err
		}
	}
	if err := r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.StageStarted{Index: s.Index, Name: s.Name, Desc: s.Desc,
		Attempt: row.Attempts}); err != nil {
		return row, err
	}
	return row, r.Journal.SetState(ctx, r.d.ID, journal.Running)
}

// Reasons of a wait for a deployment that was handed over to ECS or CodeDeploy.
const (
	toEndIt            = " to end it"
	HandedToECS        = "ECS" + toEndIt
	HandedToCodeDeploy = "CodeDeploy" + toEndIt
)

// handOver hands the deployment over to ECS or CodeDeploy. It releases the claim, because sluice
// does not write until a resume, and records that the deployment waits.
func (r *run) handOver(ctx context.Context, s plan.Stage, left error) (waiting string, err error) {
	ctx = context.WithoutCancel(ctx)
	if err := r.returnScalingForWait(ctx); err != nil {
		return "", err
	}
	w, err := r.openOutsideStages(stage.Config{CheckRetry: r.checkRetry})
	if err == nil {
		_, err = w.Release(ctx, false)
	}
	if err := r.warnOfClaim(ctx, err); err != nil {
		return "", err
	}
	if err := r.Journal.SetState(ctx, r.d.ID, journal.Waiting); err != nil {
		return "", err
	}
	to := r.plan.Mode().Deployer() + toEndIt
	return to, r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.Waiting{For: to, Detail: sluice.Inner(left).Error()})
}

// warnOfClaim warns if the claim on the service was not released. The deployment goes on to its end anyway;
// [Engine.ReleaseEndedClaim] releases the claim later.
func (r *run) warnOfClaim(ctx context.Context, why error) error {
	if why == nil {
		return nil
	}
	return r.emitEvent(ctx, r.d.ID, "", sluice.Warned{Message: "the claim on the service was not released: " + why.Error()})
}

// checkFiles returns an error if the stage needs values that the journal does not keep. Without
// them, only a deployment with a registered revision can continue.
func (r *run) checkFiles(ctx context.Context, s plan.Stage) error {
	if s.Index == len(r.plan.Stages) {
		return nil
	}
	if r.plan.ServiceRedacted != "" {
		return r.missingFilesError("the service definition has secret values, and the journal does not keep them")
	}
	if !r.plan.Redacted || r.plan.IsRegistered() {
		return nil
	}
	saved, err := OpenMemory(r.Journal, r.d.ID).Registration.Load(ctx)
	if err != nil || saved.Revision != nil {
		return err
	}
	return r.missingFilesError("the task definition is not registered yet, and the journal does not keep the values " +
		"of its environment or other secrets")
}

func (r *run) missingFilesError(why string) error {
	return &sluice.Error{Op: "resume " + r.d.ID, Resource: r.d.Cluster + "/" + r.d.Service, Err: errors.New(why),
		Next: "run sluice resume in the application's folder with its files unchanged, or run sluice abort"}
}

func ignoreHalted(err error) error {
	if sluice.KindOf(err) == sluice.Halted {
		return nil
	}
	return err
}

func (r *run) executeStage(ctx context.Context, s plan.Stage, began time.Time) error {
	w, h, err := r.openStage(s, began)
	if err != nil {
		return err
	}
	if err := w.Execute(ctx); err != nil {
		return err
	}
	return h.recordingError()
}

// openStage opens a stage for this engine.
func (r *run) openStage(s plan.Stage, began time.Time) (*stage.Run, *host, error) {
	h := &host{engine: r.Engine, deployment: r.d.ID, stage: stageLabel(s), began: began}
	opts := r.opts
	if s.Index == len(r.plan.Stages) {
		opts = Options{} // a rollback is followed to its end
	}
	w, err := stage.Open(stage.Config{Account: r.Account, Clock: r.Clock, Plan: r.plan, Index: s.Index,
		Deployment: r.d.ID, Host: h, Facts: &r.facts, OutsideAWS: r.OutsideAWS,
		HandOver: opts.NoWait && r.plan.EndsAfter(s.Index), HandOverAt: opts.Until,
		Interrupt: func(ctx context.Context) error { return r.checkInterrupt(ctx, s) }})
	return w, h, err
}

// checkInterrupt is called at every poll of a stage. An error stops the stage.
func (r *run) checkInterrupt(ctx context.Context, s plan.Stage) error {
	now := r.Clock.Now()
	if err := r.checkOwner(ctx); err != nil {
		return err
	}
	if limit := r.plan.Timeout; limit > 0 && s.Index < len(r.plan.Stages) && now.Sub(r.d.Began) > limit {
		if step, err := r.nextStep(ctx); err == nil && step.Do == plan.AwaitApproval && step.Index == s.Index {
			return approvalTimeoutError(r.plan, s, step, "deployment", limit)
		}
		return &sluice.Error{Op: s.Name, Resource: r.d.ID, Kind: sluice.Stall,
			Err: fmt.Errorf("the deployment's timeout of %s passed", limit), Next: r.plan.NextAfterTaskTimeout()}
	}
	if r.hasEndingCommand(ctx, s) {
		return &sluice.Error{Op: s.Name, Resource: r.d.ID, Kind: sluice.Halted,
			Err: errors.New("requested by a user")}
	}
	return nil
}

// hasEndingCommand reports whether a person's command ends the running stage.
func (r *run) hasEndingCommand(ctx context.Context, s plan.Stage) bool {
	commands, err := r.readCommands(context.WithoutCancel(ctx))
	if err != nil {
		return false
	}
	standing := plan.CommandInForce(commands)
	if s.Index == len(r.plan.Stages) && standing == plan.RollbackNow {
		return false
	}
	return standing != ""
}

func (r *run) endStage(ctx context.Context, s plan.Stage, status string, cause error) error {
	ev := sluice.StageEnded{Index: s.Index, Name: s.Name, Status: status, Next: sluice.NextStep(cause)}
	if cause != nil {
		ev.Cause = cause.Error()
	}
	if o := sluice.KindOf(cause).Outcome(); cause != nil && o == sluice.Superseded {
		ev.Outcome = o
	}
	if err := r.Journal.EndStage(context.WithoutCancel(ctx), r.d.ID, s.Index, status, ev.Cause,
		sluice.KindOf(cause)); err != nil {
		return err
	}
	return r.emitEvent(ctx, r.d.ID, stageLabel(s), ev)
}

// pauseDeployment restores auto scaling and records that the deployment is paused. It can be
// resumed.
func (r *run) pauseDeployment(ctx context.Context, why string) error {
	return errors.Join(r.tryReturnScaling(ctx), r.recordPause(ctx, why))
}

func (r *run) recordPause(ctx context.Context, why string) error {
	ctx = context.WithoutCancel(ctx)
	if err := r.Journal.SetState(ctx, r.d.ID, journal.Paused); err != nil {
		return err
	}
	return r.emitEvent(ctx, r.d.ID, "", sluice.DeploymentPaused{Why: why})
}

// stageLabel returns the name of a stage in events: "2 ECS_TRAFFIC_ROUTING", counted from 1.
func stageLabel(s plan.Stage) string { return fmt.Sprintf("%d %s", s.Index+1, s.Name) }
