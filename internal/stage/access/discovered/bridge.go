package discovered

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// CallersCacheAddresses is true if a new task of the primary is registered. It also reads which
// containers of the former revision have a health check.
func (d *traffic) CallersCacheAddresses(ctx context.Context) (bool, error) {
	if exposed, err := isNewRegistered(ctx, d); err != nil || !exposed {
		return false, err
	}
	was, err := ecs.ReadDefinition(ctx, d.step.Account.ECS(), d.step.Snapshot.Revision)
	if err == nil {
		d.formerChecks = definition.ContainersWithCheck(was.ContainerDefinitions)
	}
	return true, err
}

// maxExposureReads bounds the reads of isNewRegistered while ECS starts more tasks.
const maxExposureReads = 3

// isNewRegistered reports whether a new task of the primary is registered. ECS registers tasks as soon as
// they run, and reads lag: a read shows that none is registered only if an earlier one had the same tasks.
func isNewRegistered(ctx context.Context, d *traffic) (bool, error) {
	var before []string
	for n := 1; ; n++ {
		d.stale = true
		if err := refreshTasks(ctx, d); err != nil || len(registeredNew(d)) > 0 {
			return err == nil, err
		}
		running := newPrimaryTasks(d)
		if len(running) == 0 || slices.Equal(running, before) || n == maxExposureReads {
			return false, nil
		}
		before = running
		if err := d.step.AwaitSecondRead(ctx); err != nil {
			return false, err
		}
	}
}

// newPrimaryTasks returns the IDs of the primary's tasks that are not of the former revision.
func newPrimaryTasks(d *traffic) (ids []string) {
	for _, t := range d.tasks[:d.primaryTasks] {
		if isNew(d, t) {
			ids = append(ids, t.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// registeredNew returns the registered instances of the primary that are not of the former
// revision, as of the last read.
func registeredNew(d *traffic) (ids []string) {
	found := d.names.LastRead().RegisteredIDs(sluice.Primary)
	for _, t := range d.tasks {
		if isNew(d, t) && slices.Contains(found, t.ID) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// deregisterNewPrimary deregisters tasks of the new revision that ECS keeps registering while the
// service rolls back and only the canary may get traffic.
func deregisterNewPrimary(ctx context.Context, d *traffic) error {
	if err := refreshTasks(ctx, d); err != nil {
		return err
	}
	found := registeredNew(d)
	if len(found) == 0 || !d.names.LastRead().HasOthers(found) {
		return nil
	}
	d.names.MarkStopping(found)
	if err := d.names.DeregisterIDs(ctx, d.writeRecord, sluice.Primary, found); err != nil {
		return err
	}
	return step.SaveShiftTime(ctx, d.step)
}
