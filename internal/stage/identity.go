package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// The identities of the task sets that a deployment makes. They are the same in
// every stage and every attempt.

func (r *Run) newPrimaryID() sluice.ActionID {
	return sluice.NewActionID(r.Deployment, "primary", "task set")
}

func (r *Run) restoredID() sluice.ActionID {
	return sluice.NewActionID(r.Deployment, "rollback", "task set")
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
