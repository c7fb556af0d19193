package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// scheduleReconcile schedules the reconciliation of a service one loop turn from now, unless an
// earlier one is scheduled.
func scheduleReconcile(tx *world.Tx, svc *world.Service) {
	if svc.Status == "INACTIVE" {
		return
	}
	k, n := tx.Settings().SchedulerLoop, stateOfService(svc)
	reconcileAt(tx, svc, tx.Now().Add(tx.RandomBetween(k.Min, k.Max, "loop", svc.ARN, n.passes)))
}

func reconcileAt(tx *world.Tx, svc *world.Service, at time.Time) {
	n := stateOfService(svc)
	if n.nextPass.Pending() && !n.nextPass.When().After(at) {
		return
	}
	tx.Cancel(n.nextPass)
	n.nextPass = tx.At(at, func(tx *world.Tx) { reconcileService(tx, svc) })
}

// reconcileService is one turn of the scheduler's loop for one service.
func reconcileService(tx *world.Tx, svc *world.Service) {
	if svc.Status == "INACTIVE" {
		return
	}
	stateOfService(svc).passes++
	addCountedEvents(tx, svc)
	defer restoreInstances(tx, svc) // after the turn has counted missing instances
	if svc.Controller == "ECS" && svc.Status == "ACTIVE" {
		reconcileRolling(tx, svc)
		return
	}
	for _, ts := range svc.TaskSets {
		reconcileSet(tx, ts)
	}
	deleteDrained(tx, svc)
}

// taskCount groups the tasks of a task set.
type taskCount struct {
	wanted    []*world.Task // desired status RUNNING
	unhealthy []*world.Task // wanted tasks that must be replaced
	reasons   []string      // one for each unhealthy task
	usable    []*world.Task // wanted and not unhealthy
	healthy   int           // usable and healthy in every check
}

// countTasks groups the tasks of a set. It schedules a turn at the end of a grace period.
func countTasks(tx *world.Tx, ts *world.TaskSet) (c taskCount) {
	for _, t := range ts.Tasks {
		if t.DesiredStatus != "RUNNING" {
			continue
		}
		c.wanted = append(c.wanted, t)
		why, at := replaceReason(tx, t)
		if !at.IsZero() {
			reconcileAt(tx, ts.Service, at)
		}
		if why != "" {
			c.unhealthy, c.reasons = append(c.unhealthy, t), append(c.reasons, why)
			continue
		}
		c.usable = append(c.usable, t)
		if isHealthy(t) {
			c.healthy++
		}
	}
	return c
}

// reconcileSet keeps a task set at its computed desired count: it replaces stopped and unhealthy
// tasks and stops surplus ones.
func reconcileSet(tx *world.Tx, ts *world.TaskSet) {
	c := countTasks(tx, ts)
	want := ts.Computed
	room := upperLimit(want, ts.Service.MaxPercent) - len(c.wanted)
	replaceMissing(tx, ts, c, want, room)
	if extra := len(c.usable) - want; extra > 0 {
		scaleIn(tx, ts, chooseSurplus(c.usable, extra))
	}
	updateStability(tx, ts)
}

// replaceMissing starts the missing tasks. An unhealthy task is stopped when its replacement is
// healthy. If the maximum leaves no capacity for the replacement, the task is stopped immediately
// (Developer Guide: "the scheduler starts the replacement first when maximumPercent allows").
func replaceMissing(tx *world.Tx, ts *world.TaskSet, c taskCount, want, room int) {
	missing := max(want-len(c.usable), 0)
	leave := len(c.unhealthy)
	if c.healthy < want {
		leave = min(max(missing-max(room, 0), 0), len(c.unhealthy))
	}
	for i := range leave {
		stopUnhealthy(tx, ts, c.unhealthy[i], c.reasons[i])
	}
	launchTasks(tx, ts, min(missing, max(room, 0)+leave))
}

// stopUnhealthy stops an unhealthy task.
func stopUnhealthy(tx *world.Tx, ts *world.TaskSet, t *world.Task, why string) {
	addUnhealthyEvent(tx, t)
	countFailure(ts)
	stopAfterDrain(tx, t, why)
	addStoppedEvents(tx, ts.Service, []*world.Task{t})
}

func scaleIn(tx *world.Tx, ts *world.TaskSet, tasks []*world.Task) {
	for _, t := range tasks {
		stopAfterDrain(tx, t, "Scaling activity initiated by (deployment "+ts.ID+")")
	}
	addStoppedEvents(tx, ts.Service, tasks)
}

// updateStability sets a task set's stability.
func updateStability(tx *world.Tx, ts *world.TaskSet) {
	status := "STABILIZING"
	if ts.Status != "DRAINING" && isSteady(tx, ts) {
		status = "STEADY_STATE"
	}
	ts.StabilityAt = tx.Now()
	if status == ts.Stability {
		return
	}
	setStability(tx, ts, status)
	tx.Log("task set", ts.ID, "%s", status)
	if status == "STEADY_STATE" {
		addEvent(tx, ts.Service, "(service %s, taskSet %s) has reached a steady state.", ts.Service.Name, ts.ID)
	}
}

// isSteady reports whether the computed number of tasks runs, none is starting, and each is healthy
// (API Reference, TaskSet, stabilityStatus).
func isSteady(tx *world.Tx, ts *world.TaskSet) bool {
	running := 0
	for _, t := range ts.Tasks {
		switch t.LastStatus {
		case "PROVISIONING", "PENDING", "ACTIVATING":
			return false
		case "RUNNING":
			if !isHealthy(t) || !isRegistered(tx, t) {
				return false
			}
			running++
		}
	}
	return running == ts.Computed
}

// deleteDrained deletes drained task sets, and ends a draining service.
func deleteDrained(tx *world.Tx, svc *world.Service) {
	if svc.Status == "DRAINING" {
		endDrainedService(tx, svc)
		return
	}
	var kept []*world.TaskSet
	for _, ts := range svc.TaskSets {
		if ts.Status == "DRAINING" && len(ts.Tasks) == 0 {
			deactivateSet(tx, ts)
			continue
		}
		kept = append(kept, ts)
	}
	svc.TaskSets = kept
}

func deactivateSet(tx *world.Tx, ts *world.TaskSet) {
	ts.Status = "INACTIVE"
	tx.Log("task set", ts.ID, "gone")
	stopEmptyRollout(tx, ts)
	tx.Changed(world.TaskSetChanged, ts)
}

// endDrainedService makes a draining service INACTIVE once all its tasks are stopping or stopped.
// Describe calls return it for some time.
func endDrainedService(tx *world.Tx, svc *world.Service) {
	for _, ts := range svc.TaskSets {
		for _, t := range ts.Tasks {
			if t.LastStatus != "STOPPING" && t.LastStatus != "DEPROVISIONING" {
				return
			}
		}
	}
	for _, ts := range svc.TaskSets {
		deactivateSet(tx, ts)
	}
	svc.TaskSets, svc.Status = nil, "INACTIVE"
	stateOfService(svc).rollouts = nil
	tx.Log("service", svc.ID(), "INACTIVE")
	tx.Changed(world.ServiceChanged, svc)
	tx.After(tx.Settings().StoppedTaskRetention, func(tx *world.Tx) {
		if now, ok := tx.Services.Get(svc.ID()); ok && now == svc {
			tx.Services.Delete(svc.ID())
		}
	})
}

// setStability sets a task set's stability; the API returns it after the setting StabilityLag.
// Several pending changes may take effect out of order; the newest one wins.
func setStability(tx *world.Tx, ts *world.TaskSet, status string) {
	n, k := stateOfSet(ts), tx.Settings().StabilityLag
	ts.Stability = status
	n.stabilityChanges++
	number := n.stabilityChanges
	lag := tx.RandomBetween(k.Min, k.Max, "stability", ts.ID, number)
	if lag == 0 || ts.VisibleStability == "" {
		n.visibleChange, ts.VisibleStability = number, status
		return
	}
	tx.After(lag, func(*world.Tx) {
		if number > n.visibleChange {
			n.visibleChange, ts.VisibleStability = number, status
		}
	})
}
