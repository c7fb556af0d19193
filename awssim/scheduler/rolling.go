package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// startDeployment makes ts the PRIMARY deployment of a service with controller ECS.
func (s *Scheduler) supersede(tx *world.Tx, ts *world.TaskSet) {
	svc := ts.Service
	latest(svc).overtaken(tx)
	settleFailed(tx, svc)
	s.stepDown(tx, svc)
	svc.TaskSets = append(svc.TaskSets, ts)
	open(tx, ts)
	s.stepUp(tx, ts, inProgress(ts))
	tx.Log("task set", ts.ID, "created in %s, %s", svc.ID(), ts.Status)
}

// demotePrimary sets the PRIMARY deployment to ACTIVE.
func (s *Scheduler) stepDown(tx *world.Tx, svc *world.Service) {
	if old := svc.Primary(); old != nil {
		old.Status, old.UpdatedAt = "ACTIVE", tx.Now()
		tx.Changed(world.TaskSetChanged, old)
	}
}

// makePrimary makes a deployment PRIMARY and clears its failure counts.
func (s *Scheduler) stepUp(tx *world.Tx, ts *world.TaskSet, reason string) {
	n, note := serviceNote(ts.Service), setNote(ts)
	n.steady, n.stuck = false, false
	note.failures, note.ran, note.proven = 0, false, false
	ts.Status, ts.Scale, ts.FailedTasks, ts.UpdatedAt = "PRIMARY", 100, 0, tx.Now()
	ts.RolloutState, ts.RolloutReason = "IN_PROGRESS", reason
	s.resize(tx, ts)
}

func inProgress(ts *world.TaskSet) string { return "ECS deployment " + ts.ID + " in progress." }

// rollingState holds the inputs of one step of a rolling update.
type stock struct {
	primary      *world.TaskSet
	in           census // the primary's tasks
	old          []*world.Task
	oldSets      []*world.TaskSet
	live, ready  int // tasks of all deployments
	moving       bool
	upper, lower int
}

// reconcileRolling is one turn of the scheduler's loop for a service with controller ECS.
func (s *Scheduler) turn(tx *world.Tx, svc *world.Service) {
	primary, r := svc.Primary(), latest(svc)
	if primary == nil || r == nil {
		return
	}
	if r.moves() {
		r.begin(tx)
	}
	settled := settleFailed(tx, svc)
	switch {
	case s.cutOff(tx, svc, r):
	case primary.RolloutState == "FAILED":
		s.stand(tx, svc)
	default:
		st := s.roll(tx, svc, primary, r)
		if !settled {
			s.complete(tx, svc, st, r)
		}
	}
}

// scaleInFailed keeps a failed deployment as it is: it starts no tasks and only follows a lower
// desired count.
func (s *Scheduler) stand(tx *world.Tx, svc *world.Service) {
	for _, ts := range svc.TaskSets {
		c := s.count(tx, ts)
		if extra := len(c.live) - svc.Desired; extra > 0 {
			s.scaleIn(tx, ts, surplus(c.live, extra))
		}
	}
	vanishEmpty(tx, svc)
}

// advanceRollout continues a rolling update. It stops old tasks, starts new ones and replaces
// stopped ones, between minimumHealthyPercent (rounded up) and maximumPercent (rounded down).
// Stopping tasks do not count (Developer Guide, "Deploy Amazon ECS services by replacing tasks").
func (s *Scheduler) roll(tx *world.Tx, svc *world.Service, primary *world.TaskSet, r *Rollout) stock {
	st := s.survey(tx, svc, primary)
	stopped := s.stopOld(tx, svc, st)
	room := st.upper - (st.live - stopped)
	before := len(primary.Tasks)
	s.replace(tx, primary, st.in, svc.Desired, room)
	if extra := len(st.in.fit) - svc.Desired; extra > 0 {
		s.scaleIn(tx, primary, surplus(st.in.fit, extra))
	}
	r.watching = r.watching || len(r.goal().Tasks) > 0
	s.tellStuck(tx, svc, st, stopped > 0 || len(primary.Tasks) != before)
	return st
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
		prove(t)
	} else {
		st.moving = true
	}
	if t.Set != st.primary {
		st.old = append(st.old, t)
	}
}

// stopOldTasks stops tasks of old deployments. Tasks that are not healthy are stopped immediately,
// others as long as enough ready tasks remain. If cleanup is deferred until an early success, it
// stops only as many as must free capacity.
func (s *Scheduler) stopOld(tx *world.Tx, svc *world.Service, st stock) (stopped int) {
	budget := max(st.ready-st.lower, 0)
	if defers(svc, st.primary) {
		missing := svc.Desired - len(st.in.fit)
		budget = min(budget, max(missing-max(st.upper-st.live, 0), 0))
	}
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
	if acted || st.moving || n.stuck || defers(svc, st.primary) || len(st.old) == 0 || held.noPlace || held.impaired {
		return
	}
	n.stuck = true
	tell(tx, svc, "(service %s) was unable to stop or start tasks during a deployment because of the service deployment configuration. Update the minimumHealthyPercent or maximumPercent value and try again.", svc.Name)
}

func (s *Scheduler) readyIn(tx *world.Tx, ts *world.TaskSet) int {
	return ts.Count(func(t *world.Task) bool {
		ready, _ := isReady(tx, t)
		return ready
	})
}

// defersCleanup reports whether old tasks stay until the early success.
func defers(svc *world.Service, primary *world.TaskSet) bool {
	e := serviceNote(svc).rules.Early
	return e.Enable && e.Deferred && primary.RolloutState == "IN_PROGRESS" && latest(svc).Back == nil
}

func remove(svc *world.Service, ts *world.TaskSet) {
	for i, x := range svc.TaskSets {
		if x == ts {
			svc.TaskSets = append(svc.TaskSets[:i:i], svc.TaskSets[i+1:]...)
			return
		}
	}
}
