package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// poke makes the scheduler look at a service one turn of its loop from now,
// unless it will look sooner.
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

// look is one turn of the scheduler's loop for one service.
func (s *Scheduler) look(tx *world.Tx, svc *world.Service) {
	if svc.Status == "INACTIVE" {
		return
	}
	serviceNote(svc).loops++
	flush(tx, svc)
	defer s.restore(tx, svc) // what was missing has been seen
	if svc.Controller == "ECS" && svc.Status == "ACTIVE" {
		s.turn(tx, svc)
		return
	}
	for _, ts := range svc.TaskSets {
		s.keep(tx, ts)
	}
	s.reap(tx, svc)
}

// census is who is in a task set.
type census struct {
	live []*world.Task // wanted: desired status RUNNING
	sick []*world.Task // of them, to be replaced
	why  []string      // for each sick one
	fit  []*world.Task // live and not sick
	well int           // fit and healthy in every check
}

// count takes the census of a set and notes when a grace period ends.
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

// keep holds a task set at its computed desired count: what died or is sick is
// replaced, what is too many is stopped.
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

// replace starts what is missing. A sick task goes when its replacement is
// well, or at once where the maximum leaves no room to start one beside it
// (Developer Guide: "the scheduler starts the replacement first when
// maximumPercent allows").
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

// dismiss stops a sick task.
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

// assess judges a task set's stability.
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

// isSteady: as many tasks run as should, none is on its way, each is healthy
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

// reap takes away drained task sets, and ends a service that drains.
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

// end makes a draining service INACTIVE once all its tasks are stopping or
// stopped. It stays describable for a while.
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

// setStability sets a task set's stability, and shows it after a moment (knob
// StabilityLag). The newest one is shown in whatever order they arrive.
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
