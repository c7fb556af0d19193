package balancer

import (
	"fmt"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// invariants returns the invariants of load balancers. They are checked after every step.
func truths() []world.Check {
	return []world.Check{
		{Name: "weights are 0 to 999", Each: weightsInRange},
		{Name: "no share on a stopped task of a service", Each: noShareOnStopped},
	}
}

func weightsInRange(_ *world.Tx, c world.Change) error {
	l, ok := c.Object.(*world.Listener)
	if !ok {
		return nil
	}
	for _, r := range l.Rules {
		f := r.Forwards()
		if f == nil {
			continue
		}
		for _, g := range f.Groups {
			if g.Weight < 0 || g.Weight > 999 {
				return fmt.Errorf("rule %s gives %s the weight %d", r.Name(), g.Group, g.Weight)
			}
		}
	}
	return nil
}

// checkStoppedShare checks that the task of a service is deregistered before it is STOPPED, so that
// no weight sends requests to it.
func noShareOnStopped(tx *world.Tx, c world.Change) error {
	task, ok := c.Object.(*world.Task)
	if !ok || task.Service == nil || task.LastStatus != "STOPPED" {
		return nil
	}
	s := stateOf(tx)
	for _, t := range s.behindTask(task) {
		if t.State == "healthy" && s.groupAt(t.Group.ARN).weighted() {
			return fmt.Errorf("group %s has a share and its target %s is the stopped task %s", t.Group.Name, t.ID, task.ID)
		}
	}
	return nil
}

// hasWeight reports whether a rule gives the group a weight above 0.
func (n *groupNote) weighted() bool {
	for _, b := range n.behind {
		for _, l := range b.listeners {
			for _, r := range l.rules {
				if r.forward != nil && r.forward.weighs(b.slots[n.arn]) {
					return true
				}
			}
		}
	}
	return false
}

func (f *forwardView) weighs(slot int) bool {
	for _, s := range f.shares {
		if s.slot == slot && s.weight > 0 {
			return true
		}
	}
	return false
}
