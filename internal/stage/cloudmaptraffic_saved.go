package stage

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// Three sets of instances of a name are saved: those that sluice deregistered, those that sluice
// registered, and those that stay as another actor left them.

// loadSaved loads the saved instances into the driver.
func (d *cloudMapTraffic) loadSaved(ctx context.Context) error {
	if d.loaded {
		return nil
	}
	t, ok, err := loadValue[deregisteredRecords](ctx, d.Host, keyDeregistered)
	if err != nil {
		return err
	}
	if ok {
		d.names.Deregistered = t.unpackAttributes()
	}
	held, _, err := loadValue[int](ctx, d.Host, keyMaintainedShare)
	if err != nil {
		return err
	}
	if err := d.loadUnmanaged(ctx); err != nil {
		return err
	}
	if err := d.loadRegistered(ctx); err != nil {
		return err
	}
	d.names.ExpectsCanary = held > 0
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
	began, again, err := loadValue[int](ctx, d.Host, keyDeregisteredSince)
	if err != nil || again && began == d.Stage.Index {
		return err
	}
	d.names.NoteDeregistered(slices.Collect(maps.Keys(d.names.Deregistered)))
	return saveValue(ctx, d.Host, keyDeregisteredSince, d.Stage.Index)
}

// loadRegistered loads which instances of the canary were registered. saveRegistered saves them,
// without the prefix that all their IDs have.
func (d *cloudMapTraffic) loadRegistered(ctx context.Context) error {
	ids, _, err := loadValue[[]string](ctx, d.Host, keyRegistered)
	d.names.Registered = map[string]bool{}
	for _, id := range ids {
		d.names.Registered[d.names.Prefix+id] = true
	}
	return err
}

func (d *cloudMapTraffic) saveRegistered(ctx context.Context) error {
	ids := []string{}
	for _, id := range slices.Sorted(maps.Keys(d.names.Registered)) {
		ids = append(ids, strings.TrimPrefix(id, d.names.Prefix))
	}
	return saveValue(ctx, d.Host, keyRegistered, ids)
}

// unmanagedIDs are instances that stay as another actor left them.
type unmanagedIDs struct {
	IDs []string `json:"ids"`
}

// loadUnmanaged loads the instances that stay as they are. Instances that were not registered at
// first stay so for the whole deployment. Adopted ones stay until shares are moved again.
func (d *cloudMapTraffic) loadUnmanaged(ctx context.Context) error {
	t, _, err := loadValue[unmanagedIDs](ctx, d.Host, keyUnmanaged)
	d.names.Unmanaged = map[string]bool{}
	for _, id := range append(t.IDs, d.absentInstances()...) {
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
	if t, _, err := loadValue[unmanagedIDs](ctx, d.Host, keyUnmanaged); err != nil || len(t.IDs) == 0 {
		return err
	}
	if err := saveValue(ctx, d.Host, keyUnmanaged, unmanagedIDs{}); err != nil {
		return err
	}
	return d.loadUnmanaged(ctx)
}

// deregisteredRecords is the saved form of deregistered instances. Attributes that all of them
// share are saved once, the others by instance.
type deregisteredRecords struct {
	All  map[string]string            `json:"all,omitempty"`
	Each map[string]map[string]string `json:"each,omitempty"`
}

func (d *cloudMapTraffic) saveDeregistered(ctx context.Context, taken map[string]map[string]string) error {
	return saveValue(ctx, d.Host, keyDeregistered, packAttributes(taken))
}

func packAttributes(taken map[string]map[string]string) deregisteredRecords {
	t := deregisteredRecords{Each: map[string]map[string]string{}}
	ids := slices.Sorted(maps.Keys(taken))
	if len(ids) > 0 {
		t.All = maps.Clone(taken[ids[0]])
	}
	for _, id := range ids {
		maps.DeleteFunc(t.All, func(k, v string) bool { w, ok := taken[id][k]; return !ok || w != v })
	}
	for _, id := range ids {
		t.Each[id] = maps.Clone(taken[id])
		maps.DeleteFunc(t.Each[id], func(k, _ string) bool { _, all := t.All[k]; return all })
	}
	return t
}

func (t deregisteredRecords) unpackAttributes() map[string]map[string]string {
	out := map[string]map[string]string{}
	for id, each := range t.Each {
		out[id] = maps.Clone(t.All)
		if out[id] == nil {
			out[id] = map[string]string{}
		}
		maps.Copy(out[id], each)
	}
	return out
}
