package stage

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// loadSaved loads the saved instances into the driver.
func (d *cloudMapTraffic) loadSaved(ctx context.Context) error {
	if d.loaded {
		return nil
	}
	saved, err := d.memory.Names.Load(ctx)
	if err != nil {
		return err
	}
	if saved.Deregistered != nil {
		d.names.Deregistered = saved.Deregistered
	}
	if err := d.loadUnmanaged(ctx); err != nil {
		return err
	}
	if err := d.loadRegistered(ctx); err != nil {
		return err
	}
	d.names.ExpectsCanary = saved.MaintainedShare > 0
	if d.isRollback() || d.Stage.Adopts() { // without a snapshot there is nothing to compare with
		d.names.Tries, d.names.IgnoresChanges = 3, true
	}
	d.loaded = true
	return d.loadDeregistered(ctx)
}

// loadDeregistered tells the driver, when a stage first begins, that the instances saved by earlier
// stages are deregistered: those stages have ended. A killed stage may have saved instances that it
// did not deregister.
func (d *cloudMapTraffic) loadDeregistered(ctx context.Context) error {
	if d.names.IgnoresChanges {
		return nil
	}
	saved, err := d.memory.Names.Load(ctx)
	if began := saved.DeregisteredSince; err != nil || began != nil && *began == d.Stage.Index {
		return err
	}
	d.names.NoteDeregistered(slices.Collect(maps.Keys(d.names.Deregistered)))
	return d.memory.Names.Update(ctx, func(n *memory.Names) { n.DeregisteredSince = &d.Stage.Index })
}

// loadRegistered loads which instances of the canary were registered. saveRegistered saves them,
// without the prefix that all their IDs have.
func (d *cloudMapTraffic) loadRegistered(ctx context.Context) error {
	saved, err := d.memory.Names.Load(ctx)
	d.names.Registered = map[string]bool{}
	for _, id := range saved.Registered {
		d.names.Registered[d.names.Prefix+id] = true
	}
	return err
}

func (d *cloudMapTraffic) saveRegistered(ctx context.Context) error {
	ids := []string{}
	for _, id := range slices.Sorted(maps.Keys(d.names.Registered)) {
		ids = append(ids, strings.TrimPrefix(id, d.names.Prefix))
	}
	return d.memory.Names.Update(ctx, func(n *memory.Names) { n.Registered = ids })
}

// loadUnmanaged loads the instances that stay as they are. Instances that were not registered at
// first stay so for the whole deployment. Adopted ones stay until shares are moved again.
func (d *cloudMapTraffic) loadUnmanaged(ctx context.Context) error {
	saved, err := d.memory.Names.Load(ctx)
	d.names.Unmanaged = map[string]bool{}
	for _, id := range append(saved.Unmanaged, d.absentInstances()...) {
		d.names.Unmanaged[id] = true
	}
	return err
}

func (d *cloudMapTraffic) absentInstances() []string {
	if d.snapshot == nil {
		return nil
	}
	return d.snapshot.Absent
}

// clearAdopted ends the adoption of instances: shares are about to be moved, and instances with
// them.
func (d *cloudMapTraffic) clearAdopted(ctx context.Context) error {
	saved, err := d.memory.Names.Load(ctx)
	if err != nil || len(saved.Unmanaged) == 0 {
		return err
	}
	saved.Unmanaged = nil
	if err := d.memory.Names.Save(ctx, saved); err != nil {
		return err
	}
	return d.loadUnmanaged(ctx)
}

func (d *cloudMapTraffic) saveDeregistered(ctx context.Context, taken map[string]map[string]string) error {
	return d.memory.Names.Update(ctx, func(n *memory.Names) { n.Deregistered = taken })
}
