package scheduler

import (
	"fmt"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// invariants returns the scheduler's invariants.
func invariants() []world.Invariant {
	return []world.Invariant{
		{Name: "a task set wants its share of the desired count", CheckChange: checkComputedCount},
		{Name: "a running task has an address", CheckChange: checkAddress},
		{Name: "a service has one rollout in progress, that of its PRIMARY deployment", CheckChange: checkOneRollout},
	}
}

func checkComputedCount(_ *world.Tx, c world.Change) error {
	var sets []*world.TaskSet
	switch o := c.Object.(type) {
	case *world.Service:
		sets = o.TaskSets
	case *world.TaskSet:
		sets = []*world.TaskSet{o}
	}
	for _, ts := range sets {
		if ts.Status != "INACTIVE" && ts.Computed != wantedCount(ts) {
			return fmt.Errorf("%s of %s wants %d tasks, %g %% of %d are %d", ts.ID, ts.Service.ID(), ts.Computed,
				ts.Scale, ts.Service.Desired, wantedCount(ts))
		}
	}
	return nil
}

func checkAddress(_ *world.Tx, c world.Change) error {
	if t, ok := c.Object.(*world.Task); ok && t.LastStatus == "RUNNING" && !t.Address.IsValid() {
		return fmt.Errorf("task %s runs without an address", t.ID)
	}
	return nil
}

func checkOneRollout(_ *world.Tx, c world.Change) error {
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
	for i, r := range stateOfService(svc).rollouts {
		switch p := svc.Primary(); {
		case !r.isActive():
		case i < len(stateOfService(svc).rollouts)-1:
			return fmt.Errorf("rollout %s of %s is %s, and is not the newest", r.ID, svc.ID(), r.Status)
		case p != r.currentTarget() || p.RolloutState != "IN_PROGRESS":
			return fmt.Errorf("rollout %s of %s is %s, its deployment %s is %s %s", r.ID, svc.ID(), r.Status,
				r.currentTarget().ID, r.currentTarget().Status, r.currentTarget().RolloutState)
		}
	}
	return nil
}
