package engine

import (
	"cmp"
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
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// stepWait makes one step of a WAIT or a WAIT_APPROVAL. Steps are short, so that the engine reads
// commands in between.
func (r *run) stepWait(ctx context.Context, step plan.Step) (more bool, waiting string, err error) {
	s := r.plan.Stages[step.Index]
	what := describeWait(s, step)
	if step.Expired {
		return r.concludeStage(ctx, s, approvalTimeoutError(r.plan, s, step, "stage", s.Timeout))
	}
	if err := r.announceWait(context.WithoutCancel(ctx), s, step, what); err != nil {
		return false, "", err
	}
	if r.opts.NoWait && (step.Do == plan.AwaitApproval || r.plan.EndsNoWait(s.Index) && !step.Judges) {
		return false, what, r.returnScalingForWait(ctx)
	}
	if err := r.suspendAgain(ctx); err != nil {
		return false, "", err
	}
	if err := r.pollBake(ctx, s, step.Judges); err != nil {
		return r.concludeStage(ctx, s, err)
	}
	d := pollCommands
	if step.Do == plan.WaitUntil {
		d = min(d, max(step.Until.Sub(r.Clock.Now()), time.Millisecond))
	}
	if err := r.Clock.Sleep(ctx, d); err != nil {
		return false, "", r.pauseDeployment(ctx, err.Error())
	}
	return true, "", r.checkOwner(ctx)
}

// approvalTimeoutError is the failure of a stage that was not approved within its timeout, or that of the deployment.
// of is "stage" or "deployment".
func approvalTimeoutError(p *plan.Plan, s plan.Stage, step plan.Step, of string, limit time.Duration) error {
	next := "deploy again and approve in time, or raise the stage's timeout"
	if of == "deployment" {
		next = "deploy again and approve in time, or raise the timeout of the deployment"
	}
	return &sluice.Error{Op: s.Name, Resource: p.ServiceResource(), Kind: sluice.Stall,
		Err: fmt.Errorf("%s missing after the %s's timeout of %s", sluice.Plural(step.Missing, "approval"), of,
			plan.FormatDuration(limit)), Next: next}
}

func describeWait(s plan.Stage, step plan.Step) string {
	if step.Trouble != "" {
		return fmt.Sprintf("the serving version to be healthy again (stage %d)", s.Index+1)
	}
	if step.Undecided != "" {
		return fmt.Sprintf("a decision about %s (stage %d)", step.Undecided, s.Index+1)
	}
	if step.Do == plan.AwaitApproval {
		return fmt.Sprintf("%s of stage %d", sluice.Plural(step.Missing, "approval"), s.Index+1)
	}
	if step.Judges && s.NeedsApproval() {
		return fmt.Sprintf("%s (stage %d)", forVerdict, s.Index+1)
	}
	return fmt.Sprintf("%s to pass (stage %d)", plan.FormatDuration(s.Duration), s.Index+1)
}

// forVerdict is what an approved stage waits for whose gates were not read yet.
const forVerdict = "the gates to be read"

// announceWait begins the waiting stage and reports once what it waits for.
func (r *run) announceWait(ctx context.Context, s plan.Stage, step plan.Step, what string) error {
	if r.announced == what {
		return nil
	}
	r.announced = what
	if err := r.beginWait(ctx, s); err != nil {
		return err
	}
	if err := r.Journal.SetState(ctx, r.d.ID, journal.Waiting); err != nil {
		return err
	}
	if step.Undecided != "" {
		return r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.ApprovalAwaited{Index: s.Index, Missing: step.Missing,
			Undecided: step.Undecided})
	}
	if step.Do == plan.AwaitApproval {
		return r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.ApprovalAwaited{Index: s.Index, Approvers: s.Approvers,
			Missing: step.Missing})
	}
	if step.Trouble != "" {
		return r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.Waiting{For: "the serving version to be healthy again",
			Detail: step.Trouble})
	}
	if step.Judges && s.NeedsApproval() {
		return r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.Waiting{For: forVerdict})
	}
	return r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.Waiting{For: plan.FormatDuration(s.Duration) + " to pass",
		Until: step.Until})
}

// beginWait begins a waiting stage, unless it has begun.
func (r *run) beginWait(ctx context.Context, s plan.Stage) error {
	row, err := r.stageRow(ctx, s.Index)
	if err != nil || row.Attempts > 0 {
		return err
	}
	if row, err = r.Journal.BeginStage(ctx, r.d.ID, s.Index, s.Name); err != nil {
		return err
	}
	return r.emitEvent(ctx, r.d.ID, stageLabel(s), sluice.StageStarted{Index: s.Index, Name: s.Name, Desc: s.Desc,
		Attempt: row.Attempts})
}

// stageRow returns the stage's row in the journal, or a zero value if the stage has not begun.
func (r *run) stageRow(ctx context.Context, index int) (row journal.Stage, err error) {
	stages, err := r.Journal.Stages(context.WithoutCancel(ctx), r.d.ID)
	for _, s := range stages {
		if s.Index == index {
			row = s
		}
	}
	return row, err
}

// finishDeployment finishes all work of the deployment and records the outcome. more is true if its version failed
// meanwhile: then it goes on with a rollback.
func (r *run) finishDeployment(ctx context.Context, step plan.Step) (more bool, err error) {
	ctx = context.WithoutCancel(ctx)
	end, err := r.finishWork(ctx, step.Outcome)
	switch {
	case err != nil:
		return false, errors.Join(r.recordPause(ctx, err.Error()), ignoreHalted(err))
	case end.Unstable != nil:
		return true, r.endStage(ctx, r.plan.LastDeployingStage(), journal.StageFailed, end.Unstable)
	}
	return false, r.endDeployment(ctx, step, end)
}

// endDeployment records the outcome.
func (r *run) endDeployment(ctx context.Context, step plan.Step, end stage.Ending) error {
	step.Outcome, step.Cause = end.Outcome, joinCauses(step.Cause, end.Cause)
	if err := r.warnOfClaim(ctx, end.ClaimErr); err != nil {
		return err
	}
	next := cmp.Or(end.Next, r.adviceText(ctx, step, end))
	if err := r.emitEvent(ctx, r.d.ID, "", sluice.DeploymentEnded{Outcome: step.Outcome, Cause: step.Cause,
		Next: next}); err != nil {
		return err
	}
	return r.Journal.EndDeployment(ctx, r.d.ID, step.Outcome, step.Cause, next)
}

// finishWork finishes the deployment's work in AWS; see [stage.Run.Finish].
func (r *run) finishWork(ctx context.Context, o sluice.Outcome) (stage.Ending, error) {
	back, err := r.stageRow(ctx, len(r.plan.Stages))
	if err != nil {
		return stage.Ending{}, err
	}
	w, err := r.openOutsideStages(stage.Config{CheckRetry: r.checkRetry, IsContinued: !r.ranStage,
		HasRolledBack: back.Attempts > 0})
	if err != nil {
		return stage.Ending{}, err
	}
	return w.Finish(ctx, o)
}

func joinCauses(cause, more string) string {
	if cause == "" || more == "" || strings.Contains(cause, more) {
		return cmp.Or(cause, more)
	}
	return cause + "; " + more
}

// adviceText returns what a person should do now.
func (r *run) adviceText(ctx context.Context, step plan.Step, end stage.Ending) string {
	var all []string
	failed, kept, back := r.lastFailedStage(ctx), end.ClaimErr, r.plan.RollbackCommand(r.d.ID)
	switch step.Outcome {
	case sluice.Succeeded:
	case sluice.Gone:
		all = append(all, r.goneAdvice())
	case sluice.Stopped:
		all = append(all, "run sluice status to see what is running, or sluice rollback to restore the previous state")
	case sluice.Superseded:
		next := adviceAfterEnd(step.Outcome, failed.Next, back)
		if !strings.Contains(next, "sluice ") { // none, or one without a command
			next = seeWhatReplaced
		}
		all = append(all, next)
	default:
		all = append(all, adviceAfterEnd(step.Outcome, failed.Next, back))
	}
	if end.NoFormer { // its rollback has ended, and another one would restore nothing either
		next := adviceAfterEnd(sluice.RolledBack, failed.Next, back)
		all = []string{strings.TrimSuffix(next, "; "+diagnosis.DeployAgain)}
		switch {
		case end.Created:
			all = append(all, deployWorking+orDelete)
		case !strings.Contains(next, "sluice deploy"):
			all = append(all, r.deployWorkedText(ctx))
		}
	}
	if !end.NoFormer && r.canRollBack(step.Outcome) && !r.isBefore(failed.Index) &&
		!strings.Contains(all[0], "sluice rollback ") && !strings.Contains(all[0], "sluice deploy") {
		all = append(all, "restore the previous state: "+back)
	}
	if kept != nil {
		all = append(all, sluice.NextStep(kept), "release the claim on the service: sluice resume "+r.d.ID)
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}

// seeWhatReplaced is the advice about a deployment that another one replaced.
const seeWhatReplaced = "run sluice wait to wait for the newer deployment, or sluice status to see what is running"

// Advice about a service of which no version works.
const (
	deployWorking = "deploy a version that works"
	orDelete      = ", or delete the service: sluice delete --terminate --force" // if the deployment created it
)

// deployWorkedText is the advice to deploy another version than the one that the rollback restored: the newest one
// that a deployment of the journal ended with, if there is one.
func (r *run) deployWorkedText(ctx context.Context) string {
	past, _ := r.Journal.Deployments(ctx, journal.Filter{Account: r.d.Account, Region: r.d.Region, Cluster: r.d.Cluster,
		Service: r.d.Service, At: &r.Endpoint, Limit: maxEarlier}) // unread: the advice names no version
	for _, d := range past {
		p, err := decodePlan(d)
		if err != nil || d.Outcome != sluice.Succeeded {
			continue
		}
		name := p.To
		if saved, err := OpenMemory(r.Journal, d.ID).Registration.Load(ctx); err == nil && saved.Revision != nil {
			name = saved.Revision.Name
		}
		own, _, _ := strings.Cut(r.plan.To, ":") // the family of the files
		if family, number, ok := strings.Cut(name, ":"); ok && family == own && name != r.plan.From {
			return "deploy a version that worked: sluice deploy --revision " + number
		}
	}
	return deployWorking
}

// adviceAfterEnd returns what the next step of a failed stage is after the deployment ended. It was written before: a
// deployment that has ended cannot be resumed, and one that was rolled back needs no rollback. back is the command that
// restores the state before.
func adviceAfterEnd(o sluice.Outcome, next, back string) string {
	switch {
	case o == sluice.RolledBack:
		next = strings.Replace(next, diagnosis.DeployOrRollBack, diagnosis.DeployAgain, 1)
		if strings.Contains(next, "sluice resume") || strings.Contains(next, "sluice rollback") {
			return "run sluice status to see what is running, then deploy again"
		}
	case strings.Contains(next, "sluice resume"):
		return ""
	case !strings.Contains(next, "sluice rollback "+plan.IDPrefix) && !strings.Contains(next, "sluice rollback --"):
		return strings.Replace(next, "sluice rollback", back, 1)
	}
	return next
}

// canRollBack reports whether the deployment ended in a state that a rollback completes.
func (r *run) canRollBack(o sluice.Outcome) bool {
	switch o {
	case sluice.Failed, sluice.Stalled, sluice.TimedOut:
		return r.plan.Mode().HasService()
	}
	return false
}

// goneAdvice returns the next step after a deployment to a service without tasks, or to one that was deleted.
func (r *run) goneAdvice() string {
	if r.plan.Idle {
		return "raise the desired count: sluice deploy --tasks 1"
	}
	return "run sluice deploy to create the service again"
}

// isBefore reports whether a stage is a step before the others, whose failure leaves the service as it was.
func (r *run) isBefore(index int) bool {
	return index >= 0 && index < len(r.plan.Stages) && r.plan.Stages[index].Task != nil &&
		r.plan.Stages[index].Task.When == plan.StepBefore
}

// lastFailedStage returns the end of the last stage that failed with a next step and was not done later. Without one
// its index is -1.
func (r *run) lastFailedStage(ctx context.Context) sluice.StageEnded {
	events, err := r.Journal.Events(ctx, r.d.ID, 0, 0)
	done := map[int]bool{}
	for i := len(events) - 1; i >= 0 && err == nil; i-- {
		switch ev, ok := events[i].Open().(sluice.StageEnded); {
		case !ok:
		case ev.Status == journal.StageDone:
			done[ev.Index] = true
		case ev.Next != "" && !done[ev.Index]:
			return ev
		}
	}
	return sluice.StageEnded{Index: -1}
}

// ReleaseEndedClaim releases the claim of an ended deployment that could not release it itself.
// released is false if the deployment has no claim.
func (e *Engine) ReleaseEndedClaim(ctx context.Context, id string) (released bool, err error) {
	d, err := e.Journal.Deployment(ctx, id)
	if err != nil || d.State != journal.Ended {
		return false, err
	}
	p, err := e.fullPlan(d)
	if err != nil {
		return false, err
	}
	l, err := e.acquireLease(ctx, d)
	if err != nil {
		return false, err
	}
	defer l.release(ctx)
	w, err := (&run{Engine: e, d: d, plan: p, lease: l}).openOutsideStages(stage.Config{CheckRetry: ctx.Err})
	if err != nil {
		return false, err
	}
	return w.Release(ctx, true) // another deployment may have claimed the service since
}
