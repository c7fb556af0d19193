package cloudmap

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// When the desired count falls, ECS chooses the tasks that it stops and deregisters them (ECS
// Developer Guide, "Use service discovery to connect Amazon ECS services with DNS names"). Until it
// has chosen, each instance may be one of them. An instance is deregistered only if enough others
// remain whichever tasks ECS chooses.

// countRemaining counts the instances that remain registered and ready whichever tasks ECS stops.
func countRemaining(all []member, in map[string]bool) (n int) {
	kept, surplus := map[string]int{}, map[string]int{}
	for _, m := range all {
		surplus[m.Group] = m.Surplus
		if in[m.instance] && m.isReady() {
			kept[m.Group]++
		}
	}
	for group, k := range kept {
		n += max(0, k-surplus[group])
	}
	return n
}

// runningCount returns the desired count or, if larger, the number of running tasks in one group of
// the primary: ECS has not yet told the others to stop.
func runningCount(all []member, desired int) int {
	size := map[string]int{}
	for _, m := range all {
		if m.Variant == sluice.Primary && m.Surplus > 0 {
			size[m.Group]++
		}
	}
	for _, n := range size {
		desired = max(desired, n)
	}
	return desired
}

// lastingPool returns the pool after ECS has stopped the surplus tasks, if it stops ready ones.
func lastingPool(all []member, desired int) plan.Pool {
	p := plan.Pool{Desired: desired}
	every := map[string]bool{}
	for _, m := range all {
		every[m.instance] = true
	}
	p.Primary, p.Canary = countRemaining(membersOf(all, sluice.Primary), every),
		countRemaining(membersOf(all, sluice.Canary), every)
	return p
}

// membersOf returns the members of a variant.
func membersOf(all []member, v sluice.Variant) (some []member) {
	for _, m := range all {
		if m.Variant == v {
			some = append(some, m)
		}
	}
	return some
}

// secureChange changes c so that enough instances remain whichever tasks ECS stops: the split that
// matches the weights for the lasting tasks. It keeps instances that would be deregistered and
// registers primary tasks again. It registers no more canary tasks, because that would raise the
// share.
func secureChange(all []member, desired int, to sluice.Weights, c change, keepsPrimary bool) change {
	if !slices.ContainsFunc(all, func(m member) bool { return m.Surplus > 0 }) {
		return c
	}
	last := lastingPool(all, desired)
	if last.Primary+last.Canary == 0 && desired > 0 {
		c.removeCanary, c.removePrimary = unreadyMembers(c.removeCanary), unreadyMembers(c.removePrimary)
		return c
	}
	least := splitTo(last, to, keepsPrimary)
	_, c.removeCanary = c.keepMembers(membersOf(all, sluice.Canary), least.Canary, nil, c.removeCanary)
	back, out := c.keepMembers(membersOf(all, sluice.Primary), least.Primary,
		absentMembers(membersOf(all, sluice.Primary), c), c.removePrimary)
	c.returnPrimary, c.removePrimary = append(c.returnPrimary, back...), out
	return c
}

// unreadyMembers returns the members to which no caller is sent.
func unreadyMembers(some []member) []member {
	return slices.DeleteFunc(slices.Clone(some), func(m member) bool { return m.isReady() })
}

// absentMembers returns the members that could be registered but are not registered after the
// change.
func absentMembers(all []member, c change) (some []member) {
	for _, m := range all {
		if m.isReady() && !m.registered &&
			!slices.ContainsFunc(c.returnPrimary, func(b member) bool { return b.instance == m.instance }) {
			some = append(some, m)
		}
	}
	return some
}

// keepMembers keeps members, then registers others again, until so many of the variant remain. It
// returns those to register again, and those that are still deregistered.
func (c change) keepMembers(all []member, least int, absent, leaving []member) (back, leave []member) {
	in := map[string]bool{}
	for _, id := range idsAfter(all, c) {
		in[id] = true
	}
	leave = unreadyMembers(leaving)
	stays := slices.DeleteFunc(slices.Clone(leaving), func(m member) bool { return !m.isReady() })
	for _, m := range sortBySurplus(append(stays, absent...)) {
		switch {
		case countRemaining(all, in) >= least || m.Surplus > 0 && !groupRemains(all, m.Group):
			if m.registered {
				leave = append(leave, m)
			}
			continue
		case !m.registered:
			back = append(back, m)
		}
		in[m.instance] = true
	}
	return back, sortByID(leave)
}

// groupRemains reports whether any task of the group would remain if all of them were registered.
func groupRemains(all []member, group string) bool {
	every := map[string]bool{}
	for _, m := range all {
		every[m.instance] = m.Group == group
	}
	return countRemaining(all, every) > 0
}

// sortBySurplus orders members so that each registered one counts as soon as possible. Groups in
// which ECS stops few tasks come first, and registered members come before others.
func sortBySurplus(all []member) []member {
	slices.SortStableFunc(all, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.Surplus, b.Surplus), cmp.Compare(a.Group, b.Group),
			orderFalseFirst(b.registered, a.registered), cmp.Compare(a.instance, b.instance))
	})
	return all
}

func sortByID(all []member) []member {
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.instance, b.instance) })
	return all
}

// AwaitOthers waits until instances other than ids remain registered whichever tasks ECS stops. It
// returns false if that is not true after the last read.
func (d *Driver) AwaitOthers(ctx context.Context, ids []string) (bool, error) {
	for n := 1; ; n++ {
		if d.lastState.HasOthers(ids) || n == maxOtherReads {
			return d.lastState.HasOthers(ids), nil
		}
		if err := d.Instances.Pause(ctx, readLag); err != nil {
			return false, err
		}
		if _, err := d.observeState(ctx); err != nil {
			return false, err
		}
	}
}

// RegisterMissing registers the healthy tasks of the primary that are not registered, whoever
// deregistered them. It omits those that are about to stop. A name that would be empty needs them.
// It returns their ids.
func (d *Driver) RegisterMissing(ctx context.Context, act sluice.Act) ([]string, error) {
	o := OutsideChange{Registry: d.Instances.Registry}
	for _, m := range d.lastState.members {
		if m.Variant == sluice.Primary && m.Healthy && !m.registered && !d.notReturning[m.instance] {
			o.MissingPrimary = append(o.MissingPrimary, m.instance)
		}
	}
	if len(o.MissingPrimary) == 0 {
		return nil, nil
	}
	if err := d.Reassert(ctx, act, o); err != nil {
		return nil, err
	}
	for _, id := range o.MissingPrimary {
		delete(d.Unmanaged, id)
	}
	_, err := d.observeState(ctx)
	return o.MissingPrimary, err
}

// maxOtherReads is the maximum number of reads that check whether others remain: ECS stops surplus
// tasks within seconds.
const maxOtherReads = 5

// checkOthersRemain calls AwaitOthers before the canary is deregistered from a name whose primary
// tasks may be stopped. A service with desired count 0 has no task that could remain.
func (d *Driver) checkOthersRemain(ctx context.Context, ids []string) error {
	if len(ids) == 0 || !slices.ContainsFunc(d.lastState.members, func(m member) bool { return m.Surplus > 0 }) ||
		d.lastState.desired == 0 {
		return nil
	}
	if _, err := d.observeState(ctx); err != nil {
		return err
	}
	remain, err := d.AwaitOthers(ctx, ids)
	if err != nil || remain {
		return err
	}
	return &sluice.Error{Op: "deregister the canary from " + d.Instances.Registry.FullName(),
		Resource: d.Instances.Registry.ID,
		Kind:     sluice.Conflict,
		Err:      errors.New("ECS may stop every other registered task: the name would have no records"),
		Next:     "run sluice status to see which tasks of the service run; then run sluice resume"}
}
