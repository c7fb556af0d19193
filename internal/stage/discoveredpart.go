package stage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
)

// stopTrafficTo deregisters all instances of the members' tasks, if other instances are registered,
// and waits for the TTL. It repeats for tasks that were registered during the wait. After
// maxDeregistrations the tasks stop even if ECS or another actor registers them again; otherwise
// the stage would never end. ECS stops tasks in the same way.
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

// registeredMember is a member with the registered instances of its tasks.
type parting struct {
	member
	instances []string
}

// stillRegistered returns the members with instances to deregister, and the members whose instances
// were registered again each time. tried counts how often each instance was deregistered.
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
	partings = 2 // how often one instance is deregistered before its task stops
)

// ensureOthersRegistered waits until instances besides these are registered, whichever tasks ECS
// stops. If there are no others, a rollback registers tasks that another actor deregistered; it
// could never end otherwise.
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

// deregisterMembers deregisters the instances, if others remain registered whichever tasks ECS
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
