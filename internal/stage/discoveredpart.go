package stage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
)

// part takes every instance of the members' tasks out, others being found, and
// waits until callers have forgotten them. A task that was late is found meanwhile:
// it is taken out likewise. One that ECS, or somebody else, puts back again and again
// stops all the same, as ECS stops tasks itself: nothing else would ever end.
func (d *discovered) part(ctx context.Context, members []member) error {
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
		leaving, stays, err := d.stillFound(ctx, members, tried)
		if err != nil {
			return err
		}
		switch {
		case len(leaving) > 0:
			if err := d.leave(ctx, leaving); err != nil {
				return err
			}
		case len(stays) > 0:
			for _, p := range stays {
				d.warn("%s of the %s is registered again and again under %s, by ECS or by somebody else: its tasks stop while callers have their addresses, and must answer after SIGTERM until they forget them",
					sluice.Plural(len(p.instances), "instance"), p.label, d.names.Registry.FullName())
			}
			return nil
		case n > 0:
			return nil
		}
		if err := d.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// parting is a member with instances of its tasks that are registered.
type parting struct {
	member
	instances []string
}

// stillFound are the members with instances to take out, and those whose instances come
// back each time. tried counts how often each was taken out.
func (d *discovered) stillFound(ctx context.Context, members []member, tried map[string]int) (leaving, stays []parting, err error) {
	for _, m := range members {
		found, err := d.foundOf(ctx, m)
		if err != nil {
			return nil, nil, err
		}
		left := slices.DeleteFunc(slices.Clone(found), func(id string) bool { tried[id]++; return tried[id] > partings })
		d.names.Part(d.tasksOf(m))
		switch {
		case len(left) > 0:
			leaving = append(leaving, parting{m, left})
		case len(found) > 0:
			stays = append(stays, parting{m, found})
		}
	}
	return leaving, stays, nil
}

const (
	rounds   = 4 // ECS registers each task once
	partings = 2 // how often one instance is taken out for good
)

// othersRemain waits until others than the instances are registered, whichever tasks ECS
// stops. A rollback registers tasks that somebody else took out, if no others are there:
// it could never end otherwise.
func (d *discovered) othersRemain(ctx context.Context, instances []string) (bool, error) {
	remain, err := d.names.AwaitOthers(ctx, instances)
	if err != nil || remain || !d.returns() {
		return remain, err
	}
	back, err := d.names.Refill(ctx, d.write)
	if err != nil || len(back) == 0 {
		return false, err
	}
	d.warn("%s that somebody else deregistered (%s) is registered again under %s: no other would remain there",
		sluice.Plural(len(back), "instance"), strings.Join(back, ", "), d.names.Registry.FullName())
	return d.names.AwaitOthers(ctx, instances)
}

// leave takes those instances out, if others remain registered whichever tasks ECS
// stops.
func (d *discovered) leave(ctx context.Context, all []parting) error {
	var instances []string
	for _, p := range all {
		instances = append(instances, p.instances...)
	}
	remain, err := d.Stage.Recreate, error(nil)
	if !remain {
		remain, err = d.othersRemain(ctx, instances)
	}
	switch {
	case err != nil:
		return err
	case !remain:
		return &sluice.Error{Op: "take the " + all[0].label + " out of " + d.names.Registry.FullName(), Resource: all[0].ID, Kind: sluice.OutsideChange,
			Err: errors.New("no other task is sure to remain registered there: the name would be empty"), Next: "see which tasks of the service run: sluice status; then run sluice resume"}
	}
	for _, p := range all {
		if err := d.moving(ctx); err != nil {
			return err
		}
		if err := d.names.Leave(ctx, d.write, p.variant, p.instances); err != nil && !errors.Is(err, route.ErrOtherwise) {
			return err
		}
	}
	return d.moving(ctx)
}
