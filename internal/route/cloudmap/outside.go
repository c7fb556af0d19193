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

// Outside is what somebody else did to the instances of a name.
type Outside struct {
	Registry plan.Registry
	Back     []string // of the primary, that we took out: they are found again
	Gone     []string // of the canary, that we registered: they are not any more
	Missing  []string // of the primary, that ECS registered: they are not any more
}

func (o Outside) none() bool { return len(o.Back)+len(o.Gone)+len(o.Missing) == 0 }

// both is what two looks show alike.
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

// named are the first ids of a list.
func named(ids []string) string {
	const most = 3
	if len(ids) > most {
		return strings.Join(ids[:most], ", ") + " …"
	}
	return strings.Join(ids, ", ")
}

// Err is the error of a deployment that does not go on in spite of it.
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
	// settle is how long a look may lag behind what is true.
	settle = 6 * time.Second
	// enrolled is how long after its start a task of the primary is registered by
	// ECS, at the latest; seconds are observed.
	enrolled = 2 * time.Minute
)

// Differs looks whether others seem to have done anything, and answers nothing.
func (d *Driver) Differs(ctx context.Context) (bool, error) {
	s, err := d.see(ctx)
	return err == nil && !d.outside(s).none(), err
}

// watch notices what others did, once a second look confirms it: an answer of the
// past looks the same.
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

// outside is what a look shows that is nobody's doing of ours.
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

// WereOut remembers instances of the primary that Cloud Map has taken out, as its
// operations say: who registers one again may be faster than the next look.
func (d *Driver) WereOut(ids []string) {
	if d.seenOut == nil {
		d.seenOut, d.seenIn = map[string]bool{}, map[string]bool{}
	}
	for _, id := range ids {
		d.seenOut[id] = true
	}
}

// note remembers what a look has shown. Of the canary it is known from what was saved:
// a process may have been killed that was taking an instance out.
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

// Reassert makes it ours again: what is missing of the primary is registered with
// the attributes that ECS gives, now; the rest follows at the next [Driver.Hold].
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
		return nil // a task ended meanwhile: the next look takes it from there
	}
	return err
}

// Adopt lets be what others did; whose instances they are by now is in Theirs.
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

// unsee forgets how looks have shown the instances.
func (d *Driver) unsee(o Outside) {
	for _, id := range append(slices.Clone(o.Gone), o.Missing...) {
		delete(d.seenIn, id)
		delete(d.In, id)
	}
	for _, id := range o.Back {
		delete(d.seenOut, id)
	}
}
