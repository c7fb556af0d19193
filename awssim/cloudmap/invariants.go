package cloudmap

import (
	"fmt"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// invariants returns the invariants of Cloud Map. They are checked after every step.
func invariants() []world.Invariant {
	return []world.Invariant{
		{Name: "an instance belongs to its registry", CheckChange: checkMembership},
		{Name: "a stopped task is in no registry of its task set", CheckChange: checkStoppedDeregistered},
	}
}

func checkMembership(tx *world.Tx, c world.Change) error {
	i, ok := c.Object.(*world.Instance)
	if !ok || i.Deregistered {
		return nil
	}
	if now, _ := i.Registry.Instances.Get(i.ID); now != i {
		return fmt.Errorf("instance %s is registered and not listed in %s", i.ID, i.Registry.FullName())
	}
	if r, _ := tx.Registries.Get(i.Registry.ARN); r != i.Registry {
		return fmt.Errorf("instance %s is registered in %s, which does not exist", i.ID, i.Registry.FullName())
	}
	return nil
}

// checkStoppedDeregistered checks that a stopped task is not registered. It runs only when the task
// changes: another process may register an instance under the task's id later.
func checkStoppedDeregistered(tx *world.Tx, c world.Change) error {
	t, ok := c.Object.(*world.Task)
	if !ok || t.LastStatus != "STOPPED" || t.Set == nil {
		return nil
	}
	for _, e := range t.Set.Registries {
		if r, ok := tx.Registries.Get(e.Registry); ok {
			if _, ok := r.Instances.Get(t.ID); ok {
				return fmt.Errorf("stopped task %s is registered in %s", t.ID, r.FullName())
			}
		}
	}
	return nil
}
