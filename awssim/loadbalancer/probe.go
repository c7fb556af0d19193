package loadbalancer

import (
	"context"
	"errors"
	"net/netip"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// mustProbe reports whether the target's answers must be measured: its image is a Go handler or a
// program of the host, and there is a data plane. In virtual time such an image counts as one that
// answers 200.
func (l *Controller) mustProbe(tx *world.Tx, t *world.Target, c *check) bool {
	if !tx.HasDataPlane() || t.Task == nil {
		return false
	}
	container := t.Task.ContainerFor(c.checkedPort(t))
	return container != nil && !container.Behaviour.IsModelled()
}

// requestProbe makes the data plane probe a target now, and again after each interval.
func (l *Controller) requestProbe(tx *world.Tx, t *world.Target, n *targetNote) {
	n.probeCount++
	c := n.schedule.check
	address, err := netip.ParseAddr(t.ID)
	if err != nil && t.Task != nil {
		address = t.Task.Address
	}
	tx.Emit(world.ProbeTarget{
		Key: tx.Key, Group: t.Group.ARN, Target: t.ID, Port: t.Port, Address: address,
		Check: c.checkedPort(t), TCP: c.tcp, Path: c.path, Timeout: c.timeout, N: n.probeCount,
	})
	l.runLater(tx, t, n, c.interval, func(tx *world.Tx) { l.requestProbe(tx, t, n) })
}

// RecordProbe records the answer to a [world.ProbeTarget]: the status code, or the error. It
// ignores the answer to an earlier probe.
func (l *Controller) RecordProbe(tx *world.Tx, p world.ProbeTarget, status int, err error) {
	g, ok := tx.TargetGroups.Get(p.Group)
	if !ok {
		return
	}
	t := g.Find(p.Target, p.Port)
	if t == nil {
		return
	}
	n, ok := t.BalancerState.(*targetNote)
	if !ok || n.phase != phaseProbed || n.probeCount != p.N {
		return
	}
	n.schedule.healthState = n.schedule.healthState.afterCheck(probeResult(n.schedule.check, status, err),
		n.schedule.check)
	l.writeHealth(tx, t, n)
}

func probeResult(c *check, status int, err error) result {
	var slow interface{ Timeout() bool }
	switch {
	case err == nil:
		return c.judgeStatus(status, 0)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return timeoutResult(c)
	}
	return refusedResult()
}
