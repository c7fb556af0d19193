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
type Outside struct {
	Registry plan.Registry
	Back     []string // of the primary: sluice deregistered them, and they are registered again
	Gone     []string // of the canary: sluice registered them, and they are not registered any more
	Missing  []string // of the primary: ECS registered them, and they are not registered any more
}

func (o Outside) none() bool { return len(o.Back)+len(o.Gone)+len(o.Missing) == 0 }

// inBoth returns the changes that two reads have in common.
func (o Outside) both(again Outside) Outside {
	in := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(id string) bool { return !slices.Contains(others, id) })
	}
	return Outside{o.Registry, in(o.Back, again.Back), in(o.Gone, again.Gone), in(o.Missing, again.Missing)}
}

func (o Outside) String() string {
	var parts []string
	add := func(ids []string, format string) {
		if len(ids) > 0 {
			parts = append(parts, fmt.Sprintf(format, sluice.Plural(len(ids), "instance"), named(ids)))
		}
	}
	add(o.Back, "%s of the primary, taken out, came back (%s)")
	add(o.Gone, "somebody deregistered %s of the canary (%s)")
	add(o.Missing, "somebody deregistered %s of the primary (%s)")
	return strings.Join(parts, ", ") + " under " + o.Registry.FullName()
}

// firstIDs returns the first ids of a list.
func named(ids []string) string {
	const most = 3
	if len(ids) > most {
		return strings.Join(ids[:most], ", ") + " …"
	}
	return strings.Join(ids, ", ")
}

// Err returns the error that ends a deployment because of the change.
func (o Outside) Err() error {
	const either = ". onOutsideChange: reassert or adopt goes on in spite of it"
	problem := func(op, id, why, next string) error {
		return &sluice.Error{Op: op + " " + o.Registry.FullName(), Resource: o.Registry.ID + "/" + id, Kind: sluice.OutsideChange, Err: errors.New(why), Next: next}
	}
	switch {
	case len(o.Back) > 0:
		return problem("keep instances out of", o.Back[0], o.String()+": ECS or somebody else registers them again, so that the share cannot be held",
			"find out who; a share that takes no primary instance out (a larger scale, or a smaller share) needs none of this")
	case len(o.Gone) > 0:
		return problem("keep the canary found under", o.Gone[0], o.String(), "find out who; then deploy again"+either)
	}
	return problem("keep the primary found under", o.Missing[0], o.String()+", and its tasks run",
		"find out who, and register it again or stop the task, which ECS replaces; then deploy again"+either)
}

const (
	// readLag is how long a read may lag behind the actual state.
	settle = 6 * time.Second
	// registrationLimit is the maximum time after its start until ECS registers a task of the
	// primary. Seconds were observed.
	enrolled = 2 * time.Minute
)

// HasChanges reads once and reports whether other actors seem to have changed instances. It does
// not react to a change.
func (d *Driver) Differs(ctx context.Context) (bool, error) {
	s, err := d.see(ctx)
	return err == nil && !d.outside(s).none(), err
}

// detectChanges detects changes by other actors. A second read confirms a change, because an
// outdated response looks the same.
func (d *Driver) watch(ctx context.Context) error {
	if o := d.outside(d.live); !o.none() {
		if err := d.Pause(ctx, settle); err != nil {
			return err
		}
		again, err := d.see(ctx)
		if err != nil {
			return err
		}
		d.live = again
		if o = o.both(d.outside(again)); !o.none() {
			if err := d.answer(ctx, o); err != nil {
				return err
			}
			if d.live, err = d.see(ctx); err != nil {
				return err
			}
		}
	}
	d.note()
	return nil
}

func (d *Driver) answer(ctx context.Context, o Outside) error {
	if d.Answer == nil {
		return o.Err()
	}
	return d.Answer(ctx, o)
}

// findChanges returns the changes in a state that this driver did not make.
func (d *Driver) outside(s scene) Outside {
	o := Outside{Registry: d.Registry}
	for _, m := range s.members {
		switch {
		case m.theirs:
		case m.Variant == sluice.Canary:
			if d.Holds && !m.in && m.Well && d.In[m.instance] {
				o.Gone = append(o.Gone, m.instance)
			}
		case m.in && m.taken && d.seenOut[m.instance]:
			o.Back = append(o.Back, m.instance)
		case !m.in && !m.out && m.Well && (d.seenIn[m.instance] || m.Age > enrolled):
			o.Missing = append(o.Missing, m.instance)
		}
	}
	return o
}

// NoteDeregistered records instances of the primary that Cloud Map has deregistered according to
// its operations. Another actor may register one again before the next read.
func (d *Driver) WereOut(ids []string) {
	if d.seenOut == nil {
		d.seenOut, d.seenIn = map[string]bool{}, map[string]bool{}
	}
	for _, id := range ids {
		d.seenOut[id] = true
	}
}

// noteState records the instances of the last read. It ignores the canary, which is known from the
// saved instances: a process may have been killed while it deregistered an instance.
func (d *Driver) note() {
	d.WereOut(nil)
	for _, m := range d.live.members {
		switch {
		case m.Variant == sluice.Canary:
		case m.taken && !m.in:
			d.seenOut[m.instance] = true
		case m.in && !m.out && !d.left[m.instance]:
			d.seenIn[m.instance] = true
		}
	}
}

// Reassert restores the state of this deployment. It registers missing instances of the primary
// now, with the attributes that ECS sets. The rest follows at the next [Driver.Reconcile].
func (d *Driver) Reassert(ctx context.Context, act sluice.Act, o Outside) error {
	d.unsee(o)
	var missing []Instance
	for _, m := range d.live.members {
		if slices.Contains(o.Missing, m.instance) {
			missing = append(missing, Instance{ID: m.instance, Attributes: m.Attributes(d.Registry, d.Place)})
		}
	}
	err := d.Register(ctx, act, PrimaryInstances, missing)
	if errors.Is(err, route.ErrOtherwise) {
		return nil // a task stopped during the registration: the next read handles it
	}
	return err
}

// Adopt keeps the changes of other actors. The caller has added the instances to Unmanaged.
func (d *Driver) Adopt(ctx context.Context, o Outside) error {
	d.unsee(o)
	if len(o.Back) == 0 {
		return nil
	}
	for _, id := range o.Back {
		delete(d.Taken, id)
	}
	return d.Keep(ctx, d.Taken)
}

// clearSeen clears what earlier reads recorded about the instances.
func (d *Driver) unsee(o Outside) {
	for _, id := range append(slices.Clone(o.Gone), o.Missing...) {
		delete(d.seenIn, id)
		delete(d.In, id)
	}
	for _, id := range o.Back {
		delete(d.seenOut, id)
	}
}
