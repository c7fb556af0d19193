package scheduler

import (
	"fmt"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// failureCause is why a deployment failed, in AWS's words if they are published.
type cause struct {
	rollback bool
	event    string // follows "(service X) (deployment N) "
	state    string // rolloutStateReason of the failed deployment
	back     string // rolloutStateReason of the restored deployment, before its id
	status   string // statusReason of a rollback
	stop     string // statusReason without one
}

var (
	tooManyFailures = cause{
		event:  "deployment failed: tasks failed to start.",
		state:  "ECS deployment circuit breaker: tasks failed to start.",
		back:   "ECS deployment circuit breaker: rolling back to deploymentId %s.",
		status: "Service deployment rolled back because the circuit breaker threshold was exceeded.",
		stop:   "Service deployment stopped because the circuit breaker threshold was exceeded.",
	}
	alarmRaised = cause{
		event:  "deployment failed: alarm detected.",
		state:  "ECS deployment failed: alarm detected.",
		back:   "ECS deployment alarm detected: rolling back to deploymentId %s.",
		status: "Service deployment rolled back because an alarm was detected.",
		stop:   "Service deployment stopped because an alarm was detected.",
	}
	userRequest = cause{
		rollback: true,
		event:    "deployment stopped: rollback requested.",
		state:    "ECS deployment stopped: rollback requested.",
		back:     "ECS deployment stopped: rolling back to deploymentId %s.",
		status:   "Service deployment rolled back because of a user request.",
	}
)

const noCandidate = "No rollback candidate was found to run the rollback."

// stopIfFailed ends a rollout that failed by its monitors or that a user stopped. It reports
// whether the rollout ended.
func (s *Scheduler) cutOff(tx *world.Tx, svc *world.Service, r *Rollout) bool {
	if r == nil || !r.moves() || r.goal().RolloutState != "IN_PROGRESS" {
		return false
	}
	rules := serviceNote(svc).rules
	switch {
	case r.Status == "ROLLBACK_REQUESTED":
		s.fail(tx, svc, r, userRequest)
	case rules.Breaker.Enable && setNote(r.goal()).failures >= rules.Breaker.Threshold(svc.Desired):
		r.opened = true
		c := tooManyFailures
		c.rollback = rules.Breaker.Rollback
		s.fail(tx, svc, r, c)
	case r.alarmed(tx, rules.Alarms):
		c := alarmRaised
		c.rollback = rules.Alarms.Rollback
		s.fail(tx, svc, r, c)
	default:
		return false
	}
	return true
}

// failRollout fails the current deployment of a rollout. A failed rollback is not rolled back.
func (s *Scheduler) fail(tx *world.Tx, svc *world.Service, r *Rollout, c cause) {
	failed := r.goal()
	tell(tx, svc, "(service %s) (deployment %s) %s", svc.Name, failed.ID, c.event)
	switch to := candidate(svc, failed); {
	case r.Back != nil:
		markFailed(tx, failed, c.state)
		r.turn(tx, "ROLLBACK_FAILED", "")
	case !c.rollback:
		markFailed(tx, failed, c.state)
		r.turn(tx, "STOPPED", c.stop)
	case to == nil:
		markFailed(tx, failed, c.state)
		r.turn(tx, "ROLLBACK_FAILED", noCandidate)
	default:
		serviceNote(svc).failing, serviceNote(svc).failure = failed, c.state
		s.rollBack(tx, svc, r, to, c)
	}
	tx.Changed(world.TaskSetChanged, failed)
}

// rollbackTarget returns the newest COMPLETED deployment other than but, or nil.
func candidate(svc *world.Service, but *world.TaskSet) *world.TaskSet {
	all := serviceNote(svc).rollouts
	for i := len(all) - 1; i >= 0; i-- {
		if ts := all[i].Target; ts != but && ts.RolloutState == "COMPLETED" {
			return ts
		}
	}
	return nil
}

// rollBack makes an earlier deployment PRIMARY again. No new deployment is created: the same
// rollout covers the rollback, and tasks are replaced as in any rolling update.
func (s *Scheduler) rollBack(tx *world.Tx, svc *world.Service, r *Rollout, to *world.TaskSet, c cause) {
	s.stepDown(tx, svc)
	remove(svc, to)
	svc.TaskSets = append(svc.TaskSets, to)
	r.Back = &Rollback{To: to, At: tx.Now(), Reason: c.status}
	r.turn(tx, "ROLLBACK_IN_PROGRESS", c.status)
	tell(tx, svc, "(service %s) rolling back to deployment %s.", svc.Name, to.ID)
	s.stepUp(tx, to, fmt.Sprintf(c.back, to.ID))
}

func markFailed(tx *world.Tx, ts *world.TaskSet, reason string) {
	ts.RolloutState, ts.RolloutReason, ts.UpdatedAt = "FAILED", reason, tx.Now()
	tx.Log("task set", ts.ID, "FAILED: %s", reason)
	tx.Changed(world.TaskSetChanged, ts)
}

// failRolledBack sets a failed deployment to FAILED one loop turn after its rollback began. Until
// then the API returns it as IN_PROGRESS, as published responses do.
func settleFailed(tx *world.Tx, svc *world.Service) (settled bool) {
	n := serviceNote(svc)
	if n.failing == nil {
		return false
	}
	if n.failing.Status != "INACTIVE" {
		markFailed(tx, n.failing, n.failure)
	}
	n.failing, n.failure = nil, ""
	return true
}

// StopRollout requests a rollback of a running rollout; ok is false if the rollout does not run.
func (s *Scheduler) StopRollout(tx *world.Tx, r *Rollout) (ok bool) {
	if r.Status != "PENDING" && r.Status != "IN_PROGRESS" {
		return false
	}
	r.turn(tx, "ROLLBACK_REQUESTED", userRequest.status)
	r.StoppedAt = tx.Now()
	tx.Changed(world.ServiceChanged, r.service)
	return true
}
