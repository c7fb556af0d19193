package world

import (
	"fmt"
	"net/netip"
)

// Invariant is a condition that must be true after every step.
type Invariant struct {
	Name string
	// CheckRegion checks the whole Region after each step: keep it cheap.
	CheckRegion func(*Tx) error
	// CheckChange checks one resource that changed in the step, once for each resource. Checks of
	// single resources belong here: the cost of a step then depends on its changes only.
	CheckChange func(*Tx, Change) error
}

// AddInvariant adds an invariant; each controller adds its own.
func (w *World) AddInvariant(c Invariant) { w.invariants = append(w.invariants, c) }

func (w *World) checkInvariants(tx *Tx) {
	seen := distinctChanges(tx.notified)
	tx.notified = nil
	for _, c := range w.invariants {
		if c.CheckRegion != nil {
			w.reportViolation(tx, c.Name, c.CheckRegion(tx))
		}
		if c.CheckChange == nil {
			continue
		}
		for _, change := range seen {
			w.reportViolation(tx, c.Name, c.CheckChange(tx, change))
		}
	}
}

func (w *World) reportViolation(tx *Tx, name string, err error) {
	if err == nil {
		return
	}
	tx.Log("check", name, "violated: %v", err)
	if w.strict {
		panic(fmt.Sprintf("world check %q violated at %s: %v", name, w.now, err))
	}
}

// distinctChanges drops repeated changes of one step.
func distinctChanges(changes []Change) []Change {
	if len(changes) < 2 {
		return changes
	}
	had := make(map[Change]bool, len(changes))
	kept := changes[:0]
	for _, c := range changes {
		if !had[c] {
			had[c] = true
			kept = append(kept, c)
		}
	}
	return kept
}

func baseInvariants() []Invariant {
	return []Invariant{
		{Name: "one PRIMARY per service", CheckChange: checkOnePrimary},
		{Name: "a service's task sets agree with its status", CheckChange: checkSetStatus},
		{Name: "a task's containers agree with its status", CheckChange: checkContainerStatus},
		{Name: "a stopped task has no resources", CheckChange: checkStoppedReleased},
		{Name: "an address belongs to one task", CheckChange: checkAddressOwner},
	}
}

func checkOnePrimary(_ *Tx, c Change) error {
	s := serviceOf(c)
	if s == nil {
		return nil
	}
	n := 0
	for _, ts := range s.TaskSets {
		if ts.Status == "PRIMARY" {
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("service %s has %d PRIMARY task sets", s.ID(), n)
	}
	return nil
}

func checkSetStatus(_ *Tx, c Change) error {
	s := serviceOf(c)
	if s == nil {
		return nil
	}
	if s.Status == "INACTIVE" && len(s.TaskSets) > 0 {
		return fmt.Errorf("service %s is INACTIVE and has %d task sets", s.ID(), len(s.TaskSets))
	}
	for _, ts := range s.TaskSets {
		if (ts.Status == "DRAINING" || s.Status == "DRAINING") && ts.Computed != 0 {
			return fmt.Errorf("%s of service %s drains and still wants %d tasks", ts.ID, s.ID(), ts.Computed)
		}
		if ts.Service != s {
			return fmt.Errorf("%s is listed in service %s and belongs to another", ts.ID, s.ID())
		}
	}
	return nil
}

func serviceOf(c Change) *Service {
	switch o := c.Object.(type) {
	case *Service:
		return o
	case *TaskSet:
		return o.Service
	}
	return nil
}

func checkContainerStatus(_ *Tx, c Change) error {
	t, ok := c.Object.(*Task)
	if !ok {
		return nil
	}
	for _, k := range t.Containers {
		switch {
		case t.LastStatus == "STOPPED" && k.Status != "STOPPED":
			return fmt.Errorf("task %s is STOPPED, its container %s is %s", t.ID, k.Spec.Name, k.Status)
		case t.LastStatus == "RUNNING" && k.Status == "PENDING":
			return fmt.Errorf("task %s is RUNNING, its container %s is PENDING", t.ID, k.Spec.Name)
		case t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" && k.Spec.Essential && k.Status != "RUNNING":
			return fmt.Errorf("task %s is RUNNING, its essential container %s is %s", t.ID, k.Spec.Name, k.Status)
		}
	}
	return nil
}

func checkStoppedReleased(tx *Tx, c Change) error {
	t, ok := c.Object.(*Task)
	if !ok || t.LastStatus != "STOPPED" || t.Set == nil {
		return nil
	}
	for _, x := range t.Set.Tasks {
		if x == t {
			return fmt.Errorf("stopped task %s is still listed in %s", t.ID, t.Set.ID)
		}
	}
	for _, a := range t.Set.Attached {
		g, ok := tx.TargetGroups.Get(a.TargetGroup)
		if !ok {
			continue
		}
		for _, x := range g.Targets {
			if x.Task == t && x.State != "draining" {
				return fmt.Errorf("target %s of stopped task %s is %s in %s", x.ID, t.ID, x.State, g.Name)
			}
		}
	}
	return nil
}

func checkAddressOwner(tx *Tx, c Change) error {
	t, ok := c.Object.(*Task)
	if !ok || t.Address == (netip.Addr{}) || t.LastStatus == "STOPPED" {
		return nil
	}
	if other := tx.TasksByAddress[t.Address]; other != t {
		return fmt.Errorf("task %s uses %s, which is not registered as its own", t.ID, t.Address)
	}
	return nil
}
