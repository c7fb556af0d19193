// Package worldtest is a test harness for controllers and APIs: a world with a manual clock, a
// network and a minimal balancer. It does not simulate the real load balancer.
//
// Start reading at [NewHarness].
package worldtest

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// StartTime returns the time at which test clocks begin.
func StartTime() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// ManualClock is a clock that [Harness.Run] moves.
type ManualClock struct{ now time.Time }

// Now returns the clock's time.
func (c *ManualClock) Now() time.Time { return c.now }

// Sleep panics: controllers must not sleep.
func (c *ManualClock) Sleep(context.Context, time.Duration) error {
	panic("worldtest: Sleep is called on a manual clock")
}

// Key is the account and Region of tests.
var Key = world.Key{Account: "123456789012", Region: "eu-west-1"}

// Subnets are the subnets of the network, in zones eu-west-1a, b and c.
var Subnets = []string{"subnet-a", "subnet-b", "subnet-c"}

// Harness is a world for tests: a manual clock, a network, and a load balancer that only makes
// targets healthy and ends drains. The real balancer is a controller of its own; tests of other
// controllers do not need it.
type Harness struct {
	World *world.World
	Clock *ManualClock
	// FirstCheck and Drain are how long a target stays initial and draining.
	FirstCheck, Drain time.Duration
}

// NewHarness creates a strict world with a network and the minimal balancer.
func NewHarness(o world.Options) *Harness {
	b := &Harness{Clock: &ManualClock{StartTime()}, FirstCheck: 10 * time.Second, Drain: 30 * time.Second}
	o.Clock, o.Strict = b.Clock, true
	b.World = world.New(o)
	b.World.OnNewRegion(addSubnets)
	b.World.Watch(b.simulateBalancer)
	return b
}

func addSubnets(tx *world.Tx) {
	for i, id := range Subnets {
		zone := tx.Key.Region + string(rune('a'+i))
		cidr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i), 0, 0}), 17)
		tx.Subnets.Put(id, &world.Subnet{ID: id, VPC: "vpc-1", Zone: zone, CIDR: cidr})
	}
}

// simulateBalancer makes targets healthy, or unhealthy if their image is, and ends drains.
func (b *Harness) simulateBalancer(tx *world.Tx, c world.Change) {
	t, ok := c.Object.(*world.Target)
	if !ok {
		return
	}
	at := t.RegisteredAt
	switch t.State {
	case "initial":
		tx.After(b.FirstCheck, func(tx *world.Tx) {
			if t.State == "initial" && t.RegisteredAt.Equal(at) {
				checkTarget(tx, t)
			}
		})
	case "draining":
		tx.After(b.Drain, func(tx *world.Tx) {
			if t.State == "draining" {
				tx.RemoveTarget(t)
			}
		})
	}
}

func checkTarget(tx *world.Tx, t *world.Target) {
	c := t.Task.ContainerFor(t.Port)
	if c == nil {
		tx.SetTarget(t, "unhealthy", "Target.FailedHealthChecks", "Health checks failed")
		return
	}
	if c.Behaviour.NeverHealthy {
		tx.SetTarget(t, "unhealthy", "Target.ResponseCodeMismatch", "Health checks failed with these codes: [503]")
		return
	}
	tx.SetTarget(t, "healthy", "", "")
}

// Do runs f as a step on the Region of [Key].
func (b *Harness) Do(f func(*world.Tx)) {
	_ = b.World.Do(Key, func(tx *world.Tx) error {
		f(tx)
		return nil
	})
}

// Run advances the clock by d and runs the due events.
func (b *Harness) Run(d time.Duration) {
	b.Clock.now = b.Clock.now.Add(d)
	b.World.Advance()
}

// Until advances the clock, event by event, until f returns true. It fails after limit or when no
// event is pending.
func (b *Harness) Until(limit time.Duration, f func() bool) error {
	end := b.Clock.now.Add(limit)
	for {
		if f() {
			return nil
		}
		at, ok := b.World.NextDue()
		if !ok || at.After(end) {
			return fmt.Errorf("not within %s; the log:\n%s", limit, b.Log())
		}
		b.Clock.now = at
		b.World.Advance()
	}
}

// AddGroup adds a target group that belongs to a load balancer.
func (b *Harness) AddGroup(name string) (arn string) {
	b.Do(func(tx *world.Tx) {
		arn = tx.ARN("elasticloadbalancing", "targetgroup/"+name+"/0123456789abcdef")
		tx.TargetGroups.Put(arn, &world.TargetGroup{ARN: arn, Name: name, Protocol: "HTTP", Port: 80, VPC: "vpc-1",
			TargetType: "ip", Balancer: "lb"})
	})
	return arn
}

// Log returns the world's log as text.
func (b *Harness) Log() string {
	var s strings.Builder
	_ = b.World.WriteLog(&s)
	return s.String()
}
