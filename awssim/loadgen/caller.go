package loadgen

import (
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// Caller is a steady stream of equal requests, or of connections through a Network Load Balancer.
type Caller struct {
	Key      world.Key
	Balancer string // ARN
	Port     int32
	Request  loadbalancer.Request // its At is ignored
	Rate     float64              // requests per second; through a Network Load Balancer, connections
	// Hold is how long a connection through a Network Load Balancer stays open, if it lasts longer
	// than the answer of its target.
	Hold time.Duration
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
