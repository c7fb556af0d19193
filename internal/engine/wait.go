package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage"
)

// stepWait makes one step of a WAIT or a WAIT_APPROVAL. Steps are short, so that the engine reads
// commands in between.
func (r *run) wait(ctx context.Context, step plan.Step) (more bool, waiting string, err error) {
	s := r.plan.Stages[step.Index]
	what := describe(s, step)
	if err := r.announce(context.WithoutCancel(ctx), s, step, what); err != nil {
		return false, "", err
	}
	if r.opts.NoWait {
		return false, what, r.leaveWaiting(ctx)
	}
	if err := r.again(ctx); err != nil {
		return false, "", err
	}
	if err := r.look(ctx, s); err != nil {
		return r.concluded(ctx, s, err)
	}
	d := pollCommands
	if step.Do == plan.WaitUntil {
		d = min(d, max(step.Until.Sub(r.Clock.Now()), time.Millisecond))
	}
	if err := r.Clock.Sleep(ctx, d); err != nil {
		return false, "", r.pause(ctx, err.Error())
	}
	return true, "", r.mine(ctx)
}

func describe(s plan.Stage, step plan.Step) string {
	if step.Trouble != "" {
		return fmt.Sprintf("what serves to be whole again (stage %d)", s.Index+1)
	}
	if step.Do == plan.AwaitApproval {
		return fmt.Sprintf("%s of stage %d", sluice.Plural(step.Missing, "approval"), s.Index+1)
	}
	return fmt.Sprintf("%s to pass (stage %d)", plan.Duration(s.Duration), s.Index+1)
}

// announceWait begins the waiting stage and reports once what it waits for.
func (r *run) announce(ctx context.Context, s plan.Stage, step plan.Step, what string) error {
	if r.told == what {
		return nil
	}
	r.told = what
	row, err := r.row(ctx, s.Index)
	if err != nil {
		return err
	}
	if row.Attempts == 0 {
		row, err := r.Journal.BeginStage(ctx, r.d.ID, s.Index, s.Name)
		if err != nil {
			return err
		}
		if err := r.emit(ctx, r.d.ID, label(s), sluice.StageStarted{Index: s.Index, Name: s.Name, Desc: s.Desc, Attempt: row.Attempts}); err != nil {
			return err
		}
	}
	if err := r.Journal.SetState(ctx, r.d.ID, journal.Waiting); err != nil {
		return err
	}
	if step.Do == plan.AwaitApproval {
		return r.emit(ctx, r.d.ID, label(s), sluice.ApprovalAwaited{Index: s.Index, Approvers: s.Approvers, Missing: step.Missing})
	}
	if step.Trouble != "" {
		return r.emit(ctx, r.d.ID, label(s), sluice.Waiting{For: "what serves to be whole again", Detail: step.Trouble})
	}
	return r.emit(ctx, r.d.ID, label(s), sluice.Waiting{For: plan.Duration(s.Duration) + " to pass", Until: step.Until})
}

// stageRow returns the stage's row in the journal, or a zero value if the stage has not begun.
func (r *run) row(ctx context.Context, index int) (row journal.Stage, err error) {
	stages, err := r.Journal.Stages(context.WithoutCancel(ctx), r.d.ID)
	for _, s := range stages {
		if s.Index == index {
			row = s
		}
	}
	return row, err
}

// finishDeployment releases the claim and records the outcome.
func (r *run) finish(ctx context.Context, step plan.Step) error {
	ctx = context.WithoutCancel(ctx)
	if step.Outcome == sluice.Succeeded {
		if err := r.tidy(ctx); err != nil {
			return err
		}
	}
	if err := r.giveBack(ctx, stage.Config{Ask: r.ask}); err != nil {
		return errors.Join(r.paused(ctx, err.Error()), unlessHalted(err))
	}
	step, w, err := r.confirmed(ctx, step)
	if err != nil {
		return errors.Join(r.paused(ctx, err.Error()), unlessHalted(err))
	}
	kept := w.Release(ctx, step.Outcome == sluice.Superseded)
	switch {
	case errors.Is(kept, stage.ErrNotSaved), hasNoAnswer(kept):
		return errors.Join(r.paused(ctx, kept.Error()), unlessHalted(kept))
	case kept != nil:
		// The deployment has ended anyway; [Engine.ReleaseLeft] releases the claim later.
		if err := r.emit(ctx, r.d.ID, "", sluice.Warned{Message: "the claim on the service was not given back: " + kept.Error()}); err != nil {
			return err
		}
	}
	next := r.advice(ctx, step, kept)
	if err := r.emit(ctx, r.d.ID, "", sluice.DeploymentEnded{Outcome: step.Outcome, Cause: step.Cause, Next: next}); err != nil {
		return err
	}
	return r.Journal.End(ctx, r.d.ID, step.Outcome, step.Cause, next)
}

// hasNoAnswer reports whether a call was given up because AWS did not answer.
func hasNoAnswer(err error) bool {
	kind := sluice.KindOf(err)
	return kind == sluice.Unreachable || kind == sluice.Throttled || kind == sluice.Halted
}

// adviceText returns what a person should do now. kept is why the claim was not released.
func (r *run) advice(ctx context.Context, step plan.Step, kept error) string {
	var all []string
	switch step.Outcome {
	case sluice.Succeeded:
	case sluice.Stopped:
		all = append(all, "sluice status shows what stands; sluice rollback returns to what was")
	default:
		all = append(all, r.advised(ctx, step))
	}
	if back := "sluice rollback " + r.d.ID; r.canReturn(step.Outcome) && !strings.Contains(all[0], back) && !strings.Contains(all[0], "sluice deploy") {
		all = append(all, back+" returns to what was")
	}
	if kept != nil {
		all = append(all, sluice.NextStep(kept), "sluice resume "+r.d.ID+" gives the claim on the service back")
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// canRollBack reports whether the deployment ended in a state that a rollback completes.
func (r *run) canReturn(o sluice.Outcome) bool {
	switch o {
	case sluice.Failed, sluice.Stalled, sluice.TimedOut:
		return !r.plan.Standalone
	}
	return false
}

// failedStageAdvice returns the next step of the last failed stage.
func (r *run) advised(ctx context.Context, step plan.Step) string {
	if step.Outcome == sluice.Gone && r.plan.Idle {
		return "raise the desired count: sluice deploy --tasks 1"
	}
	events, err := r.Journal.Events(ctx, r.d.ID, 0, 0)
	if err != nil {
		return ""
	}
	for i := len(events) - 1; i >= 0; i-- {
		if ev, ok := events[i].Open().(sluice.StageEnded); ok && ev.Next != "" {
			return ev.Next
		}
	}
	return ""
}

// ReleaseEndedClaim releases the claim of an ended deployment that could not release it itself.
// released is false if the deployment has no claim.
func (e *Engine) ReleaseLeft(ctx context.Context, id string) (released bool, err error) {
	d, err := e.Journal.Deployment(ctx, id)
	if err != nil || d.State != journal.Ended {
		return false, err
	}
	p, err := e.complete(d)
	if err != nil {
		return false, err
	}
	l, err := e.hold(ctx, d)
	if err != nil {
		return false, err
	}
	defer l.release(ctx)
	w, err := (&run{Engine: e, d: d, plan: p, lease: l}).around(stage.Config{Ask: ctx.Err})
	if err != nil {
		return false, err
	}
	return w.ReleaseLeft(ctx)
}
