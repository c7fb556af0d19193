package cloudmap

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// pendingHealth is a custom health status that was set and is not in effect yet.
type pendingHealth struct {
	health string
	at     world.Event
}

// SetCustomHealth implements UpdateInstanceCustomHealthStatus: the instance has that health half a
// minute later (setting CustomHealth). Setting the same status again does not change the time.
// Setting another status cancels the pending one.
func (l *Controller) SetCustomHealth(tx *world.Tx, i *world.Instance, health string) {
	s := stateOf(tx)
	if t, ok := s.pendingHealth[i]; ok {
		if t.health == health {
			return
		}
		tx.Cancel(t.at)
		delete(s.pendingHealth, i)
	}
	if i.Health == health {
		return
	}
	s.pendingHealth[i] = pendingHealth{health, tx.After(tx.Settings().CustomHealth, func(tx *world.Tx) {
		delete(stateOf(tx).pendingHealth, i)
		tx.SetInstanceHealth(i, health)
	})}
}
