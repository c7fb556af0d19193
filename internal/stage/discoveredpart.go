package stage

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
)

// part takes every instance of the member's tasks out, others being found, and
// waits until callers have forgotten them. A task that was late is found meanwhile:
// it is taken out likewise. One that ECS, or somebody else, puts back again and again
// stops all the same, as ECS stops tasks itself: nothing else would ever end.
func (d *discovered) part(ctx context.Context, m member) error {
	if err := d.tend(ctx); err != nil {
		return err
	}
	if err := d.current(ctx); err != nil {
		return err
	}
	tried := map[string]int{}
	for n := range rounds {
		if err := d.sweep(ctx); err != nil {
			return err
		}
		found, err := d.foundOf(ctx, m)
		if err != nil {
			return err
		}
		left := slices.DeleteFunc(slices.Clone(found), func(id string) bool { tried[id]++; return tried[id] > partings })
		d.names.Part(d.tasksOf(m))
		switch {
		case len(left) > 0:
			err = d.leave(ctx, m, left)
		case len(found) > 0:
			d.warn("%s of the %s is registered again and again under %s, by ECS or by somebody else: its tasks stop while callers have their addresses, and must answer after SIGTERM until they forget them",
				sluice.Plural(len(found), "instance"), m.label, d.names.Registry.FullName())
			return nil
		case n > 0:
			return nil
		}
		if err != nil {
			return err
		}
		if err := d.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

const (
	rounds   = 4 // ECS registers each task once
	partings = 2 // how often one instance is taken out for good
)

// leave takes those instances out, if others are found.
func (d *discovered) leave(ctx context.Context, m member, found []string) error {
	if !d.names.Beside(found) && !d.Stage.Recreate {
		return &sluice.Error{Op: "take the " + m.label + " out of " + d.names.Registry.FullName(), Resource: m.ID, Kind: sluice.OutsideChange,
			Err: errors.New("nobody else is found there: the name would be empty"), Next: "see which tasks of the service run: sluice status; then run sluice resume"}
	}
	if err := d.moving(ctx); err != nil {
		return err
	}
	if err := d.names.Leave(ctx, d.write, m.variant, found); err != nil && !errors.Is(err, route.ErrOtherwise) {
		return err
	}
	return d.moving(ctx)
}
