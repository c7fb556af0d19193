package stage

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// addToSnapshot adds which tasks are not registered before the deployment. Another actor
// deregistered them, and they stay deregistered.
func (d *discovered) remember(ctx context.Context, f *Former) error {
	if !f.Service {
		return nil
	}
	tasks, err := d.hand.Tasks(ctx)
	if err != nil {
		return err
	}
	instances, err := d.names.Instances(ctx)
	for _, t := range tasks {
		if !slices.ContainsFunc(instances, func(i cloudmap.Instance) bool { return i.ID == t.ID }) {
			f.Absent = append(f.Absent, t.ID)
		}
	}
	return err
}

// resolveRouteDrift reads the name. [cloudMapTraffic.applyRecordPolicy] handles what another actor
// changed.
func (d *discovered) heed(ctx context.Context) error {
	if err := d.load(ctx); err != nil || d.names.Lenient {
		return err
	}
	_, err := d.names.Look(ctx) // not refreshTasks: the read a moment ago may have applied no policy
	d.tellStrangers()
	return err
}

// hasRouteDrift reads only while no share is maintained. Otherwise [cloudMapTraffic.maintainShare]
// resolves drift at every poll.
func (d *discovered) differs(ctx context.Context) (bool, error) {
	held, _, err := saved[int](ctx, d.Host, keyShareHeld)
	if err != nil || held > 0 {
		return false, err
	}
	if err := d.load(ctx); err != nil || d.names.Lenient {
		return false, err
	}
	return d.names.Differs(ctx)
}

// rerouteEmptyCanary does nothing: an instance that is not registered gets no requests.
func (d *discovered) spare(context.Context) error { return nil }

// applyRecordPolicy applies onOutsideChange to instances that another actor registered or
// deregistered.
func (d *discovered) answerRecords(ctx context.Context, o cloudmap.Outside) error {
	switch d.Plan.OnOutsideChange {
	case sluice.ReassertChange:
		return d.reassertRecords(ctx, o)
	case sluice.AdoptChange:
		d.warn("somebody else's change: %s; it stays (onOutsideChange: adopt)", o)
		return d.adoptRecords(ctx, o)
	}
	return o.Err()
}

// reassertRecords deregisters what was registered again and registers what is missing. The number
// of times per instance is limited: ECS, or an actor that insists, would make it endless.
func (d *discovered) reassertRecords(ctx context.Context, o cloudmap.Outside) error {
	d.back += len(o.Back)
	for _, id := range o.Back {
		if d.undone[id]++; d.undone[id] > reassertions {
			return o.Err()
		}
	}
	d.warn("somebody else's change: %s; it is undone (onOutsideChange: reassert)", o)
	return d.names.Reassert(ctx, d.write, o)
}

func (d *discovered) adoptRecords(ctx context.Context, o cloudmap.Outside) error {
	if len(o.Missing) > 0 {
		f := *d.former
		f.Absent = append(slices.Clone(f.Absent), o.Missing...)
		if err := save(ctx, d.Host, keyFormer, f); err != nil {
			return err
		}
		d.former = &f
	}
	if len(o.Back)+len(o.Gone) > 0 {
		t, _, err := saved[theirs](ctx, d.Host, keyTheirs)
		if err != nil {
			return err
		}
		t.IDs = append(append(t.IDs, o.Back...), o.Gone...)
		if err := save(ctx, d.Host, keyTheirs, t); err != nil {
			return err
		}
	}
	if err := d.names.Adopt(ctx, o); err != nil {
		return err
	}
	return d.loadTheirs(ctx)
}

// warnUnknownInstances reports instances that neither ECS nor sluice registered. They are kept: the
// actor that registered them has to deregister them.
func (d *discovered) tellStrangers() {
	for _, id := range d.names.Foreign() {
		if d.once("stranger " + id) {
			d.warn("instance %s under %s is neither ECS's nor sluice's: it takes its part of the answers", id, d.names.Registry.FullName())
		}
	}
	d.tellNeighbours()
}

// warnOtherServices reports other services that share the name.
func (d *discovered) tellNeighbours() {
	for _, service := range d.names.Neighbours() {
		if d.once("neighbour " + service) {
			d.warn("service %s is found under %s too: its tasks take their part of the answers, and shares are of %s alone", service, d.names.Registry.FullName(), d.Plan.Service)
		}
	}
}

// taskAge returns how long a task has run; 0 if it has not started.
func (d *discovered) age(t ecs.Task) (age time.Duration) {
	if t.StartedAt.IsZero() {
		return 0
	}
	return d.Clock.Now().Sub(t.StartedAt)
}
