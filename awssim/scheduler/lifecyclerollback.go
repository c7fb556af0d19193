package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// The texts of these causes are not published; they follow the pattern of the published ones.
var (
	hookFailed = failureCause{
		rollback: true,
		event:    "deployment failed: lifecycle hook failed.",
		state:    "ECS deployment failed: lifecycle hook failed.",
		back:     "ECS deployment lifecycle hook failed: rolling back to deploymentId %s.",
		status:   "Service deployment rolled back because a lifecycle hook failed.",
	}
	hookTimedOut = failureCause{
		rollback: true,
		event:    "deployment failed: lifecycle hook timed out.",
		state:    "ECS deployment failed: lifecycle hook timed out.",
		back:     "ECS deployment lifecycle hook timed out: rolling back to deploymentId %s.",
		status:   "Service deployment rolled back because a lifecycle hook timed out.",
	}
	stageTimedOut = failureCause{
		rollback: true,
		event:    "deployment failed: lifecycle stage timed out.",
		state:    "ECS deployment failed: lifecycle stage timed out.",
		back:     "ECS deployment lifecycle stage timed out: rolling back to deploymentId %s.",
		status:   "Service deployment rolled back because a lifecycle stage timed out.",
	}
	ruleMissing = failureCause{
		rollback: true,
		event:    "deployment failed: listener rule not found.",
		state:    "ECS deployment failed: listener rule not found.",
		back:     "ECS deployment listener rule not found: rolling back to deploymentId %s.",
		status:   "Service deployment rolled back because a listener rule was not found.",
	}
)

// findFailure returns why a rollout must be rolled back or stopped now. A rollback, and the
// clean-up after a success, are no longer watched.
func (r *Rollout) findFailure(tx *world.Tx) (c failureCause, failed bool) {
	l := r.lifecycle
	switch {
	case l.isBack:
		l.failure = failureCause{}
		return c, false
	case r.Status == "ROLLBACK_REQUESTED":
		return userRequest, true
	case l.stage == StageCleanUp:
		return c, false
	case l.hasFailed():
		return l.failure, true
	case r.checkAlarms(tx, r.rules().Alarms):
		c = alarmRaised
		c.rollback = r.rules().Alarms.Rollback
		return c, true
	case l.isLate(tx, r):
		return stageTimedOut, true
	}
	return c, false
}

func (l *lifecycle) hasFailed() bool { return l.failure.event != "" }

// isLate reports whether the tasks of a stage take longer than a stage may, or the deployment longer
// than a deployment may. It schedules the turn at which that is known.
func (l *lifecycle) isLate(tx *world.Tx, r *Rollout) bool {
	limit := r.StartedAt.Add(lifecycleLimit)
	if end := l.entered.Add(stageLimit); (l.stage == StageScaleUp || l.stage == StageReconcile) && end.Before(limit) {
		limit = end
	}
	if limit.After(tx.Now()) {
		reconcileAt(tx, r.service, limit)
		return false
	}
	return true
}

// failLifecycle ends the forward part of a rollout. With a revision to go back to, traffic returns
// to it at once, in the same shift stages. Otherwise everything stays as it is.
func (r *Rollout) failLifecycle(tx *world.Tx, c failureCause) {
	r.closeHooks(tx)
	failRollout(tx, r.service, r, c)
	if r.Rollback == nil {
		return
	}
	l := r.lifecycle
	l.isBack, l.failure = true, failureCause{}
	if l.production > 0 {
		l.enter(tx, r, StageProduction)
		return
	}
	l.enter(tx, r, l.nextStage())
}

// ShiftsTraffic reports whether the rollout is not rolling.
func (r *Rollout) ShiftsTraffic() bool { return r.lifecycle != nil }

// Stage returns the lifecycle stage, or "" for a rolling deployment.
func (r *Rollout) Stage() string {
	if r.lifecycle == nil {
		return ""
	}
	return r.lifecycle.stage
}

// Shares are the shares of traffic that ECS requested for a deployment.
type Shares struct {
	Production Share
	Test       Share
	HasTest    bool // a rule for test traffic exists
}

// SharesOf returns the shares of one of the rollout's deployments. ok is false for a rolling one.
func (r *Rollout) SharesOf(ts *world.TaskSet) (s Shares, ok bool) {
	l := r.lifecycle
	if l == nil {
		return s, false
	}
	s = Shares{HasTest: l.hasTestRule()}
	switch ts {
	case l.green:
		s.Production, s.Test = l.production, l.test
	case l.blue:
		s.Production, s.Test = wholeTraffic-l.production, wholeTraffic-l.test
	}
	return s, true
}

// RequestedTasks returns how many tasks ECS wants of a deployment of a service with controller ECS.
func (s *Scheduler) RequestedTasks(ts *world.TaskSet) int {
	if r := latestRollout(ts.Service); r != nil && r.lifecycle != nil && r.isActive() {
		if r.lifecycle.wants(ts) {
			return ts.Service.Desired
		}
		return 0
	}
	if ts.Status == "PRIMARY" {
		return ts.Computed
	}
	return 0
}
