package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// startDeployment makes ts the PRIMARY deployment of a service with controller ECS.
func startDeployment(tx *world.Tx, ts *world.TaskSet) {
	svc := ts.Service
	before, blue := latestRollout(svc), servingSet(svc)
	before.stopSuperseded(tx)
	failRolledBack(tx, svc)
	demotePrimary(tx, svc)
	svc.TaskSets = append(svc.TaskSets, ts)
	if r := openRollout(tx, ts); r.fixed.Strategy.Kind != "" {
		r.lifecycle = newLifecycle(r, blue, before)
	}
	makePrimary(tx, ts, progressReason(ts))
	tx.Log("task set", ts.ID, "created in %s, %s", svc.ID(), ts.Status)
}

// demotePrimary sets the PRIMARY deployment to ACTIVE. Former tasks that still serve, because that deployment failed,
// are kept for the next one.
func demotePrimary(tx *world.Tx, svc *world.Service) {
	for _, ts := range svc.TaskSets {
		if ts.Status == "ACTIVE" && ts.RolloutState == "COMPLETED" {
			stateOfSet(ts).kept = max(stateOfSet(ts).kept, countWanted(ts))
		}
	}
	if old := svc.Primary(); old != nil {
		old.Status, old.UpdatedAt = "ACTIVE", tx.Now()
		stateOfSet(old).kept = 0
		if old.RolloutState == "COMPLETED" {
			stateOfSet(old).kept = svc.Desired
		}
		tx.Changed(world.TaskSetChanged, old)
	}
}

// makePrimary makes a deployment PRIMARY and clears its failure counts.
func makePrimary(tx *world.Tx, ts *world.TaskSet, reason string) {
	n, note := stateOfService(ts.Service), stateOfSet(ts)
	n.steadyReported, n.stuckReported = false, false
	note.failures, note.reachedRunning, note.wasHealthy = 0, false, false
	ts.Status, ts.Scale, ts.FailedTasks, ts.UpdatedAt = "PRIMARY", 100, 0, tx.Now()
	ts.RolloutState, ts.RolloutReason = "IN_PROGRESS", reason
	resizeSet(tx, ts)
}

func progressReason(ts *world.TaskSet) string { return "ECS deployment " + ts.ID + " in progress." }

// rollingState holds the inputs of one step of a rolling update.
type rollingState struct {
	primary       *world.TaskSet
	primaryTasks  taskCount // the primary's tasks
	oldTasks      []*world.Task
	oldSets       []*world.TaskSet
	wanted, ready int // tasks of all deployments
	inTransition  bool
	upper, lower  int
}

// reconcileRolling is one turn of the scheduler's loop for a service with controller ECS.
func reconcileRolling(tx *world.Tx, svc *world.Service) {
	primary, r := svc.Primary(), latestRollout(svc)
	if primary == nil || r == nil {
		return
	}
	if r.isActive() {
		r.startRollout(tx)
	}
	settled := failRolledBack(tx, svc)
	switch {
	case r.lifecycle != nil && r.isActive():
		reconcileLifecycle(tx, svc, r)
	case stopIfFailed(tx, svc, r):
	case primary.RolloutState == "FAILED":
		scaleInFailed(tx, svc)
	default:
		st := advanceRollout(tx, svc, primary, r)
		if !settled {
			completeDeployments(tx, svc, st, r)
		}
	}
}

// scaleInFailed keeps a failed deployment as it is: it starts no tasks and only follows a lower
// desired count.
func scaleInFailed(tx *world.Tx, svc *world.Service) {
	for _, ts := range svc.TaskSets {
		stateOfSet(ts).kept = 0
		c := countTasks(tx, ts)
		if extra := len(c.wanted) - svc.Desired; extra > 0 {
			scaleIn(tx, ts, chooseSurplus(c.wanted, extra))
		}
	}
	deleteEmptyDeployments(tx, svc)
}

// advanceRollout continues a rolling update. It stops old tasks, starts new ones and replaces
// stopped ones, each by its own revision, between minimumHealthyPercent (rounded up) and maximumPercent (rounded down).
// Stopping tasks do not count (Developer Guide, "Deploy Amazon ECS services by replacing tasks").
func advanceRollout(tx *world.Tx, svc *world.Service, primary *world.TaskSet, r *Rollout) rollingState {
	st := collectState(tx, svc, primary)
	room, stopped := replaceOldTasks(tx, svc, st)
	before := len(primary.Tasks)
	replaceMissing(tx, primary, st.primaryTasks, svc.Desired, room)
	if extra := len(st.primaryTasks.usable) - svc.Desired; extra > 0 {
		scaleIn(tx, primary, chooseSurplus(st.primaryTasks.usable, extra))
	}
	r.hasStarted = r.hasStarted || len(r.currentTarget().Tasks) > 0
	addStuckEvent(tx, svc, st, stopped > 0 || len(primary.Tasks) != before)
	return st
}

func collectState(tx *world.Tx, svc *world.Service, primary *world.TaskSet) rollingState {
	st := rollingState{primary: primary, upper: upperLimit(svc.Desired, svc.MaxPercent),
		lower: lowerLimit(svc.Desired, svc.MinPercent)}
	st.primaryTasks = countTasks(tx, primary)
	for _, ts := range svc.TaskSets {
		if ts != primary {
			st.oldSets = append(st.oldSets, ts)
		}
		for _, t := range ts.Tasks {
			collectTask(tx, &st, t)
		}
	}
	return st
}

func collectTask(tx *world.Tx, st *rollingState, t *world.Task) {
	if t.DesiredStatus != "RUNNING" {
		st.inTransition = true
		return
	}
	st.wanted++
	ready, at := isReady(tx, t)
	if !at.IsZero() {
		reconcileAt(tx, t.Service, at)
	}
	if ready {
		st.ready++
		noteHealthy(t)
	} else {
		st.inTransition = true
	}
	if t.Set != st.primary {
		st.oldTasks = append(st.oldTasks, t)
	}
}

func addStuckEvent(tx *world.Tx, svc *world.Service, st rollingState, acted bool) {
	n := stateOfService(svc)
	held := stateOfSet(st.primary)
	if acted || st.inTransition || n.stuckReported || defersCleanup(svc, st.primary) || len(st.oldTasks) == 0 ||
		held.noPlaceReported || held.impairedReported {
		return
	}
	n.stuckReported = true
	addEvent(tx, svc, "(service %s) was unable to stop or start tasks during a deployment because of the service "+
		"deployment configuration. Update the minimumHealthyPercent or maximumPercent value and try again.", svc.Name)
}

func countReady(tx *world.Tx, ts *world.TaskSet) int {
	return ts.Count(func(t *world.Task) bool {
		ready, _ := isReady(tx, t)
		return ready
	})
}

// defersCleanup reports whether old tasks stay until the early success.
func defersCleanup(svc *world.Service, primary *world.TaskSet) bool {
	e := stateOfService(svc).rules.Early
	return e.Enable && e.Deferred && primary.RolloutState == "IN_PROGRESS" && latestRollout(svc).Rollback == nil
}

func removeSet(svc *world.Service, ts *world.TaskSet) {
	for i, x := range svc.TaskSets {
		if x == ts {
			svc.TaskSets = append(svc.TaskSets[:i:i], svc.TaskSets[i+1:]...)
			return
		}
	}
}
