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
	if a.endsTasks() {
		at(a.from.Add(a.After), func(tx *world.Tx) { s.endTasks(tx, a) })
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

// endTasks ends the oldest running tasks of the service that the fault applies to.
func (s *Set) endTasks(tx *world.Tx, a *activeFault) {
	if !s.mayEnd(a, tx.Key) {
		return
	}
	left := a.Count
	for _, t := range tx.Tasks.Values() {
		if left == 0 {
			return
		}
		if !a.endsTask(t) {
			continue
		}
		left--
		tx.Log("fault", t.ID, "%s", a)
		if a.Kind == SpotInterruption {
			s.tasks.InterruptTask(tx, t)
		} else {
			s.tasks.CrashTask(tx, t, a.Exit)
		}
		s.mu.Lock()
		a.hitCount++
		s.mu.Unlock()
	}
}

// endsTask reports whether the fault applies to a task. Only tasks on FARGATE_SPOT are interrupted.
func (f Fault) endsTask(t *world.Task) bool {
	return t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" && t.Service != nil &&
		matchesPattern(f.On, t.Service.Name) && (f.Kind != SpotInterruption || t.Provider == "FARGATE_SPOT") &&
		(f.Revision == 0 || t.Definition.Revision == f.Revision)
}

// mayEnd returns true once per Region, and never after the fault was cleared.
func (s *Set) mayEnd(a *activeFault, key world.Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.endedIn[key] || !slices.Contains(s.active, a) {
		return false
	}
	a.endedIn[key] = true
	return true
}
