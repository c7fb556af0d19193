// Package worldtest is a stand to test laws and rooms on: a world whose clock is
// moved by hand, with a network and a balancer that does as little as it can.
//
// Start reading at [NewStand].
package worldtest

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Dawn is the time at which the clocks of tests begin.
func Dawn() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }

// HandClock is moved by [Stand.Run].
type HandClock struct{ now time.Time }

// Now is the clock's time.
func (c *HandClock) Now() time.Time { return c.now }

// Sleep is not for tests of laws.
func (c *HandClock) Sleep(context.Context, time.Duration) error { panic("nobody sleeps here") }

// Key is the account and Region of tests.
var Key = world.Key{Account: "123456789012", Region: "eu-west-1"}

// Subnets are the subnets of the network, in zones eu-west-1a, b and c.
var Subnets = []string{"subnet-a", "subnet-b", "subnet-c"}

// Stand is a world to test on: a clock that is moved by hand, a network, and a
// load balancer that does no more than make targets healthy and let drains end.
// The real balancer is a law of its own and would only be in the way.
type Stand struct {
	World *world.World
	Clock *HandClock
	// FirstCheck and Drain are how long a target is initial, and draining.
	FirstCheck, Drain time.Duration
}

// NewStand makes a strict world with a network and the stand-in balancer.
func NewStand(o world.Options) *Stand {
	b := &Stand{Clock: &HandClock{Dawn()}, FirstCheck: 10 * time.Second, Drain: 30 * time.Second}
	o.Clock, o.Strict = b.Clock, true
	b.World = world.New(o)
	b.World.Found(lay)
	b.World.Watch(b.balance)
	return b
}

func lay(tx *world.Tx) {
	for i, id := range Subnets {
		zone := tx.Key.Region + string(rune('a'+i))
		cidr := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(i), 0, 0}), 17)
		tx.Subnets.Put(id, &world.Subnet{ID: id, VPC: "vpc-1", Zone: zone, CIDR: cidr})
	}
}

// balance makes targets healthy, or as their image answers, and ends drains.
func (b *Stand) balance(tx *world.Tx, c world.Change) {
	t, ok := c.Object.(*world.Target)
	if !ok {
		return
	}
	at := t.RegisteredAt
	switch t.State {
	case "initial":
		tx.After(b.FirstCheck, func(tx *world.Tx) {
			if t.State == "initial" && t.RegisteredAt.Equal(at) {
				check(tx, t)
			}
		})
	case "draining":
		tx.After(b.Drain, func(tx *world.Tx) {
			if t.State == "draining" {
				tx.Remove(t)
			}
		})
	}
}

func check(tx *world.Tx, t *world.Target) {
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
func (b *Stand) Do(f func(*world.Tx)) {
	_ = b.World.Do(Key, func(tx *world.Tx) error {
		f(tx)
		return nil
	})
}

// Run moves the clock on by d, running what falls due.
func (b *Stand) Run(d time.Duration) {
	b.Clock.now = b.Clock.now.Add(d)
	b.World.Advance()
}

// Until moves the clock on, event by event, until f holds; it gives up after
// limit or when nothing is due any more.
func (b *Stand) Until(limit time.Duration, f func() bool) error {
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

// Group adds a target group that is behind a load balancer.
func (b *Stand) Group(name string) (arn string) {
	b.Do(func(tx *world.Tx) {
		arn = tx.ARN("elasticloadbalancing", "targetgroup/"+name+"/0123456789abcdef")
		tx.TargetGroups.Put(arn, &world.TargetGroup{ARN: arn, Name: name, Protocol: "HTTP", Port: 80, VPC: "vpc-1", TargetType: "ip", Balancer: "lb"})
	})
	return arn
}

// Log is the world's log as text.
func (b *Stand) Log() string {
	var s strings.Builder
	_ = b.World.WriteLog(&s)
	return s.String()
}
