package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// lifecycle is the course of a rollout whose strategy is not rolling. Each turn of the scheduler's
// loop continues it. A stage does its work, then runs its hooks, then holds for its bake time.
type lifecycle struct {
	strategy    Strategy
	blue, green *world.TaskSet // blue is nil for the first deployment of a service
	before      *Rollout       // the rollout before this one, or nil

	stage    string
	entered  time.Time
	stages   int       // entered so far
	isBack   bool      // the rollback has begun
	settleAt time.Time // the weights written in this stage have reached the nodes; zero: none written
	holdTill time.Time // end of the bake time in this stage
	leaveAt  time.Time // the stage is over, and the next one begins then

	production, test Share // of green
	hooks            []*HookRun
	stageHooks       int          // index of the stage's first hook
	hooksStarted     bool         // in this stage
	othersLeave      bool         // revisions other than blue and green are stopped
	failure          failureCause // found by the stage; without an event: none
}

// newLifecycle prepares the rollout of a deployment that is not rolling. It selects the revision
// that serves until then, and for each pair of target groups the one that revision does not use.
func newLifecycle(r *Rollout, blue *world.TaskSet, before *Rollout) *lifecycle {
	l := &lifecycle{strategy: r.rules().Strategy, blue: blue, green: r.Target, before: before}
	for i := range l.green.Attached {
		if a := &l.green.Attached[i]; a.Alternate != "" && blue != nil && usesGroup(blue, a.TargetGroup) {
			a.TargetGroup, a.Alternate = a.Alternate, a.TargetGroup
		}
	}
	return l
}

func usesGroup(ts *world.TaskSet, group string) bool {
	for _, a := range ts.Attached {
		if a.TargetGroup == group {
			return true
		}
	}
	return false
}

// servingSet returns the deployment of a service to which the next one can go back: the newest
// completed one, or the one that a rollback restores. Without one, it is the PRIMARY one if it had
// production traffic. Nil: there is none.
func servingSet(svc *world.Service) *world.TaskSet {
	last := latestRollout(svc)
	if last != nil && last.Rollback != nil && last.isActive() {
		return last.Rollback.To
	}
	for i := len(svc.TaskSets) - 1; i >= 0; i-- {
		if svc.TaskSets[i].RolloutState == "COMPLETED" {
			return svc.TaskSets[i]
		}
	}
	if last != nil && last.lifecycle != nil && last.lifecycle.production == 0 {
		return nil
	}
	return svc.Primary()
}

// wants reports whether the tasks of a deployment shall run now.
func (l *lifecycle) wants(ts *world.TaskSet) bool {
	leaves := l.stage == StageCleanUp
	switch ts {
	case l.blue:
		return l.isBack || !leaves
	case l.green:
		if l.isBack {
			return !leaves
		}
		return l.stage != "" && l.stage != StageReconcile && l.stage != StagePreScaleUp
	}
	return !l.othersLeave && l.stage == StageReconcile
}

// reconcileLifecycle is one turn of the scheduler's loop for a service whose newest rollout is not
// rolling and still runs. A cause of failure is looked for before and after the stage's work.
func reconcileLifecycle(tx *world.Tx, svc *world.Service, r *Rollout) {
	for range 2 {
		if c, failed := r.findFailure(tx); failed {
			r.failLifecycle(tx, c)
		}
		if !r.isActive() {
			return
		}
		r.lifecycle.advance(tx, r)
	}
	if r.isActive() {
		keepRevisions(tx, svc, r.lifecycle)
	}
}

// keepRevisions keeps the wanted deployments at the desired count, each for itself: the percentages
// of a rolling update do not limit the new revision. It stops the others.
func keepRevisions(tx *world.Tx, svc *world.Service, l *lifecycle) {
	for _, ts := range svc.TaskSets {
		c := countTasks(tx, ts)
		want := 0
		if l.wants(ts) {
			want = svc.Desired
			replaceMissing(tx, ts, c, want, upperLimit(want, svc.MaxPercent)-len(c.wanted))
		}
		if extra := len(c.wanted) - want; want == 0 && extra > 0 {
			scaleIn(tx, ts, c.wanted)
		} else if extra = len(c.usable) - want; extra > 0 {
			scaleIn(tx, ts, chooseSurplus(c.usable, extra))
		}
	}
}

// advance continues the stage, and enters the following ones if they are due.
func (l *lifecycle) advance(tx *world.Tx, r *Rollout) {
	if l.stage == "" {
		l.enterFirst(tx, r)
	}
	for r.isActive() && !l.hasFailed() {
		if l.leaveAt.IsZero() {
			if !l.isStageOver(tx, r) {
				return
			}
			k := tx.Settings().LifecycleStep
			l.leaveAt = tx.Now().Add(tx.RandomBetween(k.Min, k.Max, "lifecycle", r.ID, l.stages))
		}
		if l.leaveAt.After(tx.Now()) {
			reconcileAt(tx, r.service, l.leaveAt)
			return
		}
		if l.stage == StageCleanUp {
			completeRollout(tx, r.service, r)
			return
		}
		l.enter(tx, r, l.nextStage())
	}
}

func (l *lifecycle) enterFirst(tx *world.Tx, r *Rollout) {
	if len(l.others(r.service)) > 0 {
		l.enter(tx, r, StageReconcile)
		return
	}
	l.enter(tx, r, StagePreScaleUp)
}

// others returns the deployments that are neither the present nor the new revision.
func (l *lifecycle) others(svc *world.Service) (all []*world.TaskSet) {
	for _, ts := range svc.TaskSets {
		if ts != l.blue && ts != l.green {
			all = append(all, ts)
		}
	}
	return all
}

// nextStage returns the stage after the present one. Each shift is a pass through two stages. A
// rollback shifts what was shifted and cleans up.
func (l *lifecycle) nextStage() string {
	switch {
	case l.isBack && l.stage != StageTest && l.test > 0:
		return StageTest
	case l.isBack:
		return StageCleanUp
	case l.stage == StageProduction && l.production < wholeTraffic:
		return StagePreProduction
	}
	return stageAfter(l.stage)
}

func (l *lifecycle) enter(tx *world.Tx, r *Rollout, stage string) {
	l.stage, l.entered, r.UpdatedAt = stage, tx.Now(), tx.Now()
	l.stages++
	l.settleAt, l.holdTill, l.leaveAt = time.Time{}, time.Time{}, time.Time{}
	l.stageHooks, l.hooksStarted = len(l.hooks), false
	if stage == StageScaleUp {
		r.hasStarted = true
	}
	tx.Log("rollout", r.ID, "stage %s", stage)
	tx.Changed(world.ServiceChanged, r.service)
}

func (l *lifecycle) isStageOver(tx *world.Tx, r *Rollout) bool {
	return l.hasWorked(tx, r) && l.hooksHavePassed(tx, r) && l.hasHeld(tx, r)
}

// hasWorked does the work of the stage and reports whether it is done.
func (l *lifecycle) hasWorked(tx *world.Tx, r *Rollout) bool {
	svc := r.service
	switch l.stage {
	case StageReconcile:
		return l.reconcileRevisions(tx, svc)
	case StageScaleUp:
		return countReadyAt(tx, l.green) >= svc.Desired
	case StageTest:
		return l.shiftTest(tx, svc)
	case StageProduction:
		return l.shiftProduction(tx, svc)
	case StageCleanUp:
		return l.hasCleanedUp(tx, r)
	}
	return true
}

// countReadyAt returns the number of ready tasks and schedules the turn at which more are ready.
func countReadyAt(tx *world.Tx, ts *world.TaskSet) (n int) {
	for _, t := range ts.Tasks {
		ready, at := isReady(tx, t)
		if ready {
			n++
			noteHealthy(t)
		} else if !at.IsZero() {
			reconcileAt(tx, ts.Service, at)
		}
	}
	return n
}

// reconcileRevisions leaves one revision of an unfinished rollout: traffic goes back to it at once,
// then the others are stopped. The stage exists only if more than one revision is ACTIVE.
func (l *lifecycle) reconcileRevisions(tx *world.Tx, svc *world.Service) bool {
	if b := l.before; l.settleAt.IsZero() && b != nil && b.lifecycle != nil && b.Target != l.blue {
		b.lifecycle.writeShares(tx, 0, 0)
	}
	switch {
	case !l.isSettled(tx, svc):
		return false
	case l.blue != nil && countReadyAt(tx, l.blue) < svc.Desired:
		return false
	}
	l.othersLeave = true
	removeEmptied(tx, svc, l)
	return len(l.others(svc)) == 0
}

// hasCleanedUp reports whether only the tasks of the remaining revision are left.
func (l *lifecycle) hasCleanedUp(tx *world.Tx, r *Rollout) bool {
	removeEmptied(tx, r.service, l)
	return len(r.service.TaskSets) == 1 && countReadyAt(tx, r.currentTarget()) >= r.service.Desired
}

// removeEmptied deletes the deployments that are not wanted and have no task.
func removeEmptied(tx *world.Tx, svc *world.Service, l *lifecycle) {
	for i := 0; i < len(svc.TaskSets); {
		ts := svc.TaskSets[i]
		if ts.Status == "PRIMARY" || len(ts.Tasks) > 0 || l.wants(ts) {
			i++
			continue
		}
		removeSet(svc, ts)
		deactivateSet(tx, ts)
	}
}

// hasHeld reports whether the bake time of the stage is over; the first call starts it.
func (l *lifecycle) hasHeld(tx *world.Tx, r *Rollout) bool {
	d := time.Duration(0)
	switch {
	case l.isBack:
	case l.stage == StageBake:
		d = r.rules().Bake
	case l.stage == StageProduction && l.production < wholeTraffic:
		d = l.strategy.StepBake
	}
	if l.holdTill.IsZero() {
		l.holdTill = tx.Now().Add(d)
	}
	if l.holdTill.After(tx.Now()) {
		reconcileAt(tx, r.service, l.holdTill)
		return false
	}
	return true
}
