package cloudmap

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Sweep deregisters instances of ours whose task runs no more, and of ECS's those whose
// task was told to stop before it was put back, and returns how many there were.
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

// late are those of the strays that ECS will not take out any more: it has done so when
// it told their tasks to stop, and they were put back since.
func (d *Driver) late(ctx context.Context, stray []string) ([]string, error) {
	if len(stray) == 0 || d.Stopped == nil {
		return nil, nil
	}
	return d.Stopped(ctx, stray)
}

// Hold is one look that brings the name back to the weights as tasks come and go.
// It tells what it did.
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

// Held is what a look of [Driver.Hold] did.
type Held struct {
	Entered, Left int
	Taken         []Taken
}

// Taken is an instance of the primary that was taken out.
type Taken struct {
	ID      string
	Healthy bool // callers could find it
}
