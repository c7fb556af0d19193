package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// The action IDs of the task sets that a deployment creates. They are the same in every stage and
// every attempt.

func (r *Run) newPrimaryID() sluice.ActionID {
	return sluice.NewActionID(r.Deployment, "primary", "task set")
}

// restoredID is the action ID of the restored primary. It changes if that task set was deleted,
// because AWS answers the same client token with the deleted one.
func (r *Run) restoredID(ctx context.Context) (sluice.ActionID, error) {
	rollback, err := r.memory.Rollback.Load(ctx)
	n := rollback.Restarts
	if n == 0 {
		return sluice.NewActionID(r.Deployment, "rollback", "task set"), err
	}
	return sluice.NewActionID(r.Deployment, fmt.Sprintf("rollback %d", n+1), "task set"), err
}

// advanceRestoredID changes the ID of the restored primary if that task set was deleted, so that
// the next attempt creates another one.
func (r *Run) advanceRestoredID(ctx context.Context, err error) error {
	if sluice.KindOf(err) != sluice.OutsideChange {
		return err
	}
	return errors.Join(err, r.memory.Rollback.Update(ctx, func(b *memory.Rollback) { b.Restarts++ }))
}

// canaryID is the action ID of the canary. It changes after a clean: a pipeline may roll out a
// second canary, and AWS answers the first one's token with the first one.
func (r *Run) canaryID(ctx context.Context) (sluice.ActionID, error) {
	canary, err := r.memory.Canary.Load(ctx)
	n := canary.Generation
	if n == 0 {
		return sluice.NewActionID(r.Deployment, "canary", r.hosting.kindName()), err
	}
	return sluice.NewActionID(r.Deployment, fmt.Sprintf("canary %d", n+1), r.hosting.kindName()), err
}

// oldPrimaryID is the ID of the task set that served before, or "".
func (r *Run) oldPrimaryID() string {
	if r.snapshot == nil || r.snapshot.Primary == nil {
		return ""
	}
	return r.snapshot.Primary.ID
}
