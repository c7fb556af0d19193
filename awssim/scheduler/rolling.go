package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// supersede makes ts the PRIMARY deployment of a service with controller ECS.
func (s *Scheduler) supersede(tx *world.Tx, ts *world.TaskSet) {
	if old := ts.Service.Primary(); old != nil {
		old.Status, old.UpdatedAt = "ACTIVE", tx.Now()
		tx.Changed(world.TaskSetChanged, old)
	}
	n := serviceNote(ts.Service)
	n.steady, n.stuck = false, false
	ts.Status, ts.Scale = "PRIMARY", 100
	ts.RolloutState, ts.RolloutReason = "IN_PROGRESS", "ECS deployment "+ts.ID+" in progress."
}

// stock is what a rolling update decides from.
type stock struct {
	primary      *world.TaskSet
	in           census // the primary's tasks
	old          []*world.Task
	oldSets      []*world.TaskSet
	live, ready  int // of all deployments
	moving       bool
	upper, lower int
}

// roll is one turn of a rolling update: within minimumHealthyPercent (rounded
// up) and maximumPercent (rounded down; stopping tasks do not count) it stops
// old tasks, starts new ones and replaces what fell (Developer Guide, "Deploy
// Amazon ECS services by replacing tasks").
func (s *Scheduler) roll(tx *world.Tx, svc *world.Service) {
	primary := svc.Primary()
	if primary == nil {
		return
	}
	st := s.survey(tx, svc, primary)
	stopped := s.stopOld(tx, st)
	room := st.upper - (st.live - stopped)
	before := len(primary.Tasks)
	s.replace(tx, primary, st.in, svc.Desired, room)
	if extra := len(st.in.fit) - svc.Desired; extra > 0 {
		s.scaleIn(tx, primary, surplus(st.in.fit, extra))
	}
	s.tellStuck(tx, svc, st, stopped > 0 || len(primary.Tasks) != before)
	s.complete(tx, svc, st)
}

func (s *Scheduler) survey(tx *world.Tx, svc *world.Service, primary *world.TaskSet) stock {
	st := stock{primary: primary, upper: ceiling(svc.Desired, svc.MaxPercent), lower: floor(svc.Desired, svc.MinPercent)}
	st.in = s.count(tx, primary)
	for _, ts := range svc.TaskSets {
		if ts != primary {
			st.oldSets = append(st.oldSets, ts)
		}
		for _, t := range ts.Tasks {
			s.surveyTask(tx, &st, t)
		}
	}
	return st
}

func (s *Scheduler) surveyTask(tx *world.Tx, st *stock, t *world.Task) {
	if t.DesiredStatus != "RUNNING" {
		st.moving = true
		return
	}
	st.live++
	ready, at := isReady(tx, t)
	if !at.IsZero() {
		s.pokeAt(tx, t.Service, at)
	}
	if ready {
		st.ready++
	} else {
		st.moving = true
	}
	if t.Set != st.primary {
		st.old = append(st.old, t)
	}
}

// stopOld stops tasks of former deployments: those that serve nobody at once,
// others as far as enough ready ones remain.
func (s *Scheduler) stopOld(tx *world.Tx, st stock) (stopped int) {
	budget := max(st.ready-st.lower, 0)
	for _, ts := range st.oldSets {
		var idle, serving []*world.Task
		for _, t := range st.old {
			switch {
			case t.Set != ts:
			case isWell(t):
				serving = append(serving, t)
			default:
				idle = append(idle, t)
			}
		}
		leave := surplus(serving, min(budget, len(serving)))
		budget -= len(leave)
		leave = append(idle, leave...)
		s.scaleIn(tx, ts, leave)
		stopped += len(leave)
	}
	return stopped
}

func (s *Scheduler) tellStuck(tx *world.Tx, svc *world.Service, st stock, acted bool) {
	n := serviceNote(svc)
	held := setNote(st.primary)
	if acted || st.moving || n.stuck || len(st.old) == 0 || held.noPlace || held.impaired {
		return
	}
	n.stuck = true
	tell(tx, svc, "(service %s) was unable to stop or start tasks during a deployment because of the service deployment configuration. Update the minimumHealthyPercent or maximumPercent value and try again.", svc.Name)
}

// complete removes deployments without tasks and ends the primary's rollout.
func (s *Scheduler) complete(tx *world.Tx, svc *world.Service, st stock) {
	for _, ts := range st.oldSets {
		if len(ts.Tasks) == 0 {
			remove(svc, ts)
			vanish(tx, ts)
		}
	}
	n, ready := serviceNote(svc), s.readyIn(tx, st.primary)
	if ready > 0 {
		st.primary.FailedTasks = 0
	}
	done := len(svc.TaskSets) == 1 && ready == svc.Desired && len(st.primary.Tasks) == svc.Desired
	if !done {
		n.steady = false
		return
	}
	if p := st.primary; p.RolloutState == "IN_PROGRESS" {
		p.RolloutState, p.RolloutReason, p.UpdatedAt = "COMPLETED", "ECS deployment "+p.ID+" completed.", tx.Now()
		tell(tx, svc, "(service %s) (deployment %s) deployment completed.", svc.Name, p.ID)
		tx.Changed(world.TaskSetChanged, p)
	}
	if !n.steady {
		n.steady = true
		tell(tx, svc, "(service %s) has reached a steady state.", svc.Name)
	}
}

func (s *Scheduler) readyIn(tx *world.Tx, ts *world.TaskSet) int {
	return ts.Count(func(t *world.Task) bool {
		ready, _ := isReady(tx, t)
		return ready
	})
}

func remove(svc *world.Service, ts *world.TaskSet) {
	for i, x := range svc.TaskSets {
		if x == ts {
			svc.TaskSets = append(svc.TaskSets[:i:i], svc.TaskSets[i+1:]...)
			return
		}
	}
}
