package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Rollout is a service deployment: one attempt to deploy a revision of a service with controller
// ECS, including its rollback. It exists longer than its tasks, and at most as long as its service.
type Rollout struct {
	ID       string           // 21 characters
	Target   *world.TaskSet   // the deployment of the revision
	Sources  []*world.TaskSet // deployments that had tasks when it began
	Status   string           // as the API writes it: PENDING, IN_PROGRESS, …
	Reason   string
	Rollback *Rollback // nil unless it is rolled back
	Doc      any       // private data of the ECS API

	CreatedAt, StartedAt, FinishedAt, StoppedAt, UpdatedAt time.Time

	service       *world.Service
	lifecycle     *lifecycle // nil for a rolling deployment
	fixed         Rules      // those at its start, if it is not rolling
	breakerOpen   bool       // the circuit breaker has opened
	raisedAlarms  []string   // alarms that ended it
	ignoredAlarms []string   // alarms that were raised before it began
	hasStarted    bool       // its first task has started
	bakeEnd       time.Time
	finalBreaker  Monitor // state at the end
	finalAlarms   Monitor
}

// Rollback is the rollback of a rollout.
type Rollback struct {
	To     *world.TaskSet
	At     time.Time
	Reason string
}

// Monitor is a monitor of a rollout, as DescribeServiceDeployments returns it.
type Monitor struct {
	Status           string // DISABLED, MONITORING, MONITORING_COMPLETE, TRIGGERED
	Count, Threshold int    // of the circuit breaker
	Raised           []string
}

// Service returns the service of the rollout.
func (r *Rollout) Service() *world.Service { return r.service }

// HasEnded reports whether the rollout has ended.
func (r *Rollout) HasEnded() bool {
	switch r.Status {
	case "SUCCESSFUL", "STOPPED", "ROLLBACK_SUCCESSFUL", "ROLLBACK_FAILED":
		return true
	}
	return false
}

// isActive reports whether the scheduler still works on the rollout.
func (r *Rollout) isActive() bool { return !r.HasEnded() && r.Status != "STOP_REQUESTED" }

// rules returns the rules that apply to the rollout. A rolling deployment follows changes of the
// service's configuration; the others keep the one that they began with.
func (r *Rollout) rules() Rules {
	if r.fixed.Strategy.Kind != "" {
		return r.fixed
	}
	return stateOfService(r.service).rules
}

// currentTarget returns the deployment that the rollout deploys now.
func (r *Rollout) currentTarget() *world.TaskSet {
	if r.Rollback != nil {
		return r.Rollback.To
	}
	return r.Target
}

// Breaker returns the state of the circuit breaker.
func (r *Rollout) Breaker() Monitor {
	if r.HasEnded() {
		return r.finalBreaker
	}
	b := r.rules().Breaker
	m := Monitor{Status: "MONITORING", Count: stateOfSet(r.Target).failures, Threshold: b.Threshold(r.service.Desired)}
	switch {
	case r.breakerOpen:
		m.Status = "TRIGGERED"
	case !b.Enable || r.lifecycle != nil:
		m.Status, m.Count = "DISABLED", 0
	}
	return m
}

// Alarms returns the state of the alarms.
func (r *Rollout) Alarms() Monitor {
	if r.HasEnded() {
		return r.finalAlarms
	}
	m := Monitor{Status: "MONITORING", Raised: r.raisedAlarms}
	switch a := r.rules().Alarms; {
	case len(r.raisedAlarms) > 0:
		m.Status = "TRIGGERED"
	case !a.Enable || len(a.Names) == 0:
		m.Status = "DISABLED"
	}
	return m
}

// RolloutsOf returns a service's rollouts, oldest first. Do not change the list.
func RolloutsOf(svc *world.Service) []*Rollout { return stateOfService(svc).rollouts }

// latestRollout returns a service's newest rollout, or nil.
func latestRollout(svc *world.Service) *Rollout {
	all := stateOfService(svc).rollouts
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// rolloutRetention is how long describe calls return rollouts (Developer Guide, "View service
// history using Amazon ECS service deployments").
const rolloutRetention = 90 * 24 * time.Hour

// openRollout adds a rollout for a deployment that has just become PRIMARY.
func openRollout(tx *world.Tx, ts *world.TaskSet) *Rollout {
	svc := ts.Service
	n := stateOfService(svc)
	r := &Rollout{ID: tx.NewHex("service deployment", 21), Target: ts, Status: "PENDING", CreatedAt: tx.Now(),
		UpdatedAt: tx.Now(), service: svc, fixed: n.rules}
	for _, old := range svc.TaskSets {
		if old != ts && len(old.Tasks) > 0 {
			r.Sources = append(r.Sources, old)
		}
	}
	for _, name := range n.rules.Alarms.Names {
		if isAlarmRaised(tx, name) {
			r.ignoredAlarms = append(r.ignoredAlarms, name)
		}
	}
	for len(n.rollouts) > 0 && tx.Now().Sub(n.rollouts[0].CreatedAt) > rolloutRetention && n.rollouts[0].HasEnded() &&
		n.rollouts[0].Target.Status == "INACTIVE" {
		n.rollouts = n.rollouts[1:]
	}
	n.rollouts = append(n.rollouts, r)
	tx.Log("rollout", r.ID, "of %s in %s", ts.ID, svc.ID())
	return r
}

// setStatus moves a rollout to another status.
func (r *Rollout) setStatus(tx *world.Tx, status, reason string) {
	if r.HasEnded() || r.Status == status {
		return
	}
	breaker, alarms := r.Breaker(), r.Alarms()
	tx.Log("rollout", r.ID, "%s -> %s", r.Status, status)
	r.Status, r.UpdatedAt = status, tx.Now()
	if reason != "" {
		r.Reason = reason
	}
	if r.HasEnded() {
		r.FinishedAt, r.finalBreaker, r.finalAlarms = tx.Now(), completedMonitor(breaker), completedMonitor(alarms)
	}
	if status == "STOPPED" {
		r.StoppedAt = tx.Now()
	}
}

func completedMonitor(m Monitor) Monitor {
	if m.Status == "MONITORING" {
		m.Status = "MONITORING_COMPLETE"
	}
	return m
}

// startRollout records the scheduler's first turn for a rollout.
func (r *Rollout) startRollout(tx *world.Tx) {
	if r.Status == "PENDING" {
		r.setStatus(tx, "IN_PROGRESS", "")
	}
	if r.StartedAt.IsZero() {
		r.StartedAt = tx.Now()
	}
}

// stopSuperseded requests the stop of a rollout because a newer deployment was created. The rollout
// is STOPPED when its tasks are stopped.
func (r *Rollout) stopSuperseded(tx *world.Tx) {
	if r != nil && r.isActive() {
		r.closeHooks(tx)
		r.setStatus(tx, "STOP_REQUESTED", "Service deployment stopped because a newer service deployment was created.")
	}
}

// stopEmptyRollout sets the rollout of a deleted deployment to STOPPED if its stop was requested.
func stopEmptyRollout(tx *world.Tx, ts *world.TaskSet) {
	for _, r := range stateOfService(ts.Service).rollouts {
		if r.Status == "STOP_REQUESTED" && r.currentTarget() == ts {
			r.setStatus(tx, "STOPPED", "")
		}
	}
}
