package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// canaryRollout starts the new revision beside the old one. It moves no traffic,
// and changes nothing that the running primary would notice.
//
// Safe to run twice because the task set carries the action's ID: a second run,
// or a second such stage, finds it, brings it to its scale and goes on waiting.
func (r *Run) canaryRollout(ctx context.Context) error {
	_, rev, err := r.prepare(ctx)
	if err != nil {
		return err
	}
	if err := r.extend(ctx); err != nil {
		return err
	}
	by, err := r.canaryID(ctx)
	if err != nil {
		return err
	}
	if err := text(ctx, r.Host, KeyCanarySet, string(by)); err != nil {
		return err
	}
	set, err := r.ensureSet(ctx, ecs.Wanted{By: by, Label: plan.CanarySet, Revision: rev, Scale: r.Stage.Scale, Attach: attach(r.Plan.Canary)})
	if err != nil {
		return err
	}
	return r.awaitNew(ctx, sluice.Canary, set.ID, 1)
}
