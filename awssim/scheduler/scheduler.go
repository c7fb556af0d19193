// Package scheduler is what Amazon ECS does by itself: it starts the tasks that
// services and task sets should have, moves every task through its life,
// registers it with its target groups and takes it out again, replaces what
// died or is sick, judges stability, and replaces tasks revision by revision
// where the deployment controller is ECS.
//
// It is a law over [world]: it holds no state of its own but the notes that it
// leaves on services, task sets and tasks, it answers to changes of facts, and
// between changes it has nothing due. It knows no API and no SDK; the ecs room
// calls its verbs. It never moves traffic: what a target group does with a
// target is the balancer's law, and the scheduler only waits for it.
//
// A rolling update is a [Rollout]: judged by [Rules] (circuit breaker, alarms,
// bake time, early success), cut off and rolled back where they say so.
//
// It does not simulate the native progressive strategies, daemons and container
// instances.
//
// Start reading at [New] and watch in this file, then life.go (how a task
// starts), stop.go (how it ends), loop.go (what a service needs), rolling.go and
// cutoff.go (how a service gets to another revision, or back).
package scheduler

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Scheduler is the law. It may be shared; its methods run inside a step.
type Scheduler struct{}

// New makes the scheduler of a world and lets it watch. Call it once per world,
// before the first step.
func New(w *world.World) *Scheduler {
	s := &Scheduler{}
	w.Watch(s.watch)
	for _, c := range s.truths() {
		w.Check(c)
	}
	return s
}

func (s *Scheduler) watch(tx *world.Tx, c world.Change) {
	switch o := c.Object.(type) {
	case *world.Service:
		s.poke(tx, o)
	case *world.TaskSet:
		s.poke(tx, o.Service)
	case *world.Task:
		s.taskChanged(tx, o)
	case *world.Target:
		s.targetChanged(tx, o)
	case *world.TargetGroup:
		s.groupChanged(tx, o)
	case *world.Alarm:
		s.alarmChanged(tx, o)
	case *world.Instance:
		s.instanceChanged(tx, o)
	}
	if c.Kind == world.TroubleChanged {
		s.troubleChanged(tx)
	}
}

// taskChanged wakes the service at the statuses that it acts on.
func (s *Scheduler) taskChanged(tx *world.Tx, t *world.Task) {
	if t.Service == nil {
		return
	}
	switch t.LastStatus {
	case "PENDING", "ACTIVATING", "DEPROVISIONING":
		return
	}
	s.poke(tx, t.Service)
}

func (s *Scheduler) targetChanged(tx *world.Tx, target *world.Target) {
	t := target.Task
	if t == nil {
		return
	}
	switch target.State {
	case "gone":
		s.drained(tx, t)
		tellAstray(tx, t, target)
	case "initial", "draining":
		return
	}
	if t.Service != nil {
		s.poke(tx, t.Service)
	}
}

// groupChanged lets go of tasks that wait for the drain of a deleted group.
func (s *Scheduler) groupChanged(tx *world.Tx, g *world.TargetGroup) {
	if _, ok := tx.TargetGroups.Get(g.ARN); ok {
		return
	}
	for _, target := range g.Targets {
		if target.Task != nil {
			s.drained(tx, target.Task)
		}
	}
}

// troubleChanged kills what stands in lost zones and lets every service look
// again: capacity may be back.
func (s *Scheduler) troubleChanged(tx *world.Tx) {
	for _, t := range tx.Tasks.Values() {
		if t.LastStatus != "STOPPED" && tx.Troubles.ZonesLost[t.Zone] {
			s.lose(tx, t)
		}
	}
	for _, svc := range tx.Services.Values() {
		if svc.Status != "INACTIVE" {
			tryPlaces(svc)
			s.poke(tx, svc)
		}
	}
}

// tryPlaces lets starts that found no place be tried again at once.
func tryPlaces(svc *world.Service) {
	for _, ts := range svc.TaskSets {
		if n := setNote(ts); n.noPlace {
			n.heldTill = time.Time{}
		}
	}
}
