package discovered

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// AddToSnapshot adds which tasks are not registered before the deployment. Another actor
// deregistered them, and they stay deregistered.
func (d *traffic) AddToSnapshot(ctx context.Context, f *memory.Snapshot) error {
	if !f.Service {
		return nil
	}
	tasks, err := d.step.Client.Tasks(ctx)
	if err != nil {
		return err
	}
	instances, err := d.names.Instances.ListInstances(ctx)
	for _, t := range tasks {
		if !slices.ContainsFunc(instances, func(i cloudmap.Instance) bool { return i.ID == t.ID }) {
			f.Absent = append(f.Absent, t.ID)
		}
	}
	return err
}

// ResolveRouteDrift reads the name. [traffic.applyRecordPolicy] handles what another actor
// changed.
func (d *traffic) ResolveRouteDrift(ctx context.Context) error {
	if err := loadSaved(ctx, d); err != nil || d.names.IgnoresChanges {
		return err
	}
	_, err := d.names.Observe(ctx) // not refreshTasks: the read a moment ago may have applied no policy
	warnUnknownInstances(d)
	return err
}

// HasRouteDrift reads only while no share is maintained. Otherwise [traffic.MaintainShare]
// resolves drift at every poll.
func (d *traffic) HasRouteDrift(ctx context.Context) (bool, error) {
	saved, err := d.step.Memory.Names.Load(ctx)
	if err != nil || saved.MaintainedShare > 0 {
		return false, err
	}
	if err := loadSaved(ctx, d); err != nil || d.names.IgnoresChanges {
		return false, err
	}
	return d.names.HasChanges(ctx)
}

// applyRecordPolicy applies onOutsideChange to instances that another actor registered or
// deregistered.
func (d *traffic) applyRecordPolicy(ctx context.Context, o cloudmap.OutsideChange) error {
	switch d.step.Plan.OnOutsideChange {
	case sluice.ReassertChange:
		return reassertRecords(ctx, d, o)
	case sluice.AdoptChange:
		d.step.EmitWarning("external change: %s. sluice keeps it (onOutsideChange: adopt)", o)
		return adoptRecords(ctx, d, o)
	}
	return o.Err()
}

// reassertRecords deregisters what was registered again and registers what is missing. The number
// of times per instance is limited: ECS, or an actor that insists, would make it endless.
func reassertRecords(ctx context.Context, d *traffic, o cloudmap.OutsideChange) error {
	d.returnedCount += len(o.Returned)
	for _, id := range o.Returned {
		if d.reassertCounts[id]++; d.reassertCounts[id] > step.MaxReassertions {
			return o.Err()
		}
	}
	d.step.EmitWarning("external change: %s. sluice reverts it (onOutsideChange: reassert)", o)
	return d.names.Reassert(ctx, d.writeRecord, o)
}

func adoptRecords(ctx context.Context, d *traffic, o cloudmap.OutsideChange) error {
	if len(o.MissingPrimary) > 0 {
		f := *d.step.Snapshot
		f.Absent = append(slices.Clone(f.Absent), o.MissingPrimary...)
		if err := d.step.Memory.Snapshot.Save(ctx, f); err != nil {
			return err
		}
		d.step.Snapshot = &f
	}
	if len(o.Returned)+len(o.MissingCanary) > 0 {
		if err := d.step.Memory.Names.Update(ctx, func(n *memory.Names) {
			n.Unmanaged = append(append(n.Unmanaged, o.Returned...), o.MissingCanary...)
		}); err != nil {
			return err
		}
	}
	if err := d.names.Adopt(ctx, o); err != nil {
		return err
	}
	return loadUnmanaged(ctx, d)
}

// warnUnknownInstances reports instances that neither ECS nor sluice registered. They are kept: the
// actor that registered them has to deregister them. It also reports other services that share the name.
func warnUnknownInstances(d *traffic) {
	for _, id := range d.names.LastRead().UnknownInstances() {
		if d.step.IsFirstTime("stranger " + id) {
			d.step.EmitWarning("%s", cloudmap.DescribeUnknown(id, d.names.Instances.Registry.FullName()))
		}
	}
	for _, service := range d.names.LastRead().OtherServices() {
		if d.step.IsFirstTime("neighbour " + service) {
			d.step.EmitWarning(
				"service %s is also registered under %s: its tasks get a part of the requests; shares count "+
					"only tasks of %s", service, d.names.Instances.Registry.FullName(), d.step.Plan.Service)
		}
	}
}

// taskAge returns how long a task has run; 0 if it has not started.
func taskAge(d *traffic, t ecs.Task) (age time.Duration) {
	if t.StartedAt.IsZero() {
		return 0
	}
	return d.step.Clock.Now().Sub(t.StartedAt)
}
