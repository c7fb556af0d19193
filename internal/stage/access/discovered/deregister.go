package discovered

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// StopTrafficTo deregisters all instances of the members' tasks, if other instances are registered,
// and waits for the TTL. It repeats for tasks that were registered during the wait. After
// maxDeregistrations the tasks stop even if ECS or another actor registers them again; otherwise
// the stage would never end. ECS stops tasks in the same way.
func (d *traffic) StopTrafficTo(ctx context.Context, members []step.Member) error {
	if err := d.MaintainShare(ctx); err != nil {
		return err
	}
	if err := d.step.AwaitReadLag(ctx); err != nil {
		return err
	}
	tried := map[string]int{}
	for n := range deregisterRounds {
		if err := deregisterDead(ctx, d); err != nil {
			return err
		}
		leaving, stays, err := stillRegistered(ctx, d, members, tried)
		if err != nil {
			return err
		}
		switch {
		case len(leaving) > 0:
			if err := deregisterMembers(ctx, d, leaving); err != nil {
				return err
			}
		case len(stays) > 0:
			for _, p := range stays {
				d.step.EmitWarning(
					"%s of the %s is registered repeatedly under %s by ECS or another process. Its tasks "+
						"stop while callers still cache their addresses. They must keep serving after SIGTERM until the "+
						"DNS TTL expires",
					sluice.Plural(len(p.instances), "instance"), p.Label, d.names.Instances.Registry.FullName())
			}
			return nil
		case n > 0:
			return nil
		}
		if err := d.WaitForPropagation(ctx); err != nil {
			return err
		}
	}
	return nil
}

// registeredMember is a member with the registered instances of its tasks.
type registeredMember struct {
	step.Member
	instances []string
}

// stillRegistered returns the members with instances to deregister, and the members whose instances
// were registered again each time. tried counts how often each instance was deregistered.
func stillRegistered(ctx context.Context, d *traffic, members []step.Member, tried map[string]int) (leaving,
	stays []registeredMember, err error) {
	for _, m := range members {
		found, err := registeredOf(ctx, d, m)
		if err != nil {
			return nil, nil, err
		}
		left := slices.DeleteFunc(slices.Clone(found),
			func(id string) bool { tried[id]++; return tried[id] > maxDeregistrations })
		d.names.MarkStopping(taskIDsOf(d, m))
		switch {
		case len(left) > 0:
			leaving = append(leaving, registeredMember{m, left})
		case len(found) > 0:
			stays = append(stays, registeredMember{m, found})
		}
	}
	return leaving, stays, nil
}

const (
	deregisterRounds   = 4 // ECS registers each task once
	maxDeregistrations = 2 // how often one instance is deregistered before its task stops
)

// ensureOthersRegistered waits until instances besides these are registered, whichever tasks ECS
// stops. If there are no others, a rollback registers tasks that another actor deregistered; it
// could never end otherwise.
func ensureOthersRegistered(ctx context.Context, d *traffic, instances []string) (bool, error) {
	remain, err := d.names.AwaitOthers(ctx, instances)
	if err != nil || remain || !d.step.IsRollback() {
		return remain, err
	}
	back, err := d.names.RegisterMissing(ctx, d.writeRecord)
	if err != nil || len(back) == 0 {
		return false, err
	}
	d.step.EmitWarning(
		"%s that another process or person deregistered (%s) is registered again under %s: otherwise no "+
			"instance would remain",
		sluice.Plural(len(back), "instance"), strings.Join(back, ", "), d.names.Instances.Registry.FullName())
	return d.names.AwaitOthers(ctx, instances)
}

// deregisterMembers deregisters the instances, if others remain registered whichever tasks ECS
// stops.
func deregisterMembers(ctx context.Context, d *traffic, all []registeredMember) error {
	var instances []string
	for _, p := range all {
		instances = append(instances, p.instances...)
	}
	remain, err := d.step.Stage.Recreate, error(nil)
	if !remain {
		remain, err = ensureOthersRegistered(ctx, d, instances)
	}
	switch {
	case err != nil:
		return err
	case !remain:
		return &sluice.Error{Op: "deregister the " + all[0].Label + " from " + d.names.Instances.Registry.FullName(),
			Resource: all[0].ID, Kind: sluice.OutsideChange,
			Err:  errors.New("no other instance is certain to remain registered: the name would have no records"),
			Next: "run sluice status to see which tasks of the service run; then run sluice resume"}
	}
	for _, p := range all {
		if err := step.SaveShiftTime(ctx, d.step); err != nil {
			return err
		}
		if err := d.names.DeregisterIDs(ctx, d.writeRecord, p.Variant, p.instances); err != nil &&
			!errors.Is(err, route.ErrMismatch) {
			return err
		}
	}
	return step.SaveShiftTime(ctx, d.step)
}
