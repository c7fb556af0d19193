package stage

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice/internal/appfile"
)

// Three sets of instances of a name are saved: those that sluice deregistered, those that sluice
// registered, and those that stay as another actor left them.

// loadSaved loads the saved instances into the driver.
func (d *discovered) load(ctx context.Context) error {
	if d.loaded {
		return nil
	}
	t, ok, err := saved[takenOut](ctx, d.Host, keyTaken)
	if err != nil {
		return err
	}
	if ok {
		d.names.Taken = t.whole()
	}
	held, _, err := saved[int](ctx, d.Host, keyShareHeld)
	if err != nil {
		return err
	}
	if err := d.loadTheirs(ctx); err != nil {
		return err
	}
	if err := d.loadIn(ctx); err != nil {
		return err
	}
	d.names.Holds = held > 0
	if d.returns() || d.Stage.Name == appfile.StageAdopt { // without a snapshot there is nothing to compare with
		d.names.Tries, d.names.Lenient = 3, true
	}
	d.loaded = true
	return d.loadOut(ctx)
}

// loadDeregistered tells the driver, when a stage first begins, that the instances saved by earlier
// stages are deregistered: those stages have ended. A killed stage may have saved instances that it
// did not deregister.
func (d *discovered) loadOut(ctx context.Context) error {
	if d.names.Lenient {
		return nil
	}
	began, again, err := saved[int](ctx, d.Host, keyOutSince)
	if err != nil || again && began == d.Stage.Index {
		return err
	}
	d.names.WereOut(slices.Collect(maps.Keys(d.names.Taken)))
	return save(ctx, d.Host, keyOutSince, d.Stage.Index)
}

// loadRegistered loads which instances of the canary were registered. saveRegistered saves them,
// without the prefix that all their IDs have.
func (d *discovered) loadIn(ctx context.Context) error {
	ids, _, err := saved[[]string](ctx, d.Host, keyIn)
	d.names.In = map[string]bool{}
	for _, id := range ids {
		d.names.In[d.names.Own+id] = true
	}
	return err
}

func (d *discovered) keepIn(ctx context.Context) error {
	ids := []string{}
	for _, id := range slices.Sorted(maps.Keys(d.names.In)) {
		ids = append(ids, strings.TrimPrefix(id, d.names.Own))
	}
	return save(ctx, d.Host, keyIn, ids)
}

// unmanagedIDs are instances that stay as another actor left them.
type theirs struct {
	IDs []string `json:"ids"`
}

// loadUnmanaged loads the instances that stay as they are. Instances that were not registered at
// first stay so for the whole deployment. Adopted ones stay until shares are moved again.
func (d *discovered) loadTheirs(ctx context.Context) error {
	t, _, err := saved[theirs](ctx, d.Host, keyTheirs)
	d.names.Theirs = map[string]bool{}
	for _, id := range append(t.IDs, d.absent()...) {
		d.names.Theirs[id] = true
	}
	return err
}

func (d *discovered) absent() []string {
	if d.former == nil {
		return nil
	}
	return d.former.Absent
}

// clearAdopted ends the adoption of instances: shares are about to be moved, and instances with
// them.
func (d *discovered) ours(ctx context.Context) error {
	if t, _, err := saved[theirs](ctx, d.Host, keyTheirs); err != nil || len(t.IDs) == 0 {
		return err
	}
	if err := save(ctx, d.Host, keyTheirs, theirs{}); err != nil {
		return err
	}
	return d.loadTheirs(ctx)
}

// deregisteredRecords is the saved form of deregistered instances. Attributes that all of them
// share are saved once, the others by instance.
type takenOut struct {
	All  map[string]string            `json:"all,omitempty"`
	Each map[string]map[string]string `json:"each,omitempty"`
}

func (d *discovered) keepTaken(ctx context.Context, taken map[string]map[string]string) error {
	return save(ctx, d.Host, keyTaken, packed(taken))
}

func packed(taken map[string]map[string]string) takenOut {
	t := takenOut{Each: map[string]map[string]string{}}
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

func (t takenOut) whole() map[string]map[string]string {
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
