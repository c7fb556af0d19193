package cloudmap

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// DeregisterDead deregisters instances of stopped canary tasks. It also deregisters instances of
// the primary that were registered again after ECS had told their task to stop. It returns the
// number of instances.
func (d *Driver) Sweep(ctx context.Context, act sluice.Act) (int, error) {
	s, err := d.look(ctx)
	if err != nil {
		return 0, err
	}
	late, err := d.late(ctx, s.stray)
	if err != nil {
		return 0, err
	}
	err = d.clear(ctx, act, CanaryInstances, s.dead)
	if err == nil {
		err = d.clear(ctx, act, PrimaryInstances, late)
	}
	return len(s.dead) + len(late), err
}

func (d *Driver) clear(ctx context.Context, act sluice.Act, label string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if err := d.Deregister(ctx, act, label, ids); err != nil {
		return fmt.Errorf("sweep dead instances: %w", err)
	}
	return nil
}

// needDeregister returns the orphaned instances that ECS will not deregister: ECS did so when it
// stopped their tasks, and another actor registered them again.
func (d *Driver) late(ctx context.Context, stray []string) ([]string, error) {
	if len(stray) == 0 || d.Stopped == nil {
		return nil, nil
	}
	return d.Stopped(ctx, stray)
}

// Reconcile reads the instances once and restores the weights after tasks started or stopped. It
// returns what it changed.
func (d *Driver) Hold(ctx context.Context, act sluice.Act, to sluice.Weights) (Held, error) {
	if _, err := d.Sweep(ctx, act); err != nil {
		return Held{}, err
	}
	c := decide(d.live.members, d.live.desired, to)
	h := Held{Entered: len(c.enter) + len(c.back), Left: len(c.leave) + len(c.takeOut)}
	for _, m := range c.takeOut {
		h.Taken = append(h.Taken, Taken{m.instance, m.healthy})
	}
	if err := d.returned(ctx, c.takeOut); err != nil || c.none() {
		return h, err
	}
	return h, d.apply(ctx, act, c)
}

// Reconciled is the result of [Driver.Reconcile].
type Held struct {
	Entered, Left int
	Taken         []Taken
}

// DeregisteredInstance is an instance of the primary that sluice deregistered.
type Taken struct {
	ID      string
	Healthy bool // callers could resolve it
}
