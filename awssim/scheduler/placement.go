package scheduler

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// ChooseSubnet returns the subnet of the next task: the first whose zone has the fewest tasks in
// perZone. It returns nil if no subnet can take a task now. Lost zones and clusters without
// capacity take none.
func ChooseSubnet(tx *world.Tx, cluster string, subnets []string, perZone map[string]int) *world.Subnet {
	if lacksCapacity(tx, cluster) {
		return nil
	}
	var best *world.Subnet
	for _, id := range subnets {
		sub, ok := tx.Subnets.Get(id)
		if !ok || tx.ActiveFaults.ZonesLost[sub.Zone] {
			continue
		}
		if best == nil || perZone[sub.Zone] < perZone[best.Zone] {
			best = sub
		}
	}
	return best
}

func lacksCapacity(tx *world.Tx, cluster string) bool {
	return tx.ActiveFaults.NoCapacity["*"] || tx.ActiveFaults.NoCapacity[cluster]
}

// launchTasks starts up to n tasks of a set, as many as can be placed now.
func (s *Scheduler) launchTasks(tx *world.Tx, ts *world.TaskSet, n int) (started int) {
	note, svc := stateOfSet(ts), ts.Service
	if n <= 0 {
		return 0
	}
	if note.noStartBefore.After(tx.Now()) {
		s.reconcileAt(tx, svc, note.noStartBefore)
		return 0
	}
	perZone := countByZone(ts)
	var tasks []*world.Task
	for range n {
		sub := ChooseSubnet(tx, svc.Cluster.Name, ts.Subnets, perZone)
		if sub == nil {
			s.countUnplaced(tx, ts)
			break
		}
		if at, ok := takeStart(tx, ts); !ok {
			s.reconcileAt(tx, svc, at)
			break
		}
		perZone[sub.Zone]++
		tasks = append(tasks, s.startTask(tx, ts, sub))
	}
	if len(tasks) > 0 {
		note.noPlaceReported, note.unplacedInRow = false, 0
	}
	addStartedEvents(tx, svc, tasks)
	return len(tasks)
}

func (s *Scheduler) startTask(tx *world.Tx, ts *world.TaskSet, sub *world.Subnet) *world.Task {
	t := s.StartTask(tx, Launch{
		Cluster: ts.Service.Cluster, Service: ts.Service, Set: ts, Definition: ts.Definition,
		Group: "service:" + ts.Service.Name, StartedBy: ts.ID, LaunchType: ts.LaunchType, Subnet: sub,
	})
	stateOfTask(t).epoch = stateOfSet(ts).epoch
	return t
}

// countByZone counts the tasks of a set with desired status RUNNING, by zone.
func countByZone(ts *world.TaskSet) map[string]int {
	n := map[string]int{}
	for _, t := range ts.Tasks {
		if t.DesiredStatus == "RUNNING" {
			n[t.Zone]++
		}
	}
	return n
}

func addNoPlaceEvent(tx *world.Tx, ts *world.TaskSet) {
	if n := stateOfSet(ts); !n.noPlaceReported {
		n.noPlaceReported = true
		addEvent(tx, ts.Service, "(service %s) was unable to place a task. Reason: Capacity is unavailable at this "+
			"time. Please try again later or in a different availability zone", ts.Service.Name)
	}
}

// chooseSurplus returns n of the tasks to stop. Order: tasks that do not run yet, tasks that are
// not healthy, tasks of the zone with the most tasks. Within each step the youngest comes first.
func chooseSurplus(tasks []*world.Task, n int) []*world.Task {
	var chosen, well []*world.Task
	for _, want := range []func(*world.Task) bool{
		func(t *world.Task) bool { return t.LastStatus != "RUNNING" },
		func(t *world.Task) bool { return t.LastStatus == "RUNNING" && !isHealthy(t) },
	} {
		for i := len(tasks) - 1; i >= 0 && len(chosen) < n; i-- {
			if want(tasks[i]) {
				chosen = append(chosen, tasks[i])
			}
		}
	}
	for _, t := range tasks {
		if isHealthy(t) {
			well = append(well, t)
		}
	}
	return append(chosen, fromFullestZones(well, min(n-len(chosen), len(well)))...)
}

func fromFullestZones(tasks []*world.Task, n int) (chosen []*world.Task) {
	var zones []string
	in := map[string][]*world.Task{}
	for _, t := range tasks {
		if in[t.Zone] == nil {
			zones = append(zones, t.Zone)
		}
		in[t.Zone] = append(in[t.Zone], t)
	}
	for range n {
		fullest := zones[0]
		for _, z := range zones {
			if len(in[z]) > len(in[fullest]) {
				fullest = z
			}
		}
		last := len(in[fullest]) - 1
		chosen = append(chosen, in[fullest][last])
		in[fullest] = in[fullest][:last]
	}
	return chosen
}
