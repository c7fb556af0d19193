package discovered

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// MaintainShare restores the share while tasks come and go. A rollback restores no share before it
// restores the name. It only deregisters canary tasks that another actor stops: their addresses
// remain in the caches of callers for the TTL, and the rollback may take longer than that.
func (d *traffic) MaintainShare(ctx context.Context) error {
	saved, err := d.step.Memory.Names.Load(ctx)
	held := saved.MaintainedShare
	if err != nil || held == 0 {
		return err
	}
	if err := loadSaved(ctx, d); err != nil {
		return err
	}
	if !d.names.IgnoresChanges {
		return reconcileShare(ctx, d, sluice.CanaryShare(held))
	}
	if err := deregisterDead(ctx, d); err != nil || held < 100 || !d.step.Plan.BridgesRollback() {
		return err
	}
	return deregisterNewPrimary(ctx, d)
}

// reconcileShare polls once and brings the counts back to the weights.
func reconcileShare(ctx context.Context, d *traffic, to sluice.Weights) error {
	before := d.tasksReadAt
	did, err := d.names.Reconcile(ctx, d.writeRecord, to)
	if errors.Is(err, route.ErrMismatch) {
		err = nil // a task stopped between read and write: the next poll reconciles
	}
	if did.Removed > 0 && err == nil {
		err = step.SaveShiftTime(ctx, d.step)
	}
	warnUnknownInstances(d)
	noteExposure(d, did, before)
	return err
}

// noteExposure reports how long new tasks of the primary were registered before they were
// deregistered. ECS registers them as soon as they run.
func noteExposure(d *traffic, did cloudmap.Reconciled, before time.Time) {
	n, longest := 0, time.Duration(0)
	for _, t := range did.Deregistered {
		if d.seen[t.ID] {
			continue
		}
		n++
		if t.Healthy && !before.IsZero() {
			longest = max(longest, d.step.Clock.Now().Sub(before))
		}
	}
	if n > 0 {
		what := "new task"
		if before.IsZero() {
			what = "task" // it may have been deregistered before and registered again
		}
		d.step.EmitNote("deregistered %s of the primary from %s; %s", sluice.Plural(n, what),
			d.names.Instances.Registry.FullName(),
			exposureText(longest, before.IsZero()))
	}
	for _, id := range d.names.LastRead().RegisteredIDs(sluice.Primary) {
		d.seen[id] = true
	}
}

// exposureText words how long callers could resolve tasks. unwatched: since before the first poll.
func exposureText(longest time.Duration, unwatched bool) string {
	switch {
	case unwatched:
		return "callers could resolve them until the first poll of this process"
	case longest == 0:
		return "no caller could resolve them: a container health check kept them UNHEALTHY"
	}
	return "callers could resolve them for " + plan.FormatDuration(longest) + " at most"
}
