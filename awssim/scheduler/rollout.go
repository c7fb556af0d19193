package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Rollout is a service deployment: one attempt to deploy a revision of a service with controller
// ECS, including its rollback. It exists longer than its tasks, and at most as long as its service.
type Rollout struct {
	ID      string           // 21 characters
	Target  *world.TaskSet   // the deployment of the revision
	Sources []*world.TaskSet // deployments that had tasks when it began
	Status  string           // as the API writes it: PENDING, IN_PROGRESS, …
	Reason  string
	Back    *Rollback // nil unless it is rolled back
	Doc     any       // private data of the ECS API

	CreatedAt, StartedAt, FinishedAt, StoppedAt, UpdatedAt time.Time

	service   *world.Service
	opened    bool     // the circuit breaker has opened
	raised    []string // alarms that ended it
	ignored   []string // alarms that were raised before it began
	watching  bool     // its first task has started
	bakesTill time.Time
	breaker   Monitor // state at the end
	alarms    Monitor
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
func (r *Rollout) Ended() bool {
	switch r.Status {
	case "SUCCESSFUL", "STOPPED", "ROLLBACK_SUCCESSFUL", "ROLLBACK_FAILED":
		return true
	}
	return false
}

// isActive reports whether the scheduler still works on the rollout.
func (r *Rollout) moves() bool { return !r.Ended() && r.Status != "STOP_REQUESTED" }

// currentTarget returns the deployment that the rollout deploys now.
func (r *Rollout) goal() *world.TaskSet {
	if r.Back != nil {
		return r.Back.To
	}
	return r.Target
}

// Breaker returns the state of the circuit breaker.
func (r *Rollout) Breaker() Monitor {
	if r.Ended() {
		return r.breaker
	}
	b := serviceNote(r.service).rules.Breaker
	m := Monitor{Status: "MONITORING", Count: setNote(r.Target).failures, Threshold: b.Threshold(r.service.Desired)}
	switch {
	case r.opened:
		m.Status = "TRIGGERED"
	case !b.Enable:
		m.Status, m.Count = "DISABLED", 0
	}
	return m
}

// Alarms returns the state of the alarms.
func (r *Rollout) Alarms() Monitor {
	if r.Ended() {
		return r.alarms
	}
	m := Monitor{Status: "MONITORING", Raised: r.raised}
	switch a := serviceNote(r.service).rules.Alarms; {
	case len(r.raised) > 0:
		m.Status = "TRIGGERED"
	case !a.Enable || len(a.Names) == 0:
		m.Status = "DISABLED"
	}
	return m
}

// Rollouts returns a service's rollouts, oldest first. Do not change the list.
func (s *Scheduler) Rollouts(svc *world.Service) []*Rollout { return serviceNote(svc).rollouts }

// latestRollout returns a service's newest rollout, or nil.
func latest(svc *world.Service) *Rollout {
	all := serviceNote(svc).rollouts
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// rolloutRetention is how long describe calls return rollouts (Developer Guide, "View service
// history using Amazon ECS service deployments").
const kept = 90 * 24 * time.Hour

// openRollout adds a rollout for a deployment that has just become PRIMARY.
func open(tx *world.Tx, ts *world.TaskSet) *Rollout {
	svc := ts.Service
	n := serviceNote(svc)
	r := &Rollout{ID: tx.NewHex("service deployment", 21), Target: ts, Status: "PENDING", CreatedAt: tx.Now(), UpdatedAt: tx.Now(), service: svc}
	for _, old := range svc.TaskSets {
		if old != ts && len(old.Tasks) > 0 {
			r.Sources = append(r.Sources, old)
		}
	}
	for _, name := range n.rules.Alarms.Names {
		if isRaised(tx, name) {
			r.ignored = append(r.ignored, name)
		}
	}
	for len(n.rollouts) > 0 && tx.Now().Sub(n.rollouts[0].CreatedAt) > kept && n.rollouts[0].Ended() && n.rollouts[0].Target.Status == "INACTIVE" {
		n.rollouts = n.rollouts[1:]
	}
	n.rollouts = append(n.rollouts, r)
	tx.Log("rollout", r.ID, "of %s in %s", ts.ID, svc.ID())
	return r
}

// setStatus moves a rollout to another status.
func (r *Rollout) turn(tx *world.Tx, status, reason string) {
	if r.Ended() || r.Status == status {
		return
	}
	breaker, alarms := r.Breaker(), r.Alarms()
	tx.Log("rollout", r.ID, "%s -> %s", r.Status, status)
	r.Status, r.UpdatedAt = status, tx.Now()
	if reason != "" {
		r.Reason = reason
	}
	if r.Ended() {
		r.FinishedAt, r.breaker, r.alarms = tx.Now(), over(breaker), over(alarms)
	}
	if status == "STOPPED" {
		r.StoppedAt = tx.Now()
	}
}

func over(m Monitor) Monitor {
	if m.Status == "MONITORING" {
		m.Status = "MONITORING_COMPLETE"
	}
	return m
}

// startRollout records the scheduler's first turn for a rollout.
func (r *Rollout) begin(tx *world.Tx) {
	if r.Status == "PENDING" {
		r.turn(tx, "IN_PROGRESS", "")
	}
	if r.StartedAt.IsZero() {
		r.StartedAt = tx.Now()
	}
}

// stopSuperseded requests the stop of a rollout because a newer deployment was created. The rollout
// is STOPPED when its tasks are stopped.
func (r *Rollout) overtaken(tx *world.Tx) {
	if r != nil && r.moves() {
		r.turn(tx, "STOP_REQUESTED", "Service deployment stopped because a newer service deployment was created.")
	}
}

// stopEmptyRollout sets the rollout of a deleted deployment to STOPPED if its stop was requested.
func left(tx *world.Tx, ts *world.TaskSet) {
	for _, r := range serviceNote(ts.Service).rollouts {
		if r.Status == "STOP_REQUESTED" && r.goal() == ts {
			r.turn(tx, "STOPPED", "")
		}
	}
}
