package stage

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// The identities of the task sets that a deployment makes. They are the same in
// every stage and every attempt.

func (r *Run) newPrimaryID() sluice.ActionID {
	return sluice.NewActionID(r.Deployment, "primary", "task set")
}

// restoredID changes if what was made was deleted by somebody: AWS would answer its
// token with what is gone.
func (r *Run) restoredID(ctx context.Context) (sluice.ActionID, error) {
	n, _, err := saved[int](ctx, r.Host, keyRestored)
	if n == 0 {
		return sluice.NewActionID(r.Deployment, "rollback", "task set"), err
	}
	return sluice.NewActionID(r.Deployment, fmt.Sprintf("rollback %d", n+1), "task set"), err
}

// restoredAgain makes way for another one if what was restored was deleted.
func (r *Run) restoredAgain(ctx context.Context, err error) error {
	if sluice.KindOf(err) != sluice.OutsideChange {
		return err
	}
	n, _, failed := saved[int](ctx, r.Host, keyRestored)
	if failed == nil {
		failed = save(ctx, r.Host, keyRestored, n+1)
	}
	return errors.Join(err, failed)
}

// canaryID changes after a clean: a pipeline may roll out a second canary, and
// AWS would answer the first one's token with the first one.
func (r *Run) canaryID(ctx context.Context) (sluice.ActionID, error) {
	n, _, err := saved[int](ctx, r.Host, keyGeneration)
	if n == 0 {
		return sluice.NewActionID(r.Deployment, "canary", r.hosting.kind()), err
	}
	return sluice.NewActionID(r.Deployment, fmt.Sprintf("canary %d", n+1), r.hosting.kind()), err
}

// oldPrimary is the id of the task set that served before, or "".
func (r *Run) oldPrimary() string {
	if r.former == nil || r.former.Primary == nil {
		return ""
	}
	return r.former.Primary.ID
}
