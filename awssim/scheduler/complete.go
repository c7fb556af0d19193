package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// completeDeployments deletes deployments without tasks. It completes the PRIMARY one's rollout
// when the needed tasks are ready and the bake time is over.
func completeDeployments(tx *world.Tx, svc *world.Service, st rollingState, r *Rollout) {
	deleteEmptyDeployments(tx, svc)
	p, ready := st.primary, countReady(tx, st.primary)
	whole := len(svc.TaskSets) == 1 && ready == svc.Desired && len(p.Tasks) == svc.Desired
	if p.RolloutState == "IN_PROGRESS" && (whole || isEarlySuccess(svc, r, ready)) && hasBaked(tx, svc, r) {
		completeRollout(tx, svc, r)
	}
	n := stateOfService(svc)
	switch {
	case !whole:
		n.steadyReported = false
	case !n.steadyReported && p.RolloutState != "IN_PROGRESS":
		n.steadyReported = true
		addEvent(tx, svc, "(service %s) has reached a steady state.", svc.Name)
	}
}

func deleteEmptyDeployments(tx *world.Tx, svc *world.Service) {
	for i := 0; i < len(svc.TaskSets); {
		ts := svc.TaskSets[i]
		if ts.Status == "PRIMARY" || len(ts.Tasks) > 0 || stateOfSet(ts).kept > 0 {
			i++
			continue
		}
		removeSet(svc, ts)
		deactivateSet(tx, ts)
	}
}

// isEarlySuccess reports whether enough tasks are healthy for an early success. A rollback never
// succeeds early.
func isEarlySuccess(svc *world.Service, r *Rollout, ready int) bool {
	e := stateOfService(svc).rules.Early
	if !e.Enable || r.Rollback != nil || ready < e.requiredTasks(svc.Desired) {
		return false
	}
	return e.Deferred || len(svc.TaskSets) == 1
}

// hasBaked reports whether the bake time is over; the first call starts it. A rollback has no bake
// time.
func hasBaked(tx *world.Tx, svc *world.Service, r *Rollout) bool {
	d := bakeTime(tx, stateOfService(svc).rules)
	if d <= 0 || r.Rollback != nil {
		return true
	}
	if r.bakeEnd.IsZero() {
		r.bakeEnd = tx.Now().Add(d)
		tx.Log("rollout", r.ID, "bakes for %s", d)
	}
	if r.bakeEnd.After(tx.Now()) {
		reconcileAt(tx, svc, r.bakeEnd)
		return false
	}
	return true
}

// completeRollout sets the current deployment of a rollout to COMPLETED.
func completeRollout(tx *world.Tx, svc *world.Service, r *Rollout) {
	p := r.currentTarget()
	p.RolloutState, p.RolloutReason, p.UpdatedAt = "COMPLETED", "ECS deployment "+p.ID+" completed.", tx.Now()
	addEvent(tx, svc, "(service %s) (deployment %s) deployment completed.", svc.Name, p.ID)
	if r.Rollback != nil {
		r.setStatus(tx, "ROLLBACK_SUCCESSFUL", "")
	} else {
		r.setStatus(tx, "SUCCESSFUL", "")
	}
	tx.Changed(world.TaskSetChanged, p)
}
