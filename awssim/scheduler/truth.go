package scheduler

import (
	"fmt"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// invariants returns the scheduler's invariants.
func (s *Scheduler) truths() []world.Check {
	return []world.Check{
		{Name: "a task set wants its share of the desired count", Each: s.wantsItsShare},
		{Name: "a running task has an address", Each: hasAddress},
		{Name: "a service has one rollout that moves, of its PRIMARY deployment", Each: oneRollout},
	}
}

func (s *Scheduler) wantsItsShare(_ *world.Tx, c world.Change) error {
	var sets []*world.TaskSet
	switch o := c.Object.(type) {
	case *world.Service:
		sets = o.TaskSets
	case *world.TaskSet:
		sets = []*world.TaskSet{o}
	}
	for _, ts := range sets {
		if ts.Status != "INACTIVE" && ts.Computed != s.wanted(ts) {
			return fmt.Errorf("%s of %s wants %d tasks, %g %% of %d are %d", ts.ID, ts.Service.ID(), ts.Computed, ts.Scale, ts.Service.Desired, s.wanted(ts))
		}
	}
	return nil
}

func hasAddress(_ *world.Tx, c world.Change) error {
	if t, ok := c.Object.(*world.Task); ok && t.LastStatus == "RUNNING" && !t.Address.IsValid() {
		return fmt.Errorf("task %s runs without an address", t.ID)
	}
	return nil
}

func oneRollout(_ *world.Tx, c world.Change) error {
	var svc *world.Service
	switch o := c.Object.(type) {
	case *world.Service:
		svc = o
	case *world.TaskSet:
		svc = o.Service
	}
	if svc == nil || svc.Controller != "ECS" || svc.Status != "ACTIVE" {
		return nil
	}
	for i, r := range serviceNote(svc).rollouts {
		switch p := svc.Primary(); {
		case !r.moves():
		case i < len(serviceNote(svc).rollouts)-1:
			return fmt.Errorf("rollout %s of %s is %s, and is not the newest", r.ID, svc.ID(), r.Status)
		case p != r.goal() || p.RolloutState != "IN_PROGRESS":
			return fmt.Errorf("rollout %s of %s is %s, its deployment %s is %s %s", r.ID, svc.ID(), r.Status, r.goal().ID, r.goal().Status, r.goal().RolloutState)
		}
	}
	return nil
}
