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
	d.names.Registered = map[string]bool{}
	for _, id := range saved.Registered {
		d.names.Registered[d.names.Prefix+id] = true
	}
	d.names.ExpectsCanary, d.loaded = saved.MaintainedShare > 0, true
	if d.step.IsRollback() || d.step.Stage.Adopts() { // without a snapshot there is nothing to compare with
		d.names.Instances.Tries, d.names.IgnoresChanges = 3, true
		return nil
	}
	if began := saved.DeregisteredSince; began != nil && *began == d.step.Stage.Index {
		return nil
	}
	// A stage that begins for the first time knows that the instances saved by earlier stages are deregistered: those
	// stages have ended. A killed stage may have saved instances that it did not deregister.
	d.names.NoteDeregistered(slices.Collect(maps.Keys(d.names.Deregistered)))
	return d.step.Memory.Names.Update(ctx, func(n *memory.Names) { n.DeregisteredSince = &d.step.Stage.Index })
}

// saveRegistered saves which instances of the canary are registered, without the prefix that all their IDs have.
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
	all := saved.Unmanaged
	if d.step.Snapshot != nil {
		all = append(all, d.step.Snapshot.Absent...)
	}
	d.names.Unmanaged = map[string]bool{}
	for _, id := range all {
		d.names.Unmanaged[id] = true
	}
	return err
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
