package cloudmap

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// Sweep deregisters instances of ours whose task runs no more, and returns how
// many there were.
func (d *Driver) Sweep(ctx context.Context, act sluice.Act) (int, error) {
	s, err := d.look(ctx)
	if err != nil || len(s.dead) == 0 {
		return 0, err
	}
	if err := d.Deregister(ctx, act, CanaryInstances, s.dead); err != nil {
		return 0, fmt.Errorf("sweep dead instances: %w", err)
	}
	return len(s.dead), nil
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
	if c.none() {
		return h, nil
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
