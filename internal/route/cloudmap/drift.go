package cloudmap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
)

// OutsideChange is a change by another actor to the instances of a name.
type OutsideChange struct {
	Registry       plan.Registry
	Returned       []string // of the primary: sluice deregistered them, and they are registered again
	MissingCanary  []string // of the canary: sluice registered them, and they are not registered any more
	MissingPrimary []string // of the primary: ECS registered them, and they are not registered any more
}

func (o OutsideChange) isEmpty() bool {
	return len(o.Returned)+len(o.MissingCanary)+len(o.MissingPrimary) == 0
}

// inBoth returns the changes that two reads have in common.
func (o OutsideChange) inBoth(again OutsideChange) OutsideChange {
	in := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !slices.Contains(others, id) })
	}
	return OutsideChange{o.Registry, in(o.Returned, again.Returned), in(o.MissingCanary, again.MissingCanary),
		in(o.MissingPrimary, again.MissingPrimary)}
}

func (o OutsideChange) String() string {
	var parts []string
	add := func(ids []string, format string) {
		if len(ids) > 0 {
			parts = append(parts, fmt.Sprintf(format, sluice.Plural(len(ids), "instance"), firstIDs(ids)))
		}
	}
	add(o.Returned, "%s of the primary registered again (%s)")
	add(o.MissingCanary, "%s of the canary deregistered (%s)")
	add(o.MissingPrimary, "%s of the primary deregistered (%s)")
	return strings.Join(parts, ", ") + " under " + o.Registry.FullName()
}

// firstIDs returns the first ids of a list.
func firstIDs(ids []string) string {
	const most = 3
	if len(ids) > most {
		return strings.Join(ids[:most], ", ") + " …"
	}
	return strings.Join(ids, ", ")
}

// Err returns the error that ends a deployment because of the change.
func (o OutsideChange) Err() error {
	const either = ". To continue despite such changes, set onOutsideChange to reassert or adopt"
	problem := func(op, id, why, next string) error {
		return &sluice.Error{Op: op + " " + o.Registry.FullName(), Resource: o.Registry.ID + "/" + id,
			Kind: sluice.OutsideChange, Err: errors.New(why), Next: next}
	}
	switch {
	case len(o.Returned) > 0:
		return problem("keep instances deregistered from", o.Returned[0],
			o.String()+": ECS or another process registers them, so sluice cannot maintain the share",
			"find the process that registers them, or use a share that deregisters no primary instance (a larger "+
				"scale, or a smaller share)")
	case len(o.MissingCanary) > 0:
		return problem("keep the canary registered under", o.MissingCanary[0],
			o.String()+", by another process or person",
			"find the process or person that deregistered it, then deploy again"+either)
	}
	return problem("keep the primary registered under", o.MissingPrimary[0],
		o.String()+", by another process or person, although its tasks run",
		"register the instance again, or stop its task, which ECS replaces; then deploy again"+either)
}

const (
	// readLag is how long a read may lag behind the actual state.
	readLag = 6 * time.Second
	// registrationLimit is the maximum time after its start until ECS registers a task of the
	// primary. Seconds were observed.
	registrationLimit = 2 * time.Minute
)

// HasChanges reads once and reports whether other actors seem to have changed instances. It does
// not react to a change.
func (d *Driver) HasChanges(ctx context.Context) (bool, error) {
	s, err := d.readState(ctx)
	return err == nil && !d.findChanges(s).isEmpty(), err
}

// detectChanges detects changes by other actors. A second read confirms a change, because an
// outdated response looks the same.
func (d *Driver) detectChanges(ctx context.Context) error {
	if o := d.findChanges(d.lastState); !o.isEmpty() {
		if err := d.Instances.Pause(ctx, readLag); err != nil {
			return err
		}
		again, err := d.readState(ctx)
		if err != nil {
			return err
		}
		d.lastState = again
		if o = o.inBoth(d.findChanges(again)); !o.isEmpty() {
			if err := d.resolveChange(ctx, o); err != nil {
				return err
			}
			if d.lastState, err = d.readState(ctx); err != nil {
				return err
			}
		}
	}
	d.noteState()
	return nil
}

func (d *Driver) resolveChange(ctx context.Context, o OutsideChange) error {
	if d.ResolveChange == nil {
		return o.Err()
	}
	return d.ResolveChange(ctx, o)
}

// findChanges returns the changes in a state that this driver did not make.
func (d *Driver) findChanges(s NameState) OutsideChange {
	o := OutsideChange{Registry: d.Instances.Registry}
	for _, m := range s.members {
		switch {
		case m.unmanaged:
		case m.Variant == sluice.Canary:
			if d.ExpectsCanary && !m.registered && m.Healthy && d.Registered[m.instance] {
				o.MissingCanary = append(o.MissingCanary, m.instance)
			}
		case m.registered && m.returnable && d.seenDeregistered[m.instance]:
			o.Returned = append(o.Returned, m.instance)
		case !m.registered && !m.deregistered && m.Healthy &&
			(d.seenRegistered[m.instance] || m.Age > registrationLimit):
			o.MissingPrimary = append(o.MissingPrimary, m.instance)
		}
	}
	return o
}

// NoteDeregistered records instances of the primary that Cloud Map has deregistered according to
// its operations. Another actor may register one again before the next read.
func (d *Driver) NoteDeregistered(ids []string) {
	if d.seenDeregistered == nil {
		d.seenDeregistered, d.seenRegistered = map[string]bool{}, map[string]bool{}
	}
	for _, id := range ids {
		d.seenDeregistered[id] = true
	}
}

// noteState records the instances of the last read. It ignores the canary, which is known from the
// saved instances: a process may have been killed while it deregistered an instance.
func (d *Driver) noteState() {
	d.NoteDeregistered(nil)
	for _, m := range d.lastState.members {
		switch {
		case m.Variant == sluice.Canary:
		case m.returnable && !m.registered:
			d.seenDeregistered[m.instance] = true
		case m.registered && !m.deregistered && !d.notReturning[m.instance]:
			d.seenRegistered[m.instance] = true
		}
	}
}

// Reassert restores the state of this deployment. It registers missing instances of the primary
// now, with the attributes that ECS sets. The rest follows at the next [Driver.Reconcile].
func (d *Driver) Reassert(ctx context.Context, act sluice.Act, o OutsideChange) error {
	d.clearSeen(o)
	var missing []Instance
	for _, m := range d.lastState.members {
		if slices.Contains(o.MissingPrimary, m.instance) {
			missing = append(missing, Instance{ID: m.instance, Attributes: m.Attributes(d.Instances.Registry, d.Place)})
		}
	}
	err := d.Instances.Register(ctx, act, PrimaryInstances, missing)
	if errors.Is(err, route.ErrMismatch) {
		return nil // a task stopped during the registration: the next read handles it
	}
	return err
}

// Adopt keeps the changes of other actors. The caller has added the instances to Unmanaged.
func (d *Driver) Adopt(ctx context.Context, o OutsideChange) error {
	d.clearSeen(o)
	if len(o.Returned) == 0 {
		return nil
	}
	for _, id := range o.Returned {
		delete(d.Deregistered, id)
	}
	return d.SaveDeregistered(ctx, d.Deregistered)
}

// clearSeen clears what earlier reads recorded about the instances.
func (d *Driver) clearSeen(o OutsideChange) {
	for _, id := range append(slices.Clone(o.MissingCanary), o.MissingPrimary...) {
		delete(d.seenRegistered, id)
		delete(d.Registered, id)
	}
	for _, id := range o.Returned {
		delete(d.seenDeregistered, id)
	}
}
