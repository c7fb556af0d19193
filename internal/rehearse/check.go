package rehearse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
)

// checkChange checks each change of the world when it happens.
func (f *Rehearsal) checkChange(tx *world.Tx, c world.Change) {
	switch o := c.Object.(type) {
	case *world.Listener:
		for _, r := range o.Rules {
			f.rules.checkWeights(tx, r)
		}
	case *world.Service:
		f.sets.checkCanaryEmptied(o)
	case *world.TaskSet:
		f.sets.noteStart(o)
		f.sets.checkUnique(o)
		f.sets.checkEmptied(o)
	case *world.Task:
		f.Tasks.checkRunOnce(o)
	case *world.Target:
		f.rules.noteTarget(tx)
	case *world.Instance:
		f.shares.updateShareDrift(tx)
	}
}

// steadyWait is how long the rehearsal waits for a steady state before the checks of the end:
// drains, failed starts, scheduler loops.
const steadyWait = 15 * time.Minute

// judgeEnd checks the end against the promises.
func (f *Rehearsal) judgeEnd() {
	r := &f.Report.Result
	f.callers.checkLossless()
	kept, err := f.Processes.journalText()
	if err != nil {
		f.Report.Fail("read the journal: %v", err)
	}
	f.causes.checkCause(kept)
	f.Env.Sleep(answersFor)
	f.answers.stopWatch()
	f.answers.checkAnswers()
	f.Env.Sleep(steadyWait - answersFor)
	for range 20 {
		if f.Seconds.running > 0 {
			f.Env.Sleep(steadyWait)
		}
	}
	if r.Outcome != sluice.Succeeded && r.Outcome != sluice.RolledBack && !f.Case.IsJob() {
		f.rollBackUnfinished()
	}
	f.finishEnd(r.Outcome)
	f.Env.InWorld(func(tx *world.Tx) {
		f.Ends.checkDeployedOnce(tx)
		f.Ends.checkStoppedWithRollback(tx)
		if now := f.Ends.unmanagedText(tx); now != f.Ends.unmanagedBefore && !f.Case.HasIntervention(DeleteService) &&
			!f.Case.changesNeighbours() {
			f.Report.AddViolation("P3", "unmanaged resources have changed:\n%s\nbefore:\n%s", now,
				f.Ends.unmanagedBefore)
		}
	})
}

// onEvent receives each event after it is in the journal.
func (f *Rehearsal) onEvent(e sluice.Envelope) {
	fmt.Fprintf(&f.Report.log, "%s [%s] %s %s\n", e.At.Sub(f.Report.start).Round(time.Millisecond), e.Stage, e.Kind,
		e.Data)
	f.rules.checkDriftNoticed(e)
	if f.extension.OnEvent != nil {
		f.extension.OnEvent(e)
	}
	f.shares.trackShare(e)
	switch ev := e.Open().(type) {
	case sluice.StageStarted:
		if _, begun := f.stageStarts[e.Stage]; !begun {
			f.stageStarts[e.Stage] = e.At
		}
	case sluice.StageEnded:
		f.Report.Result.Stages = append(f.Report.Result.Stages, StageTime{e.Stage, e.At.Sub(f.stageStarts[e.Stage])})
		f.Acts.onStageEnded(ev.Index + 1)
	case sluice.Writing:
		f.Scaling.beginWrite(ev.Operation)
	case sluice.Wrote:
		f.Scaling.isWriting = false
		f.Acts.onWriteAnswered()
		if ev.Operation == "ecs:UntagResource" {
			f.Writes.claimUnreleased = ev.Cause != "" && f.Case.HasFault("5xx", "no-send")
		}
	case sluice.Warned:
		f.Writes.claimUnreleased = f.Writes.claimUnreleased ||
			strings.HasPrefix(ev.Message, "the claim on the service was not released") &&
				f.Case.HasFault("5xx", "no-send", "throttle")
	case sluice.FailureSeen:
		f.causes.checkReportedOnce(f.Processes.count, e, ev)
	case sluice.TrafficShifted:
		f.records.checkShift(e, ev)
	case sluice.DeploymentEnded:
		f.Ends.checkOutcome(ev.Outcome)
		f.answers.startWatch(ev)
		f.Acts.performAll(AfterEnd)
	case sluice.ApprovalAwaited:
		f.Processes.approveStage(ev)
	}
}

// isBeyondRollback reports whether no rollback can complete, by the cause of its failure.
func (f *Rehearsal) isBeyondRollback(cause string) bool {
	c := f.Case
	switch {
	case c.HasIntervention(EditRuleFixed), c.HasIntervention(EditRuleDelete), c.HasIntervention(EditRuleElsewhere):
		// ECS completes no deployment in a group that no rule has used since before the deployment.
		return strings.Contains(cause, "not configured to receive traffic")
	case c.HasIntervention(EditRuleGroup) && c.World.AlternatesGroups():
		// The group of the restored version may be the one that was deleted.
		return strings.Contains(cause, "callers do not get it") || strings.Contains(cause, "none is registered in target group")
	case c.World.Controller == "ECS" && (c.World.Lags.Starts > 0 || c.HasNewOption("unhealthy-after")),
		c.World.UsesCodeDeploy() && c.World.Lags.Starts > 0:
		// The tasks of the new version that fail are replaced, and take all starts or all room up to maximumPercent. Only
		// ECS or CodeDeploy can change that.
		return strings.Contains(cause, "no progress for") && f.runsNewVersion()
	}
	return false
}

// runsNewVersion reports whether tasks of the new version run or start.
func (f *Rehearsal) runsNewVersion() (runs bool) {
	f.Env.InWorld(func(tx *world.Tx) {
		for _, t := range tx.Tasks.Values() {
			runs = runs || t.Set != nil && versionOf(t.Set) == "new" && t.StoppingAt.IsZero()
		}
	})
	return runs
}

// rollBackUnfinished runs the rollback that sluice advises after a deployment that ended neither
// fully new nor fully old. It first reverts the edits of rules by others (P2).
func (f *Rehearsal) rollBackUnfinished() {
	if f.Case.HasIntervention(DeleteService) || f.Seconds.Exist() || f.Case.HasIntervention(TakeClaim) {
		return
	}
	f.rules.restoreRules()
	ctx := context.Background()
	if err := f.Processes.start(); err != nil {
		f.Report.Fail("sluice cannot be started: %v", err)
		return
	}
	f.Processes.process.kill = Kill{}
	if err := f.Processes.engine.Reopen(ctx, f.Deployment.ID); err != nil {
		f.Report.AddViolation("P2", "the deployment ended %s (%s) and cannot be reopened: %v", f.Report.Result.Outcome,
			f.Report.Result.Cause, err)
		return
	}
	f.Processes.SendCommand(Rollback)
	hasEnded := false
	f.Acts.answerPauses(func() bool { return hasEnded })
	end, err := f.Processes.engine.Run(ctx, f.Deployment.ID, engine.Options{})
	hasEnded = true
	if end.Outcome == sluice.Failed && (f.Ends.isBlocked() || f.isBeyondRollback(end.Cause)) {
		return
	}
	if err != nil || end.Outcome != sluice.RolledBack {
		f.Report.AddViolation("P2", "the deployment ended %s (%s), and sluice rollback does not complete it: %s %s %v",
			f.Report.Result.Outcome, f.Report.Result.Cause, end.Outcome, end.Cause, err)
		return
	}
	f.Env.Sleep(steadyWait)
	f.Ends.checkState(false)
}

// finishEnd checks the end, and describes the state of the service.
func (f *Rehearsal) finishEnd(o sluice.Outcome) {
	f.Ends.checkEnd(o)
	f.Scaling.checkScaling()
	f.Report.Result.State = f.Ends.stateText()
	if f.extension.CheckEnd != nil {
		f.extension.CheckEnd(o)
	}
}
