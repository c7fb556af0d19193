package discovered

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// loadSaved loads the saved instances into the driver.
func loadSaved(ctx context.Context, d *traffic) error {
	if d.loaded {
		return nil
	}
	saved, err := d.step.Memory.Names.Load(ctx)
	if err != nil {
		return err
	}
	if saved.Deregistered != nil {
		d.names.Deregistered = saved.Deregistered
	}
	if err := loadUnmanaged(ctx, d); err != nil {
		return err
	}
	if err := loadRegistered(ctx, d); err != nil {
		return err
	}
	d.names.ExpectsCanary = saved.MaintainedShare > 0
	if d.step.IsRollback() || d.step.Stage.Adopts() { // without a snapshot there is nothing to compare with
		d.names.Instances.Tries, d.names.IgnoresChanges = 3, true
	}
	d.loaded = true
	return loadDeregistered(ctx, d)
}

// loadDeregistered tells the driver, when a stage first begins, that the instances saved by earlier
// stages are deregistered: those stages have ended. A killed stage may have saved instances that it
// did not deregister.
func loadDeregistered(ctx context.Context, d *traffic) error {
	if d.names.IgnoresChanges {
		return nil
	}
	saved, err := d.step.Memory.Names.Load(ctx)
	if began := saved.DeregisteredSince; err != nil || began != nil && *began == d.step.Stage.Index {
		return err
	}
	d.names.NoteDeregistered(slices.Collect(maps.Keys(d.names.Deregistered)))
	return d.step.Memory.Names.Update(ctx, func(n *memory.Names) { n.DeregisteredSince = &d.step.Stage.Index })
}

// loadRegistered loads which instances of the canary were registered. saveRegistered saves them,
// without the prefix that all their IDs have.
func loadRegistered(ctx context.Context, d *traffic) error {
	saved, err := d.step.Memory.Names.Load(ctx)
	d.names.Registered = map[string]bool{}
	for _, id := range saved.Registered {
		d.names.Registered[d.names.Prefix+id] = true
	}
	return err
}

func (d *traffic) saveRegistered(ctx context.Context) error {
	ids := []string{}
	for _, id := range slices.Sorted(maps.Keys(d.names.Registered)) {
		ids = append(ids, strings.TrimPrefix(id, d.names.Prefix))
	}
	return d.step.Memory.Names.Update(ctx, func(n *memory.Names) { n.Registered = ids })
}

// loadUnmanaged loads the instances that stay as they are. Instances that were not registered at
// first stay so for the whole deployment. Adopted ones stay until shares are moved again.
func loadUnmanaged(ctx context.Context, d *traffic) error {
	saved, err := d.step.Memory.Names.Load(ctx)
	d.names.Unmanaged = map[string]bool{}
	for _, id := range append(saved.Unmanaged, absentInstances(d)...) {
		d.names.Unmanaged[id] = true
	}
	return err
}

func absentInstances(d *traffic) []string {
	if d.step.Snapshot == nil {
		return nil
	}
	return d.step.Snapshot.Absent
}

// clearAdopted ends the adoption of instances: shares are about to be moved, and instances with
// them.
func clearAdopted(ctx context.Context, d *traffic) error {
	saved, err := d.step.Memory.Names.Load(ctx)
	if err != nil || len(saved.Unmanaged) == 0 {
		return err
	}
	saved.Unmanaged = nil
	if err := d.step.Memory.Names.Save(ctx, saved); err != nil {
		return err
	}
	return loadUnmanaged(ctx, d)
}

func (d *traffic) saveDeregistered(ctx context.Context, taken map[string]map[string]string) error {
	return d.step.Memory.Names.Update(ctx, func(n *memory.Names) { n.Deregistered = taken })
}
