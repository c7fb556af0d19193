package fault

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// startInRegion schedules the faults of the world in a new Region.
func (s *Set) startInRegion(tx *world.Tx) {
	for _, a := range s.worldFaults() {
		s.scheduleFault(tx, a)
	}
}

func (s *Set) worldFaults() []*activeFault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.active), func(a *activeFault) bool { return a.isOfCalls() })
}

// scheduleFault schedules the begin and the end of a fault in a Region.
func (s *Set) scheduleFault(tx *world.Tx, a *activeFault) {
	at := func(when time.Time, f func(*world.Tx)) {
		if when.After(tx.Now()) {
			tx.At(when, f)
			return
		}
		f(tx)
	}
	if a.Kind == TaskCrash {
		at(a.from.Add(a.After), func(tx *world.Tx) { s.crashTasks(tx, a) })
		return
	}
	at(a.from.Add(a.After), s.writeActiveFaults)
	if a.For > 0 {
		at(a.from.Add(a.After+a.For), s.writeActiveFaults)
	}
}

// writeActiveFaults writes the currently active faults to a Region.
func (s *Set) writeActiveFaults(tx *world.Tx) {
	t := world.ActiveFaults{NoCapacity: map[string]bool{}, ZonesLost: map[string]bool{}}
	for _, a := range s.worldFaults() {
		if !a.isActive(tx.Now()) {
			continue
		}
		switch a.Kind {
		case NoCapacity:
			t.NoCapacity[a.On] = true
		case ZoneLost:
			t.ZonesLost[a.On] = true
		case SlowStart:
			t.SlowStart = append(t.SlowStart, world.SlowStart{Service: a.On, By: world.Seconds(a.By.Seconds())})
		}
	}
	tx.ActiveFaults = t
	tx.Log("fault", "world", "no capacity in %d clusters, %d zones lost, %d slow starts", len(t.NoCapacity),
		len(t.ZonesLost), len(t.SlowStart))
	tx.Changed(world.FaultsChanged, nil)
}

// crashTasks ends the oldest running tasks of the service.
func (s *Set) crashTasks(tx *world.Tx, a *activeFault) {
	if !s.mayCrash(a, tx.Key) {
		return
	}
	left := a.Count
	for _, t := range tx.Tasks.Values() {
		if left == 0 {
			return
		}
		if t.LastStatus != "RUNNING" || t.DesiredStatus != "RUNNING" || t.Service == nil ||
			!matchesPattern(a.On, t.Service.Name) {
			continue
		}
		left--
		tx.Log("fault", t.ID, "%s", a)
		s.crash(tx, t, a.Exit)
		s.mu.Lock()
		a.hitCount++
		s.mu.Unlock()
	}
}

// mayCrash returns true once per Region, and never after the fault was cleared.
func (s *Set) mayCrash(a *activeFault, key world.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.crashedIn[key] || !slices.Contains(s.active, a) {
		return false
	}
	a.crashedIn[key] = true
	return true
}
