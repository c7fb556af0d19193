package balancer

import (
	"fmt"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// weightsInRange looks at the listeners that were written in the step.
func weightsInRange(tx *world.Tx) error {
	s := stateOf(tx)
	written := s.written
	s.written = nil
	for _, ls := range written {
		for _, r := range ls.Rules {
			if err := weights(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func weights(r *world.Rule) error {
	f := r.Forwards()
	if f == nil {
		return nil
	}
	for _, g := range f.Groups {
		if g.Weight < 0 || g.Weight > 999 {
			return fmt.Errorf("rule %s gives %s the weight %d", r.Name(), g.Group, g.Weight)
		}
	}
	return nil
}

// noShareOnStopped looks at the groups whose targets or tasks changed in the
// step: the task of a service must have been deregistered before it is STOPPED.
func noShareOnStopped(tx *world.Tx) error {
	s := stateOf(tx)
	for _, n := range s.touched.take() {
		if n.group == nil || !n.weighted() {
			continue
		}
		for _, t := range n.group.Targets {
			if stopped(t.Task) && t.State == "healthy" {
				return fmt.Errorf("group %s has a share and its target %s is the stopped task %s", n.group.Name, t.ID, t.Task.ID)
			}
		}
	}
	return nil
}

func stopped(t *world.Task) bool {
	return t != nil && t.Service != nil && t.LastStatus == "STOPPED"
}

// weighted reports whether some rule gives the group a share.
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
