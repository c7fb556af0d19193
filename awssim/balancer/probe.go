package balancer

import (
	"context"
	"errors"
	"net/netip"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// mustProbe reports whether the target's answers must be measured: its image is a Go handler or a
// program of the host, and there is a data plane. In virtual time such an image counts as one that
// answers 200.
func (l *Law) mustProbe(tx *world.Tx, t *world.Target, c *check) bool {
	if !tx.Listening() || t.Task == nil {
		return false
	}
	container := t.Task.ContainerFor(c.at(t))
	return container != nil && !container.Behaviour.Modelled()
}

// requestProbe makes the data plane probe a target now, and again after each interval.
func (l *Law) ask(tx *world.Tx, t *world.Target, n *note) {
	n.n++
	c := n.course.check
	address, err := netip.ParseAddr(t.ID)
	if err != nil && t.Task != nil {
		address = t.Task.Address
	}
	tx.Emit(world.ProbeTarget{
		Key: tx.Key, Group: t.Group.ARN, Target: t.ID, Port: t.Port, Address: address,
		Check: c.at(t), Path: c.path, Timeout: c.timeout, N: n.n,
	})
	l.later(tx, t, n, c.interval, func(tx *world.Tx) { l.ask(tx, t, n) })
}

// RecordProbe records the answer to a [world.ProbeTarget]: the status code, or the error. It
// ignores the answer to an earlier probe.
func (l *Law) Probed(tx *world.Tx, p world.ProbeTarget, status int, err error) {
	g, ok := tx.TargetGroups.Get(p.Group)
	if !ok {
		return
	}
	t := g.Find(p.Target, p.Port)
	if t == nil {
		return
	}
	n, ok := t.Law.(*note)
	if !ok || n.phase != probes || n.n != p.N {
		return
	}
	n.course.standing = n.course.standing.after(probed(n.course.check, status, err), n.course.check)
	l.show(tx, t, n)
}

func probed(c *check, status int, err error) result {
	var slow interface{ Timeout() bool }
	switch {
	case err == nil:
		return c.judge(status, 0)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return timedOut(c)
	}
	return refused()
}
