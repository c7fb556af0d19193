package scheduler

import (
	"slices"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// shortestBake is the automatic bake time of alarms that say nothing of theirs.
const shortestBake = time.Minute

func isRaised(tx *world.Tx, name string) bool {
	a, ok := tx.Alarms.Get(name)
	return ok && a.State == world.AlarmRaised
}

// alarmed looks whether an alarm ends a rollout: from its first task on, until
// it is over. One that was raised before the rollout is ignored all along, and
// so is one that does not exist. A rollback is not watched.
func (r *Rollout) alarmed(tx *world.Tx, a Alarms) bool {
	if !a.Enable || !r.watching || r.Back != nil {
		return false
	}
	for _, name := range a.Names {
		if isRaised(tx, name) && !slices.Contains(r.ignored, name) {
			r.raised = append(r.raised, name)
		}
	}
	return len(r.raised) > 0
}

// bakeTime is how long a rollout is watched after its tasks were replaced: as
// long as was asked for, else as long as its alarms need to judge.
func bakeTime(tx *world.Tx, r Rules) time.Duration {
	if r.Bake > 0 || !r.Alarms.Enable {
		return r.Bake
	}
	d := shortestBake
	for _, name := range r.Alarms.Names {
		if a, ok := tx.Alarms.Get(name); ok {
			d = max(d, a.Period*time.Duration(max(a.EvaluationPeriods, 1)))
		}
	}
	return d
}

// alarmChanged wakes the services whose rollout an alarm watches.
func (s *Scheduler) alarmChanged(tx *world.Tx, a *world.Alarm) {
	for _, svc := range tx.Services.All() {
		r := latest(svc)
		if r != nil && r.moves() && slices.Contains(serviceNote(svc).rules.Alarms.Names, a.Name) {
			s.poke(tx, svc)
		}
	}
}
