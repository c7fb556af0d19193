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
func remaining(all []member, in map[string]bool) (n int) {
	kept, surplus := map[string]int{}, map[string]int{}
	for _, m := range all {
		surplus[m.Group] = m.Surplus
		if in[m.instance] && m.ready() {
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
func running(all []member, desired int) int {
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
func lasting(all []member, desired int) plan.Pool {
	p := plan.Pool{Desired: desired}
	every := map[string]bool{}
	for _, m := range all {
		every[m.instance] = true
	}
	p.Primary, p.Canary = remaining(of(all, sluice.Primary), every), remaining(of(all, sluice.Canary), every)
	return p
}

// membersOf returns the members of a variant.
func of(all []member, v sluice.Variant) (some []member) {
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
func secured(all []member, desired int, to sluice.Weights, c change) change {
	if !slices.ContainsFunc(all, func(m member) bool { return m.Surplus > 0 }) {
		return c
	}
	last := lasting(all, desired)
	if last.Primary+last.Canary == 0 && desired > 0 {
		c.leave, c.takeOut = unready(c.leave), unready(c.takeOut)
		return c
	}
	least := last.Nearest(to)
	_, c.leave = c.keep(of(all, sluice.Canary), least.Canary, nil, c.leave)
	back, out := c.keep(of(all, sluice.Primary), least.Primary, absent(of(all, sluice.Primary), c), c.takeOut)
	c.back, c.takeOut = append(c.back, back...), out
	return c
}

// unreadyMembers returns the members to which no caller is sent.
func unready(some []member) []member {
	return slices.DeleteFunc(slices.Clone(some), func(m member) bool { return m.ready() })
}

// absentMembers returns the members that could be registered but are not registered after the
// change.
func absent(all []member, c change) (some []member) {
	for _, m := range all {
		if m.ready() && !m.in && !slices.ContainsFunc(c.back, func(b member) bool { return b.instance == m.instance }) {
			some = append(some, m)
		}
	}
	return some
}

// keepMembers keeps members, then registers others again, until so many of the variant remain. It
// returns those to register again, and those that are still deregistered.
func (c change) keep(all []member, least int, absent, leaving []member) (back, leave []member) {
	in := map[string]bool{}
	for _, id := range after(all, c) {
		in[id] = true
	}
	leave = unready(leaving)
	stays := slices.DeleteFunc(slices.Clone(leaving), func(m member) bool { return !m.ready() })
	for _, m := range bySurplus(append(stays, absent...)) {
		switch {
		case remaining(all, in) >= least || m.Surplus > 0 && !helps(all, m.Group):
			if m.in {
				leave = append(leave, m)
			}
			continue
		case !m.in:
			back = append(back, m)
		}
		in[m.instance] = true
	}
	return back, inOrder(leave)
}

// groupRemains reports whether any task of the group would remain if all of them were registered.
func helps(all []member, group string) bool {
	every := map[string]bool{}
	for _, m := range all {
		every[m.instance] = m.Group == group
	}
	return remaining(all, every) > 0
}

// sortBySurplus orders members so that each registered one counts as soon as possible. Groups in
// which ECS stops few tasks come first, and registered members come before others.
func bySurplus(all []member) []member {
	slices.SortStableFunc(all, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.Surplus, b.Surplus), cmp.Compare(a.Group, b.Group), first(b.in, a.in), cmp.Compare(a.instance, b.instance))
	})
	return all
}

func inOrder(all []member) []member {
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Compare(a.instance, b.instance) })
	return all
}

// AwaitOthers waits until instances other than ids remain registered whichever tasks ECS stops. It
// returns false if that is not true after the last read.
func (d *Driver) AwaitOthers(ctx context.Context, ids []string) (bool, error) {
	for n := 1; ; n++ {
		if d.Beside(ids) || n == otherLooks {
			return d.Beside(ids), nil
		}
		if err := d.Pause(ctx, settle); err != nil {
			return false, err
		}
		if _, err := d.look(ctx); err != nil {
			return false, err
		}
	}
}

// RegisterMissing registers the healthy tasks of the primary that are not registered, whoever
// deregistered them. It omits those that are about to stop. A name that would be empty needs them.
// It returns their ids.
func (d *Driver) Refill(ctx context.Context, act sluice.Act) ([]string, error) {
	o := Outside{Registry: d.Registry}
	for _, m := range d.live.members {
		if m.Variant == sluice.Primary && m.Well && !m.in && !d.left[m.instance] {
			o.Missing = append(o.Missing, m.instance)
		}
	}
	if len(o.Missing) == 0 {
		return nil, nil
	}
	if err := d.Reassert(ctx, act, o); err != nil {
		return nil, err
	}
	for _, id := range o.Missing {
		delete(d.Theirs, id)
	}
	_, err := d.look(ctx)
	return o.Missing, err
}

// maxOtherReads is the maximum number of reads that check whether others remain: ECS stops surplus
// tasks within seconds.
const otherLooks = 5

// checkOthersRemain calls AwaitOthers before the canary is deregistered from a name whose primary
// tasks may be stopped. A service with desired count 0 has no task that could remain.
func (d *Driver) awaitOthers(ctx context.Context, ids []string) error {
	if len(ids) == 0 || !slices.ContainsFunc(d.live.members, func(m member) bool { return m.Surplus > 0 }) || d.live.desired == 0 {
		return nil
	}
	if _, err := d.look(ctx); err != nil {
		return err
	}
	remain, err := d.AwaitOthers(ctx, ids)
	if err != nil || remain {
		return err
	}
	return &sluice.Error{Op: "take the canary out of " + d.Registry.FullName(), Resource: d.Registry.ID, Kind: sluice.Conflict,
		Err: errors.New("ECS may stop every other task that is registered there: the name would be empty"), Next: "see which tasks of the service run: sluice status; then run sluice resume"}
}
