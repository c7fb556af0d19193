package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// completeDeployments deletes deployments without tasks. It completes the PRIMARY one's rollout
// when the needed tasks are ready and the bake time is over.
func (s *Scheduler) complete(tx *world.Tx, svc *world.Service, st stock, r *Rollout) {
	vanishEmpty(tx, svc)
	p, ready := st.primary, s.readyIn(tx, st.primary)
	whole := len(svc.TaskSets) == 1 && ready == svc.Desired && len(p.Tasks) == svc.Desired
	if p.RolloutState == "IN_PROGRESS" && (whole || early(svc, r, ready)) && s.baked(tx, svc, r) {
		s.succeed(tx, svc, r)
	}
	n := serviceNote(svc)
	switch {
	case !whole:
		n.steady = false
	case !n.steady && p.RolloutState != "IN_PROGRESS":
		n.steady = true
		tell(tx, svc, "(service %s) has reached a steady state.", svc.Name)
	}
}

func vanishEmpty(tx *world.Tx, svc *world.Service) {
	for i := 0; i < len(svc.TaskSets); {
		ts := svc.TaskSets[i]
		if ts.Status == "PRIMARY" || len(ts.Tasks) > 0 {
			i++
			continue
		}
		remove(svc, ts)
		vanish(tx, ts)
	}
}

// isEarlySuccess reports whether enough tasks are healthy for an early success. A rollback never
// succeeds early.
func early(svc *world.Service, r *Rollout, ready int) bool {
	e := serviceNote(svc).rules.Early
	if !e.Enable || r.Back != nil || ready < e.enough(svc.Desired) {
		return false
	}
	return e.Deferred || len(svc.TaskSets) == 1
}

// hasBaked reports whether the bake time is over; the first call starts it. A rollback has no bake
// time.
func (s *Scheduler) baked(tx *world.Tx, svc *world.Service, r *Rollout) bool {
	d := bakeTime(tx, serviceNote(svc).rules)
	if d <= 0 || r.Back != nil {
		return true
	}
	if r.bakesTill.IsZero() {
		r.bakesTill = tx.Now().Add(d)
		tx.Log("rollout", r.ID, "bakes for %s", d)
	}
	if r.bakesTill.After(tx.Now()) {
		s.pokeAt(tx, svc, r.bakesTill)
		return false
	}
	return true
}

// completeRollout sets the current deployment of a rollout to COMPLETED.
func (s *Scheduler) succeed(tx *world.Tx, svc *world.Service, r *Rollout) {
	p := r.goal()
	p.RolloutState, p.RolloutReason, p.UpdatedAt = "COMPLETED", "ECS deployment "+p.ID+" completed.", tx.Now()
	tell(tx, svc, "(service %s) (deployment %s) deployment completed.", svc.Name, p.ID)
	if r.Back != nil {
		r.turn(tx, "ROLLBACK_SUCCESSFUL", "")
	} else {
		r.turn(tx, "SUCCESSFUL", "")
	}
	tx.Changed(world.TaskSetChanged, p)
}
