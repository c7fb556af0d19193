package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// replaceOldTasks stops tasks of former deployments as far as enough ready tasks remain. It replaces
// those that died or are unhealthy by their own revision, within maximumPercent (announcement "Amazon ECS
// improves Service Availability during Rolling deployments"). room is how many tasks may still start.
func replaceOldTasks(tx *world.Tx, svc *world.Service, st rollingState) (room, stopped int) {
	room = st.upper - st.wanted
	freed := -1 // cleanup is not deferred
	if defersCleanup(svc, st.primary) {
		freed = max(svc.Desired-len(st.primaryTasks.usable)-max(room, 0), 0)
	}
	for _, ts := range st.oldSets {
		before, ready := countWanted(ts), countReady(tx, ts)
		kept := max(st.lower-(st.ready-ready), 0)
		if freed >= 0 {
			all := max(before, stateOfSet(ts).kept)
			kept = max(kept, all-freed)
			freed -= max(all-kept, 0)
		}
		stopped += keepOldTasks(tx, ts, kept, room)
		st.ready -= max(ready-countReady(tx, ts), 0)
		room += before - countWanted(ts)
	}
	return room, stopped
}

// keepOldTasks keeps at most kept tasks of a former deployment. One that is not completed is no version
// to keep: its tasks that are not healthy are stopped, and none is replaced.
func keepOldTasks(tx *world.Tx, ts *world.TaskSet, kept, room int) (stopped int) {
	n, c := stateOfSet(ts), countTasks(tx, ts)
	if ts.RolloutState != "COMPLETED" {
		leave := chooseSurplus(c.wanted, len(c.wanted)-min(kept, ts.Count(isHealthy)))
		scaleIn(tx, ts, leave)
		return len(leave)
	}
	n.kept = min(n.kept, kept)
	replaceMissing(tx, ts, c, n.kept, room)
	leave := chooseSurplus(c.usable, max(len(c.usable)-n.kept, 0))
	scaleIn(tx, ts, leave)
	return len(leave)
}

func countWanted(ts *world.TaskSet) int {
	return ts.Count(func(t *world.Task) bool { return t.DesiredStatus == "RUNNING" })
}

// scaleOldTasks changes the kept tasks of former deployments for another desired count: a scale-out
// applies to all revisions.
func scaleOldTasks(svc *world.Service, desired int) {
	for _, ts := range svc.TaskSets {
		if n := stateOfSet(ts); n.kept > 0 {
			n.kept = min(n.kept+max(desired-svc.Desired, 0), desired)
		}
	}
}
