package cloudmap

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// DeregisterDead deregisters instances of stopped canary tasks. It also deregisters instances of
// the primary that were registered again after ECS had told their task to stop. It returns the
// number of instances.
func (d *Driver) DeregisterDead(ctx context.Context, act sluice.Act) (int, error) {
	s, err := d.observeState(ctx)
	if err != nil {
		return 0, err
	}
	late, err := d.needDeregister(ctx, s.orphaned)
	if err != nil {
		return 0, err
	}
	err = d.deregisterAll(ctx, act, CanaryInstances, s.dead)
	if err == nil {
		err = d.deregisterAll(ctx, act, PrimaryInstances, late)
	}
	return len(s.dead) + len(late), err
}

func (d *Driver) deregisterAll(ctx context.Context, act sluice.Act, label string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := d.Instances.Deregister(ctx, act, label, ids); err != nil {
		return fmt.Errorf("deregister instances of stopped tasks: %w", err)
	}
	return nil
}

// needDeregister returns the orphaned instances that ECS will not deregister: ECS did so when it
// stopped their tasks, and another actor registered them again.
func (d *Driver) needDeregister(ctx context.Context, stray []string) ([]string, error) {
	if len(stray) == 0 || d.Stopped == nil {
		return nil, nil
	}
	return d.Stopped(ctx, stray)
}

// Reconcile reads the instances once and restores the weights after tasks started or stopped. It
// returns what it changed.
func (d *Driver) Reconcile(ctx context.Context, act sluice.Act, to sluice.Weights) (Reconciled, error) {
	if _, err := d.DeregisterDead(ctx, act); err != nil {
		return Reconciled{}, err
	}
	if err := d.forgetReturned(ctx, d.changeTo(to).removePrimary); err != nil {
		return Reconciled{}, err
	}
	c := d.changeTo(to)
	h := Reconciled{Added: len(c.addCanary) + len(c.returnPrimary), Removed: len(c.removeCanary) + len(c.removePrimary)}
	for _, m := range c.removePrimary {
		h.Deregistered = append(h.Deregistered, DeregisteredInstance{m.instance, m.cloudMapHealthy})
	}
	if c.isEmpty() {
		return h, nil
	}
	return h, d.applyChange(ctx, act, c)
}

// Reconciled is the result of [Driver.Reconcile].
type Reconciled struct {
	Added, Removed int
	Deregistered   []DeregisteredInstance
}

// DeregisteredInstance is an instance of the primary that sluice deregistered.
type DeregisteredInstance struct {
	ID      string
	Healthy bool // callers could resolve it
}
