package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// scheduleReconcile schedules the reconciliation of a service one loop turn from now, unless an
// earlier one is scheduled.
func (s *Scheduler) poke(tx *world.Tx, svc *world.Service) {
	if svc.Status == "INACTIVE" {
		return
	}
	k, n := tx.Knobs().SchedulerLoop, serviceNote(svc)
	s.pokeAt(tx, svc, tx.Now().Add(tx.Between(k.Min, k.Max, "loop", svc.ARN, n.loops)))
}

func (s *Scheduler) pokeAt(tx *world.Tx, svc *world.Service, at time.Time) {
	n := serviceNote(svc)
	if n.loop.Pending() && !n.loop.When().After(at) {
		return
	}
	tx.Cancel(n.loop)
	n.loop = tx.At(at, func(tx *world.Tx) { s.look(tx, svc) })
}

// reconcileService is one turn of the scheduler's loop for one service.
func (s *Scheduler) look(tx *world.Tx, svc *world.Service) {
	if svc.Status == "INACTIVE" {
		return
	}
	serviceNote(svc).loops++
	flush(tx, svc)
	defer s.restore(tx, svc) // after the turn has counted missing instances
	if svc.Controller == "ECS" && svc.Status == "ACTIVE" {
		s.turn(tx, svc)
		return
	}
	for _, ts := range svc.TaskSets {
		s.keep(tx, ts)
	}
	s.reap(tx, svc)
}

// taskCount groups the tasks of a task set.
type census struct {
	live []*world.Task // desired status RUNNING
	sick []*world.Task // wanted tasks that must be replaced
	why  []string      // one for each unhealthy task
	fit  []*world.Task // wanted and not unhealthy
	well int           // usable and healthy in every check
}

// countTasks groups the tasks of a set. It schedules a turn at the end of a grace period.
func (s *Scheduler) count(tx *world.Tx, ts *world.TaskSet) (c census) {
	for _, t := range ts.Tasks {
		if t.DesiredStatus != "RUNNING" {
			continue
		}
		c.live = append(c.live, t)
		why, at := illness(tx, t)
		if !at.IsZero() {
			s.pokeAt(tx, ts.Service, at)
		}
		if why != "" {
			c.sick, c.why = append(c.sick, t), append(c.why, why)
			continue
		}
		c.fit = append(c.fit, t)
		if isWell(t) {
			c.well++
		}
	}
	return c
}

// reconcileSet keeps a task set at its computed desired count: it replaces stopped and unhealthy
// tasks and stops surplus ones.
func (s *Scheduler) keep(tx *world.Tx, ts *world.TaskSet) {
	c := s.count(tx, ts)
	want := ts.Computed
	room := ceiling(want, ts.Service.MaxPercent) - len(c.live)
	s.replace(tx, ts, c, want, room)
	if extra := len(c.fit) - want; extra > 0 {
		s.scaleIn(tx, ts, surplus(c.fit, extra))
	}
	s.assess(tx, ts)
}

// replaceMissing starts the missing tasks. An unhealthy task is stopped when its replacement is
// healthy. If the maximum leaves no capacity for the replacement, the task is stopped immediately
// (Developer Guide: "the scheduler starts the replacement first when maximumPercent allows").
func (s *Scheduler) replace(tx *world.Tx, ts *world.TaskSet, c census, want, room int) {
	missing := max(want-len(c.fit), 0)
	leave := len(c.sick)
	if c.well < want {
		leave = min(max(missing-max(room, 0), 0), len(c.sick))
	}
	for i := range leave {
		s.dismiss(tx, ts, c.sick[i], c.why[i])
	}
	s.launch(tx, ts, min(missing, max(room, 0)+leave))
}

// stopUnhealthy stops an unhealthy task.
func (s *Scheduler) dismiss(tx *world.Tx, ts *world.TaskSet, t *world.Task, why string) {
	tellIllness(tx, t)
	failed(ts)
	s.retire(tx, t, why)
	tellStopped(tx, ts.Service, []*world.Task{t})
}

func (s *Scheduler) scaleIn(tx *world.Tx, ts *world.TaskSet, tasks []*world.Task) {
	for _, t := range tasks {
		s.retire(tx, t, "Scaling activity initiated by (deployment "+ts.ID+")")
	}
	tellStopped(tx, ts.Service, tasks)
}

// updateStability sets a task set's stability.
func (s *Scheduler) assess(tx *world.Tx, ts *world.TaskSet) {
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
		tell(tx, ts.Service, "(service %s, taskSet %s) has reached a steady state.", ts.Service.Name, ts.ID)
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
			if !isWell(t) || !isFound(tx, t) {
				return false
			}
			running++
		}
	}
	return running == ts.Computed
}

// deleteDrained deletes drained task sets, and ends a draining service.
func (s *Scheduler) reap(tx *world.Tx, svc *world.Service) {
	if svc.Status == "DRAINING" {
		s.end(tx, svc)
		return
	}
	var kept []*world.TaskSet
	for _, ts := range svc.TaskSets {
		if ts.Status == "DRAINING" && len(ts.Tasks) == 0 {
			vanish(tx, ts)
			continue
		}
		kept = append(kept, ts)
	}
	svc.TaskSets = kept
}

func vanish(tx *world.Tx, ts *world.TaskSet) {
	ts.Status = "INACTIVE"
	tx.Log("task set", ts.ID, "gone")
	left(tx, ts)
	tx.Changed(world.TaskSetChanged, ts)
}

// endDrainedService makes a draining service INACTIVE once all its tasks are stopping or stopped.
// Describe calls return it for some time.
func (s *Scheduler) end(tx *world.Tx, svc *world.Service) {
	for _, ts := range svc.TaskSets {
		for _, t := range ts.Tasks {
			if t.LastStatus != "STOPPING" && t.LastStatus != "DEPROVISIONING" {
				return
			}
		}
	}
	for _, ts := range svc.TaskSets {
		vanish(tx, ts)
	}
	svc.TaskSets, svc.Status = nil, "INACTIVE"
	serviceNote(svc).rollouts = nil
	tx.Log("service", svc.ID(), "INACTIVE")
	tx.Changed(world.ServiceChanged, svc)
	tx.After(tx.Knobs().StoppedTaskRetention, func(tx *world.Tx) {
		if now, ok := tx.Services.Get(svc.ID()); ok && now == svc {
			tx.Services.Delete(svc.ID())
		}
	})
}

// setStability sets a task set's stability; the API returns it after the setting StabilityLag.
// Several pending changes may take effect out of order; the newest one wins.
func setStability(tx *world.Tx, ts *world.TaskSet, status string) {
	n, k := setNote(ts), tx.Knobs().StabilityLag
	ts.Stability = status
	n.judged++
	number := n.judged
	lag := tx.Between(k.Min, k.Max, "stability", ts.ID, number)
	if lag == 0 || ts.ShownStability == "" {
		n.shown, ts.ShownStability = number, status
		return
	}
	tx.After(lag, func(*world.Tx) {
		if number > n.shown {
			n.shown, ts.ShownStability = number, status
		}
	})
}
