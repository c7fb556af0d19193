package registry

import (
	"github.com/sluice-ecs/sluice/awssim/world"
)

// told is a health that was told and does not hold yet.
type told struct {
	health string
	at     world.Event
}

// Tell is UpdateInstanceCustomHealthStatus: the instance has that health half a
// minute later (knob CustomHealth). Telling the same again neither speeds it up
// nor starts it anew; telling another takes it back.
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
