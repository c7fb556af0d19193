package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// AddService adds a new service. Task sets follow by [Scheduler.AddTaskSet].
func (s *Scheduler) AddService(tx *world.Tx, svc *world.Service) {
	tx.Services.Delete(svc.ID()) // an INACTIVE service of that name
	tx.Services.Put(svc.ID(), svc)
	tx.Log("service", svc.ID(), "created, controller %s, desired %d", svc.Controller, svc.Desired)
	tx.Changed(world.ServiceChanged, svc)
}

// AddTaskSet adds a new task set to its service. With the controller ECS it is a deployment: it
// becomes PRIMARY and replaces the previous one.
func (s *Scheduler) AddTaskSet(tx *world.Tx, ts *world.TaskSet) {
	svc := ts.Service
	ts.CreatedAt, ts.UpdatedAt = tx.Now(), tx.Now()
	if svc.Controller == "ECS" {
		startDeployment(tx, ts)
		return
	}
	svc.TaskSets = append(svc.TaskSets, ts)
	tx.Log("task set", ts.ID, "created in %s, %s, scale %g %%", svc.ID(), ts.Status, ts.Scale)
	resizeSet(tx, ts)
}

// SetScale sets a task set's share of the desired count, in percent.
func (s *Scheduler) SetScale(tx *world.Tx, ts *world.TaskSet, percent float64) {
	tx.Log("task set", ts.ID, "scale %g %% -> %g %%", ts.Scale, percent)
	ts.Scale, ts.UpdatedAt = percent, tx.Now()
	resizeSet(tx, ts)
}

// SetDesired changes a service's desired count and the computed counts of its task sets.
func (s *Scheduler) SetDesired(tx *world.Tx, svc *world.Service, desired int) {
	if svc.Desired != desired {
		tx.Log("service", svc.ID(), "desired %d -> %d", svc.Desired, desired)
	}
	scaleOldTasks(svc, desired)
	svc.Desired = desired
	for _, ts := range svc.TaskSets {
		if ts.Computed != wantedCount(ts) {
			ts.UpdatedAt = tx.Now()
			resizeSet(tx, ts)
		}
	}
	s.RetryHeldStarts(tx, svc)
}

// RetryHeldStarts ends the backoff of starts after the owner changed the service.
func (s *Scheduler) RetryHeldStarts(tx *world.Tx, svc *world.Service) {
	for _, ts := range svc.TaskSets {
		resetBackoff(ts)
	}
	n := stateOfService(svc)
	n.stuckReported = false
	tx.Changed(world.ServiceChanged, svc)
}

func wantedCount(ts *world.TaskSet) int {
	switch {
	case ts.Status == "DRAINING" || ts.Service.Status != "ACTIVE":
		return 0
	case ts.Service.Controller == "ECS":
		return ts.Service.Desired
	}
	return ComputedCount(ts.Service.Desired, ts.Scale)
}

func resizeSet(tx *world.Tx, ts *world.TaskSet) {
	ts.Computed = wantedCount(ts)
	ts.StabilityAt = tx.Now()
	if ts.Stability != "STABILIZING" {
		setStability(tx, ts, "STABILIZING")
	}
	resetBackoff(ts)
	tx.Changed(world.TaskSetChanged, ts)
}

// Promote makes a task set PRIMARY. The previous PRIMARY becomes ACTIVE and keeps its tasks.
// Traffic is not changed.
func (s *Scheduler) Promote(tx *world.Tx, ts *world.TaskSet) {
	if old := ts.Service.Primary(); old != nil && old != ts {
		old.Status, old.UpdatedAt = "ACTIVE", tx.Now()
		tx.Changed(world.TaskSetChanged, old)
	}
	ts.Status, ts.UpdatedAt = "PRIMARY", tx.Now()
	tx.Log("task set", ts.ID, "PRIMARY")
	tx.Changed(world.TaskSetChanged, ts)
}

// DrainTaskSet drains a task set. It is deleted when its last task has stopped.
func (s *Scheduler) DrainTaskSet(tx *world.Tx, ts *world.TaskSet) {
	if ts.Status == "DRAINING" {
		return
	}
	ts.Status, ts.UpdatedAt = "DRAINING", tx.Now()
	tx.Log("task set", ts.ID, "DRAINING")
	resizeSet(tx, ts)
}

// DrainService drains a service and all its task sets.
func (s *Scheduler) DrainService(tx *world.Tx, svc *world.Service) {
	if svc.Status != "ACTIVE" {
		return
	}
	latestRollout(svc).stopSuperseded(tx)
	svc.Status, svc.Desired, svc.Drained = "DRAINING", 0, svc.Primary()
	tx.Log("service", svc.ID(), "DRAINING")
	for _, ts := range svc.TaskSets {
		s.DrainTaskSet(tx, ts)
	}
	tx.Changed(world.ServiceChanged, svc)
}
