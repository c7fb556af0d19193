// Package scheduler simulates what Amazon ECS does by itself. It starts the tasks of services and
// task sets and moves every task through its lifecycle. It registers tasks with their target groups
// and deregisters them, and replaces stopped and unhealthy tasks. It determines stability, and runs
// rolling updates with the deployment controller ECS.
//
// The package is a controller of [world]. Its only state is private state on services, task sets
// and tasks. It reacts to changes of resources; between changes it has no due event. It knows no
// API and no SDK; package ecs calls its exported methods. The balancer decides what a target group
// does with a target, and the scheduler only waits for it.
//
// A rolling update is a [Rollout]. Its [Rules] (circuit breaker, alarms, bake time, early success)
// decide whether it fails and is rolled back.
//
// Tasks of launch type EC2 run on container instances, which are there from the first such task on
// (instances.go). Their CPU and memory are unlimited, their host ports are not.
//
// With another [Strategy] than rolling, a rollout goes through the stages of a lifecycle
// (lifecycle.go): only then the scheduler moves traffic, by the weights of listener rules.
//
// Start reading at [New] and handleChange in this file. Then read starttask.go (how a task starts),
// stop.go (how it stops) and loop.go (what a service needs). rolling.go and circuitbreaker.go replace a
// revision, or roll it back.
package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Scheduler is the controller. It may be shared; its methods run inside a step.
type Scheduler struct{}

// New creates the scheduler of a world and registers its watcher. Call it once per world, before
// the first step.
func New(w *world.World) *Scheduler {
	s := &Scheduler{}
	w.Watch(handleChange)
	for _, c := range invariants() {
		w.AddInvariant(c)
	}
	return s
}

func handleChange(tx *world.Tx, c world.Change) {
	switch o := c.Object.(type) {
	case *world.Service:
		scheduleReconcile(tx, o)
	case *world.TaskSet:
		scheduleReconcile(tx, o.Service)
	case *world.Task:
		taskChanged(tx, o)
	case *world.Target:
		targetChanged(tx, o)
	case *world.TargetGroup:
		groupChanged(tx, o)
	case *world.Alarm:
		alarmChanged(tx, o)
	case *world.Instance:
		instanceChanged(tx, o)
	}
	if c.Kind == world.FaultsChanged {
		faultsChanged(tx)
	}
}

// taskChanged schedules the service when its task has a status that the scheduler acts on.
func taskChanged(tx *world.Tx, t *world.Task) {
	if t.Service == nil {
		return
	}
	switch t.LastStatus {
	case "PENDING", "ACTIVATING", "DEPROVISIONING":
		return
	}
	scheduleReconcile(tx, t.Service)
}

func targetChanged(tx *world.Tx, target *world.Target) {
	t := target.Task
	if t == nil {
		return
	}
	switch target.State {
	case "gone":
		finishDrain(tx, t)
		addMissingTargetEvent(tx, t, target)
	case "initial", "draining":
		return
	}
	if t.Service != nil {
		scheduleReconcile(tx, t.Service)
	}
}

// groupChanged continues tasks that wait for the drain of a deleted target group.
func groupChanged(tx *world.Tx, g *world.TargetGroup) {
	if _, ok := tx.TargetGroups.Get(g.ARN); ok {
		return
	}
	for _, target := range g.Targets {
		if target.Task != nil {
			finishDrain(tx, target.Task)
		}
	}
}

// faultsChanged stops the tasks in lost zones and schedules every service: capacity may be back.
func faultsChanged(tx *world.Tx) {
	for _, t := range tx.Tasks.Values() {
		if t.LastStatus != "STOPPED" && tx.ActiveFaults.ZonesLost[t.Zone] {
			stopInLostZone(tx, t)
		}
	}
	for _, svc := range tx.Services.Values() {
		if svc.Status != "INACTIVE" {
			retryPlacement(svc)
			scheduleReconcile(tx, svc)
		}
	}
}

// retryPlacement allows an immediate retry of starts that could not be placed.
func retryPlacement(svc *world.Service) {
	for _, ts := range svc.TaskSets {
		if n := stateOfSet(ts); n.noPlaceReported {
			n.noStartBefore = time.Time{}
		}
	}
}
