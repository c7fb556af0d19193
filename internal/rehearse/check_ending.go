package rehearse

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// rollBackUnfinished runs the rollback that sluice advises after a deployment that ended neither
// fully new nor fully old. It first reverts the edits of rules by others (P2).
func (f *Rehearsal) rollBackUnfinished() {
	if f.HasIntervention(DeleteService) || f.HasSecondSluice() || f.HasIntervention(TakeClaim) {
		return
	}
	f.restoreRules()
	ctx := context.Background()
	if err := f.startProcess(); err != nil {
		f.Fail("sluice cannot be started: %v", err)
		return
	}
	f.process.kill = Kill{}
	if err := f.engine.Reopen(ctx, f.id); err != nil {
		f.AddViolation("P2", "the deployment ended %s (%s) and cannot be reopened: %v", f.Result.Outcome,
			f.Result.Cause, err)
		return
	}
	f.SendCommand(Rollback)
	end, err := f.engine.Run(ctx, f.id, engine.Options{})
	if end.Outcome == sluice.Failed && f.isBlocked() {
		return
	}
	if err != nil || end.Outcome != sluice.RolledBack {
		f.AddViolation("P2", "the deployment ended %s (%s), and sluice rollback does not complete it: %s %s %v",
			f.Result.Outcome, f.Result.Cause, end.Outcome, end.Cause, err)
		return
	}
	f.Sleep(steadyWait)
	f.checkState(false)
}

// isBlocked reports whether ECS can neither stop nor start a task of the service, because auto scaling
// set a count at which its limits leave no room. Then no deployment of any tool can end.
func (f *Rehearsal) isBlocked() (blocked bool) {
	f.InWorld(func(tx *world.Tx) {
		s := f.FindService(tx)
		blocked = s != nil && f.World.Scaling.IsActive() && f.World.Percents.Block(s.Desired)
	})
	return blocked
}

// checkEnd checks that the service is fully new or fully old, without leftovers (P2, P3).
func (f *Rehearsal) checkEnd(o sluice.Outcome) {
	if f.IsJob() {
		f.checkState(false)
		f.finishEnd(o)
		return
	}
	switch o {
	case sluice.Succeeded:
		if f.MustFail() {
			f.AddViolation("P2", "the deployment succeeded with a version that cannot serve")
		}
		if f.StepsFail() {
			f.AddViolation("P2", "the deployment succeeded, but one of its steps failed")
		}
		f.checkState(true)
	case sluice.RolledBack:
		f.checkState(false)
	}
	f.finishEnd(o)
}

// finishEnd makes the checks of every end, and describes the state of the service.
func (f *Rehearsal) finishEnd(o sluice.Outcome) {
	f.checkScaling()
	f.Result.State = f.stateText()
	if f.extension.CheckEnd != nil {
		f.extension.CheckEnd(o)
	}
}

// checkState checks that exactly one version serves, with all its tasks. Rules, tags and groups
// must be as before or as planned.
func (f *Rehearsal) checkState(fresh bool) {
	if f.HasIntervention(DeleteService) {
		return
	}
	want := "old"
	if fresh || f.secondDeployedNew {
		want = "new"
	}
	f.InWorld(func(tx *world.Tx) {
		s := f.FindService(tx)
		if s == nil || s.Status != "ACTIVE" {
			f.AddViolation("P2", "the service is not ACTIVE")
			return
		}
		f.checkSingleSet(s, want)
		f.checkCanaryDeleted(tx)
		f.checkRules(tx, fresh)
		f.checkTargets(tx, s)
		f.checkRegistered(tx, s)
		if n := f.countRevisions(tx); n > 2 {
			f.AddViolation("P3", "%d revisions were registered", n-1)
		}
	})
	f.checkManagedTags(fresh)
	for k, v := range f.serviceTags() {
		if k == plan.ClaimTag && !strings.Contains(v, "second") && !f.HasIntervention(TakeClaim) &&
			!f.HasFault("expired-credentials") && !f.claimUnreleased {
			f.AddViolation("P3", "the claim was not released: %s", v)
		}
	}
}

// checkSingleSet checks that there is one task set, of the version that must serve.
func (f *Rehearsal) checkSingleSet(s *world.Service, want string) {
	if n := len(s.TaskSets) - f.countSecondSets(s) - f.countOtherToolSets(s); n != 1 {
		f.AddViolation("P2", "%d task sets remain, not one", n)
	}
	p := s.Primary()
	if p == nil {
		f.AddViolation("P2", "no task set is PRIMARY")
		return
	}
	if v := f.versionOf(p); v != want {
		f.AddViolation("P2", "version %s serves, not %s", v, want)
	}
	moves := f.World.Scaling.IsActive()
	if s.Desired != f.desired && !f.HasIntervention(SetDesiredCount) && !moves {
		f.AddViolation("P3", "the desired count is %d; it was %d", s.Desired, f.desired)
	}
	keepsScale := f.OutsidePolicy == "adopt" && f.HasIntervention(ScaleCanary) // docs/operations.md, "External changes"
	tasks := s.Desired
	if keepsScale {
		tasks = int(math.Ceil(float64(s.Desired) * p.Scale / 100))
	}
	if n := p.Count((*world.Task).IsRunning); n != tasks && !(want == "new" && f.MayLoseRequests()) && !moves {
		f.AddViolation("P2", "%d of %d tasks run", n, tasks)
	}
	if p.Scale != 100 && s.Controller == "EXTERNAL" && !keepsScale {
		f.AddViolation("P3", "the scale of the serving task set is %g%%", p.Scale)
	}
}

// countSecondSets counts the task sets of a second sluice that claimed the service at the same
// moment, then lost the claim and reported it. AWS has no compare-and-set.
func (f *Rehearsal) countSecondSets(s *world.Service) (n int) {
	for _, ts := range s.TaskSets {
		if !f.secondFinished && strings.HasPrefix(ts.ExternalID, plan.IDPrefix+"second") {
			n++
		}
	}
	return n
}

// stateText returns the state of the service in a line: task sets, weights, tags.
func (f *Rehearsal) stateText() string {
	var parts []string
	f.InWorld(func(tx *world.Tx) {
		s := f.FindService(tx)
		if s == nil || s.Status != "ACTIVE" {
			parts = append(parts, "no service")
			return
		}
		for _, ts := range s.TaskSets {
			parts = append(parts, fmt.Sprintf("%s %s %g%% %d running", ts.Status, f.versionOf(ts), ts.Scale,
				ts.Count((*world.Task).IsRunning)))
		}
		slices.Sort(parts)
		for _, r := range f.forwardingRules(tx) {
			parts = append(parts, f.ruleText(s, r))
		}
		if s := scalingOf(tx); s != "" && s == f.expectedScaling {
			parts = append(parts, "auto scaling as expected")
		} else if s != "" {
			parts = append(parts, s)
		}
		if f.World.UsesCloudMap() {
			parts = append(parts, f.registeredText(tx))
		}
	})
	for k := range f.serviceTags() {
		if k == plan.ClaimTag {
			parts = append(parts, "claimed")
		}
	}
	return strings.Join(parts, "; ")
}

func (f *Rehearsal) versionOf(ts *world.TaskSet) string {
	for _, c := range ts.Definition.Containers {
		if c.Image == OldImage {
			return "old"
		}
	}
	return "new"
}

// WasUnanswered reports whether the deployment ended because AWS did not answer. Create and read
// calls have a limited number of attempts, and the faults of the case may fail all of them. The
// deployment then rolls back.
func (f *Rehearsal) WasUnanswered() bool {
	c := f.Result.Cause
	return f.HasFault("no-send", "5xx") && (strings.Contains(c, sluice.ErrUnanswered.Error()) ||
		strings.HasSuffix(c, "at attempt 6"))
}
