package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Rollout is a service deployment: one attempt to bring a service with
// controller ECS to a revision, its rollback included. It outlives its tasks,
// not its service.
type Rollout struct {
	ID      string           // 21 characters
	Target  *world.TaskSet   // the deployment that brings the revision
	Sources []*world.TaskSet // those that had tasks when it began
	Status  string           // as the API writes it: PENDING, IN_PROGRESS, …
	Reason  string
	Back    *Rollback // nil unless it is rolled back
	Doc     any       // the room's

	CreatedAt, StartedAt, FinishedAt, StoppedAt, UpdatedAt time.Time

	service   *world.Service
	opened    bool     // the circuit breaker
	raised    []string // alarms that ended it
	ignored   []string // alarms that were raised before it began
	watching  bool     // its first task has started
	bakesTill time.Time
	breaker   Monitor // as it was at the end
	alarms    Monitor
}

// Rollback is what a rollout goes back to.
type Rollback struct {
	To     *world.TaskSet
	At     time.Time
	Reason string
}

// Monitor is what watches a rollout, as DescribeServiceDeployments shows it.
type Monitor struct {
	Status           string // DISABLED, MONITORING, MONITORING_COMPLETE, TRIGGERED
	Count, Threshold int    // of the circuit breaker
	Raised           []string
}

// Service is the service that is rolled out.
func (r *Rollout) Service() *world.Service { return r.service }

// Ended reports whether nothing more will come of it.
func (r *Rollout) Ended() bool {
	switch r.Status {
	case "SUCCESSFUL", "STOPPED", "ROLLBACK_SUCCESSFUL", "ROLLBACK_FAILED":
		return true
	}
	return false
}

// moves reports whether it is the one that the scheduler works on.
func (r *Rollout) moves() bool { return !r.Ended() && r.Status != "STOP_REQUESTED" }

// goal is the deployment that it brings forward now.
func (r *Rollout) goal() *world.TaskSet {
	if r.Back != nil {
		return r.Back.To
	}
	return r.Target
}

// Breaker is the circuit breaker as it stands.
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

// Alarms are the alarms as they stand.
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

// Rollouts are a service's rollouts, oldest first. The list must not be changed.
func (s *Scheduler) Rollouts(svc *world.Service) []*Rollout { return serviceNote(svc).rollouts }

// latest is a service's newest rollout, or nil.
func latest(svc *world.Service) *Rollout {
	all := serviceNote(svc).rollouts
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

// kept is how long rollouts are described (Developer Guide, "View service
// history using Amazon ECS service deployments").
const kept = 90 * 24 * time.Hour

// open adds a rollout for a deployment that has just become PRIMARY.
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

// turn moves a rollout to another status.
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

// begin notes the first turn of the scheduler on a rollout.
func (r *Rollout) begin(tx *world.Tx) {
	if r.Status == "PENDING" {
		r.turn(tx, "IN_PROGRESS", "")
	}
	if r.StartedAt.IsZero() {
		r.StartedAt = tx.Now()
	}
}

// overtaken: a newer deployment was made. The rollout is STOPPED when its tasks
// are gone.
func (r *Rollout) overtaken(tx *world.Tx) {
	if r != nil && r.moves() {
		r.turn(tx, "STOP_REQUESTED", "Service deployment stopped because a newer service deployment was created.")
	}
}

// left is told when a deployment has no tasks any more and is gone.
func left(tx *world.Tx, ts *world.TaskSet) {
	for _, r := range serviceNote(ts.Service).rollouts {
		if r.Status == "STOP_REQUESTED" && r.goal() == ts {
			r.turn(tx, "STOPPED", "")
		}
	}
}
