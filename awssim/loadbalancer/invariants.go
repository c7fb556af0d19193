package loadbalancer

import (
	"fmt"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// invariants returns the invariants of load balancers. They are checked after every step.
func invariants() []world.Invariant {
	return []world.Invariant{
		{Name: "weights are 0 to 999", CheckChange: checkWeights},
		{Name: "no share on a stopped task of a service", CheckChange: checkStoppedShare},
	}
}

func checkWeights(_ *world.Tx, c world.Change) error {
	l, ok := c.Object.(*world.Listener)
	if !ok {
		return nil
	}
	for _, r := range l.Rules {
		f := r.ForwardAction()
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
func checkStoppedShare(tx *world.Tx, c world.Change) error {
	task, ok := c.Object.(*world.Task)
	if !ok || task.Service == nil || task.LastStatus != "STOPPED" {
		return nil
	}
	s := stateOf(tx)
	for _, t := range s.targetsOfTask(task) {
		if t.State == "healthy" && s.groupAt(t.Group.ARN).hasWeight() {
			return fmt.Errorf("group %s has a share and its target %s is the stopped task %s", t.Group.Name, t.ID,
				task.ID)
		}
	}
	return nil
}

// hasWeight reports whether a rule gives the group a weight above 0.
func (n *groupNote) hasWeight() bool {
	for _, b := range n.usedBy {
		for _, l := range b.allListeners() {
			for _, r := range l.rules {
				if r.forward != nil && r.forward.givesWeight(b.slots[n.arn]) {
					return true
				}
			}
		}
	}
	return false
}

func (f *forwardView) givesWeight(slot int) bool {
	for _, s := range f.shares {
		if s.slot == slot && s.weight > 0 {
			return true
		}
	}
	return false
}
