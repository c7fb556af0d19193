package loadgen

import (
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Caller is a steady stream of equal requests.
type Caller struct {
	Key      world.Key
	Balancer string // ARN
	Port     int32
	Request  loadbalancer.Request // its At is ignored
	Rate     float64              // requests per second
}

// Attach starts a caller. Its tally grows with the world's time, inside the steps in which
// something changes.
func Attach(w *world.World, law *loadbalancer.Controller, c Caller) *Tally {
	t := &Tally{caller: c, w: w, controller: law}
	_ = w.Do(c.Key, func(tx *world.Tx) error {
		law.AddFollower(tx, c.Balancer, t)
		t.since = tx.Now()
		t.routeBy(tx, law.Table(c.Key, c.Balancer))
		tx.AddRequestSource(t.accountUntil)
		return nil
	})
	return t
}
