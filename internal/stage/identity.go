package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
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
		return sluice.NewActionID(r.Deployment, "canary", "task set"), err
	}
	return sluice.NewActionID(r.Deployment, fmt.Sprintf("canary %d", n+1), "task set"), err
}

func attach(g *plan.Group) ecs.Attachment {
	if g == nil {
		return ecs.Attachment{}
	}
	return ecs.Attachment{TargetGroup: g.ARN, Container: g.Container, Port: g.Port}
}

func (r *Run) wantNewPrimary(rev ecs.Revision) ecs.Wanted {
	return ecs.Wanted{By: r.newPrimaryID(), Label: plan.NewPrimarySet, Revision: rev, Scale: 100, Attach: attach(r.Plan.Primary)}
}

// oldPrimary is the id of the task set that served before, or "".
func (r *Run) oldPrimary() string {
	if r.former == nil || r.former.Primary == nil {
		return ""
	}
	return r.former.Primary.ID
}

// canarySet is the canary of this deployment if it stands, else nil.
func (r *Run) canarySet(ctx context.Context, live *ecs.Live) (*sluice.TaskSet, error) {
	id, err := r.canaryID(ctx)
	if err != nil {
		return nil, err
	}
	return live.Made(id), nil
}
