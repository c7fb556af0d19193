package scheduler

import (
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Place is where a task runs.
type Place struct {
	Subnet   *world.Subnet
	Instance *world.ContainerInstance // nil on Fargate
}

// Request describes a task to place.
type Request struct {
	Cluster    *world.Cluster
	Definition *world.TaskDefinition
	LaunchType string
	Subnets    []string       // network mode awsvpc
	PerZone    map[string]int // tasks of the same set or request, by zone
	// Service is set for a task of a service. Its daemons run once on each container instance.
	Service *world.Service
}

// Obstacle says why no place was found.
type Obstacle struct {
	Event   string // the end of the service event
	Failure string // the reason in RunTask's failures
	// Leaving says that the service's own stopping tasks are in the way.
	Leaving bool
}

// FindPlace returns the place of the next task: in the first zone that has the fewest tasks in
// PerZone, on the container instance there that has the fewest tasks. Lost zones and clusters
// without capacity take none. Without a place it returns why.
func FindPlace(tx *world.Tx, r Request) (Place, *Obstacle) {
	if r.LaunchType != "EC2" {
		if sub := chooseSubnet(tx, r, func(string) bool { return true }); sub != nil {
			return Place{Subnet: sub}, nil
		}
		return Place{}, &Obstacle{Event: "was unable to place a task. Reason: " + noCapacity, Failure: noCapacity}
	}
	AddInstances(tx, r.Cluster)
	free, obstacle := freeInstances(r)
	if !r.Definition.HasOwnAddress() {
		r.Subnets = nil
		for _, i := range free {
			r.Subnets = append(r.Subnets, i.Subnet.ID)
		}
	}
	inZone := func(zone string) bool {
		return slices.ContainsFunc(free, func(i *world.ContainerInstance) bool { return i.Zone == zone })
	}
	sub := chooseSubnet(tx, r, inZone)
	if sub == nil {
		return Place{}, obstacle
	}
	var best *world.ContainerInstance
	for _, i := range free {
		if i.Zone == sub.Zone && (best == nil || len(i.Tasks) < len(best.Tasks)) {
			best = i
		}
	}
	return Place{Subnet: sub, Instance: best}, nil
}

const (
	noCapacity = "Capacity is unavailable at this time. Please try again later or in a different availability zone"
	noInstance = "was unable to place a task because no container instance met all of its requirements. "
)

func chooseSubnet(tx *world.Tx, r Request, allowed func(zone string) bool) *world.Subnet {
	if lacksCapacity(tx, r.Cluster.Name) {
		return nil
	}
	var best *world.Subnet
	for _, id := range r.Subnets {
		sub, ok := tx.Subnets.Get(id)
		if !ok || tx.ActiveFaults.ZonesLost[sub.Zone] || !allowed(sub.Zone) {
			continue
		}
		if best == nil || r.PerZone[sub.Zone] < r.PerZone[best.Zone] {
			best = sub
		}
	}
	return best
}

// freeInstances returns the container instances that can take the task, and why others cannot.
func freeInstances(r Request) (free []*world.ContainerInstance, why *Obstacle) {
	why = &Obstacle{Event: noInstance + "Reason: No Container Instances were found in your cluster.",
		Failure: "RESOURCE:CPU"}
	for _, i := range r.Cluster.Instances {
		if r.Service != nil && r.Service.Daemon && hasTaskOf(i, r.Service) {
			continue
		}
		obstacle := obstacleOn(i, r)
		if obstacle == nil {
			free = append(free, i)
			obstacle = lacks(i, "insufficient CPU units available.", "RESOURCE:CPU")
		}
		if why = obstacle; why.Leaving {
			break
		}
	}
	return free, why
}

// obstacleOn returns why a container instance cannot take the task, or nil.
func obstacleOn(i *world.ContainerInstance, r Request) *Obstacle {
	if user := portUser(r.Definition, i); user != nil {
		o := lacks(i, "", "RESOURCE:PORTS")
		o.Leaving = isLeaving(user, r.Service)
		return o
	}
	if i.Size.IsZero() {
		return nil
	}
	need, free := r.Definition.Reserved, i.Free()
	var o *Obstacle
	switch {
	case need.CPU > free.CPU:
		o = lacks(i, "insufficient CPU units available.", "RESOURCE:CPU")
	case need.Memory > free.Memory:
		o = lacks(i, "insufficient memory available.", "RESOURCE:MEMORY")
	default:
		return nil
	}
	for _, t := range i.Tasks {
		if isLeaving(t, r.Service) {
			free.CPU, free.Memory = free.CPU+t.Definition.Reserved.CPU, free.Memory+t.Definition.Reserved.Memory
		}
	}
	o.Leaving = need.CPU <= free.CPU && need.Memory <= free.Memory
	return o
}

// isLeaving reports whether a task of the service is about to leave its place.
func isLeaving(t *world.Task, svc *world.Service) bool {
	return t.Service != nil && t.Service == svc && t.DesiredStatus == "STOPPED"
}

// lacks returns the obstacle of the closest container instance.
func lacks(i *world.ContainerInstance, what, failure string) *Obstacle {
	event := "has " + what
	if failure == "RESOURCE:PORTS" {
		event = "is already using a port required by your task."
	}
	return &Obstacle{Event: noInstance + "The closest matching (container-instance " + shortID(i) + ") " + event,
		Failure: failure}
}

func shortID(i *world.ContainerInstance) string { return i.ARN[strings.LastIndexByte(i.ARN, '/')+1:] }

// portUser returns the task on an instance that uses a host port that the definition requires, or
// nil.
func portUser(d *world.TaskDefinition, i *world.ContainerInstance) *world.Task {
	if d.HasOwnAddress() {
		return nil
	}
	for _, c := range d.Containers {
		for _, p := range c.Ports {
			if p.Host == 0 {
				continue
			}
			if t := i.PortUser(p.Host); t != nil {
				return t
			}
		}
	}
	return nil
}

func hasTaskOf(i *world.ContainerInstance, svc *world.Service) bool {
	return slices.ContainsFunc(i.Tasks, func(t *world.Task) bool {
		return t.Service == svc && t.DesiredStatus == "RUNNING"
	})
}

func lacksCapacity(tx *world.Tx, cluster string) bool {
	return tx.ActiveFaults.NoCapacity["*"] || tx.ActiveFaults.NoCapacity[cluster]
}

// launchTasks starts up to n tasks of a set, as many as can be placed now.
func launchTasks(tx *world.Tx, ts *world.TaskSet, n int) (started int) {
	note, svc := stateOfSet(ts), ts.Service
	if n <= 0 {
		return 0
	}
	if note.noStartBefore.After(tx.Now()) {
		reconcileAt(tx, svc, note.noStartBefore)
		return 0
	}
	r := Request{Cluster: svc.Cluster, Definition: ts.Definition, LaunchType: ts.LaunchType, Subnets: ts.Subnets,
		PerZone: countByZone(ts), Service: svc}
	var tasks []*world.Task
	for range n {
		place, obstacle := FindPlace(tx, r)
		if obstacle != nil {
			if !obstacle.Leaving { // otherwise the turn after that task's end finds the place
				countUnplaced(tx, ts, obstacle)
			}
			break
		}
		if at, ok := takeStart(tx, ts); !ok {
			reconcileAt(tx, svc, at)
			break
		}
		r.PerZone[place.Subnet.Zone]++
		tasks = append(tasks, startTask(tx, ts, place))
	}
	if len(tasks) > 0 {
		note.noPlaceReported, note.unplacedInRow = false, 0
	}
	addStartedEvents(tx, svc, tasks)
	return len(tasks)
}

func startTask(tx *world.Tx, ts *world.TaskSet, place Place) *world.Task {
	l := Launch{
		Cluster: ts.Service.Cluster, Service: ts.Service, Set: ts, Definition: ts.Definition,
		Group: "service:" + ts.Service.Name, StartedBy: ts.ID, LaunchType: ts.LaunchType, Place: place,
	}
	if len(ts.Providers) > 0 {
		l.Provider = NextProvider(ts.Providers, countByProvider(ts))
	}
	t := launchTask(tx, l)
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

func addNoPlaceEvent(tx *world.Tx, ts *world.TaskSet, why *Obstacle) {
	if n := stateOfSet(ts); !n.noPlaceReported {
		n.noPlaceReported = true
		addEvent(tx, ts.Service, "(service %s) %s", ts.Service.Name, why.Event)
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
