package scheduler

import (
	"fmt"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// failureCause is why a deployment failed, in AWS's words if they are published.
type failureCause struct {
	rollback bool
	event    string // follows "(service X) (deployment N) "
	state    string // rolloutStateReason of the failed deployment
	back     string // rolloutStateReason of the restored deployment, before its id
	status   string // statusReason of a rollback
	stop     string // statusReason without one
}

var (
	tooManyFailures = failureCause{
		event:  "deployment failed: tasks failed to start.",
		state:  "ECS deployment circuit breaker: tasks failed to start.",
		back:   "ECS deployment circuit breaker: rolling back to deploymentId %s.",
		status: "Service deployment rolled back because the circuit breaker threshold was exceeded.",
		stop:   "Service deployment stopped because the circuit breaker threshold was exceeded.",
	}
	alarmRaised = failureCause{
		event:  "deployment failed: alarm detected.",
		state:  "ECS deployment failed: alarm detected.",
		back:   "ECS deployment alarm detected: rolling back to deploymentId %s.",
		status: "Service deployment rolled back because an alarm was detected.",
		stop:   "Service deployment stopped because an alarm was detected.",
	}
	userRequest = failureCause{
		rollback: true,
		event:    "deployment stopped: rollback requested.",
		state:    "ECS deployment stopped: rollback requested.",
		back:     "ECS deployment stopped: rolling back to deploymentId %s.",
		status:   "Service deployment rolled back because of a user request.",
	}
)

const noRollbackTarget = "No rollback candidate was found to run the rollback."

// stopIfFailed ends a rollout that failed by its monitors or that a user stopped. It reports
// whether the rollout ended.
func stopIfFailed(tx *world.Tx, svc *world.Service, r *Rollout) bool {
	if r == nil || !r.isActive() || r.currentTarget().RolloutState != "IN_PROGRESS" {
		return false
	}
	rules := stateOfService(svc).rules
	switch {
	case r.Status == "ROLLBACK_REQUESTED":
		failRollout(tx, svc, r, userRequest)
	case rules.Breaker.Enable && stateOfSet(r.currentTarget()).failures >= rules.Breaker.Threshold(svc.Desired):
		r.breakerOpen = true
		c := tooManyFailures
		c.rollback = rules.Breaker.Rollback
		failRollout(tx, svc, r, c)
	case r.checkAlarms(tx, rules.Alarms):
		c := alarmRaised
		c.rollback = rules.Alarms.Rollback
		failRollout(tx, svc, r, c)
	default:
		return false
	}
	return true
}

// failRollout fails the current deployment of a rollout. A failed rollback is not rolled back.
func failRollout(tx *world.Tx, svc *world.Service, r *Rollout, c failureCause) {
	failed := r.currentTarget()
	addEvent(tx, svc, "(service %s) (deployment %s) %s", svc.Name, failed.ID, c.event)
	switch to := r.previousTarget(); {
	case r.Rollback != nil:
		setFailed(tx, failed, c.state)
		r.setStatus(tx, "ROLLBACK_FAILED", "")
	case !c.rollback:
		setFailed(tx, failed, c.state)
		r.setStatus(tx, "STOPPED", c.stop)
	case to == nil:
		setFailed(tx, failed, c.state)
		r.setStatus(tx, "ROLLBACK_FAILED", noRollbackTarget)
	default:
		stateOfService(svc).failedSet, stateOfService(svc).failureReason = failed, c.state
		rollBack(tx, svc, r, to, c)
	}
	tx.Changed(world.TaskSetChanged, failed)
}

// previousTarget returns the deployment that a rollback of the rollout restores, or nil.
func (r *Rollout) previousTarget() *world.TaskSet {
	if r.lifecycle != nil {
		return r.lifecycle.blue
	}
	return rollbackTarget(r.service, r.currentTarget())
}

// rollbackTarget returns the newest COMPLETED deployment other than but, or nil.
func rollbackTarget(svc *world.Service, but *world.TaskSet) *world.TaskSet {
	all := stateOfService(svc).rollouts
	for i := len(all) - 1; i >= 0; i-- {
		if ts := all[i].Target; ts != but && ts.RolloutState == "COMPLETED" {
			return ts
		}
	}
	return nil
}

// rollBack makes an earlier deployment PRIMARY again. No new deployment is created: the same
// rollout covers the rollback, and tasks are replaced as in any rolling update.
func rollBack(tx *world.Tx, svc *world.Service, r *Rollout, to *world.TaskSet, c failureCause) {
	demotePrimary(tx, svc)
	removeSet(svc, to)
	svc.TaskSets = append(svc.TaskSets, to)
	r.Rollback = &Rollback{To: to, At: tx.Now(), Reason: c.status}
	r.setStatus(tx, "ROLLBACK_IN_PROGRESS", c.status)
	addEvent(tx, svc, "(service %s) rolling back to deployment %s.", svc.Name, to.ID)
	makePrimary(tx, to, fmt.Sprintf(c.back, to.ID))
}

func setFailed(tx *world.Tx, ts *world.TaskSet, reason string) {
	ts.RolloutState, ts.RolloutReason, ts.UpdatedAt = "FAILED", reason, tx.Now()
	tx.Log("task set", ts.ID, "FAILED: %s", reason)
	tx.Changed(world.TaskSetChanged, ts)
}

// failRolledBack sets a failed deployment to FAILED one loop turn after its rollback began. Until
// then the API returns it as IN_PROGRESS, as published responses do.
func failRolledBack(tx *world.Tx, svc *world.Service) (settled bool) {
	n := stateOfService(svc)
	if n.failedSet == nil {
		return false
	}
	if n.failedSet.Status != "INACTIVE" {
		setFailed(tx, n.failedSet, n.failureReason)
	}
	n.failedSet, n.failureReason = nil, ""
	return true
}

// StopRollout requests a rollback of a running rollout; ok is false if the rollout does not run.
func (s *Scheduler) StopRollout(tx *world.Tx, r *Rollout) (ok bool) {
	if r.Status != "PENDING" && r.Status != "IN_PROGRESS" || r.Stage() == StageCleanUp {
		return false
	}
	r.setStatus(tx, "ROLLBACK_REQUESTED", userRequest.status)
	r.StoppedAt = tx.Now()
	tx.Changed(world.ServiceChanged, r.service)
	return true
}
