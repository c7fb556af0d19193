package registry

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// pendingHealth is a custom health status that was set and is not in effect yet.
type told struct {
	health string
	at     world.Event
}

// SetCustomHealth implements UpdateInstanceCustomHealthStatus: the instance has that health half a
// minute later (setting CustomHealth). Setting the same status again does not change the time.
// Setting another status cancels the pending one.
func (l *Law) Tell(tx *world.Tx, i *world.Instance, health string) {
	s := stateOf(tx)
	if t, ok := s.told[i]; ok {
		if t.health == health {
			return
		}
		tx.Cancel(t.at)
		delete(s.told, i)
	}
	if i.Health == health {
		return
	}
	s.told[i] = told{health, tx.After(tx.Knobs().CustomHealth, func(tx *world.Tx) {
		delete(stateOf(tx).told, i)
		tx.SetInstanceHealth(i, health)
	})}
}
