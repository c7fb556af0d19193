package stage

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// tend holds the share while tasks come and go. In a rollback it begins when the
// name has been restored.
func (d *discovered) tend(ctx context.Context) error {
	held, ok, err := saved[int](ctx, d.Host, keyShareHeld)
	if err != nil || !ok || held == 0 {
		return err
	}
	if err := d.load(ctx); err != nil {
		return err
	}
	switch {
	case d.names.Lenient && held == 100 && d.Plan.Bridges():
		return d.keepNewOut(ctx)
	case d.names.Lenient:
		return nil
	}
	return d.keepTo(ctx, sluice.CanaryShare(held))
}

// keepTo is one look that brings the counts back to the weights.
func (d *discovered) keepTo(ctx context.Context, to sluice.Weights) error {
	before := d.looked
	did, err := d.names.Hold(ctx, d.write, to)
	if errors.Is(err, route.ErrOtherwise) {
		err = nil // a task ended meanwhile: the next look takes it from there
	}
	if did.Left > 0 && err == nil {
		err = d.moving(ctx)
	}
	d.tellStrangers()
	d.tellWindow(did, before)
	return err
}

// tellWindow tells how long new tasks of the primary were found before they were
// taken out: ECS registers them as soon as they run.
func (d *discovered) tellWindow(did cloudmap.Held, before time.Time) {
	n, longest := 0, time.Duration(0)
	for _, t := range did.Taken {
		if d.seen[t.ID] {
			continue
		}
		n++
		if t.Healthy && !before.IsZero() {
			longest = max(longest, d.Clock.Now().Sub(before))
		}
	}
	if n > 0 {
		what := "new task"
		if before.IsZero() {
			what = "task" // one that was taken out before may have been put back
		}
		d.note("took %s of the primary out of %s; %s", sluice.Plural(n, what), d.names.Registry.FullName(), foundFor(longest, before.IsZero()))
	}
	for _, id := range d.names.Found(sluice.Primary) {
		d.seen[id] = true
	}
}

// foundFor is how long callers could find tasks; unwatched: since before the first
// look.
func foundFor(longest time.Duration, unwatched bool) string {
	switch {
	case unwatched:
		return "callers could find them since nobody looked"
	case longest == 0:
		return "no caller could find them: a container health check held them UNHEALTHY"
	}
	return "callers could find them for " + plan.Duration(longest) + " at most"
}
