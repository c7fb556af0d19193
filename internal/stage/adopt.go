package stage

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// adopt clears away what a deployment left whose journal is lost: the service is
// ours, all traffic goes to what is PRIMARY, and no other task set of ours is
// left. What was before that deployment nobody knows any more; nothing of it is
// guessed.
func (r *Run) adopt(ctx context.Context) error {
	live, err := r.standing(ctx)
	if err != nil || live == nil {
		return err
	}
	left, err := r.leftBy(ctx, live)
	if err != nil {
		return err
	}
	if err := r.hold(ctx, live); err != nil {
		return err
	}
	claimed := r.wrote
	switch {
	case r.Plan.Rolls() && !r.Plan.Beside():
		r.note("ECS goes on with what was asked of it; nothing else of another deployment can be left on a rolling service")
		return nil
	case r.Plan.ByCodeDeploy():
		r.note("CodeDeploy goes on with what was asked of it; nothing else of another deployment can be left on a service that it deploys")
		return nil
	}
	serving, err := r.hosting.standing(ctx, sluice.Primary)
	if err != nil {
		return err
	}
	if serving == nil {
		r.note("no task set is PRIMARY: what is left is removed once the new one serves")
		return nil
	}
	if err := r.allToPrimary(ctx, *serving); err != nil {
		return err
	}
	return r.retireLeft(ctx, cmp.Or(left.Former, r.Plan.Former), claimed)
}

// leftBy is the claim that stood on the service before ours: it names the task set
// that served. It is saved, because ours takes its place.
func (r *Run) leftBy(ctx context.Context, live *ecs.Live) (plan.Claim, error) {
	left, ok, err := saved[plan.Claim](ctx, r.Host, keyLeft)
	if err != nil || ok {
		return left, err
	}
	left, _ = plan.ParseClaim(live.Tags[plan.ClaimTag]) // one that is no claim tells nothing
	if left.Deployment == r.Deployment {
		return left, nil
	}
	return left, save(ctx, r.Host, keyLeft, left)
}

// allToPrimary sends every request to what is PRIMARY, once that can take them.
// The way there keeps the shape that it has.
func (r *Run) allToPrimary(ctx context.Context, serving member) error {
	revived, err := r.hosting.revive(ctx, serving)
	if err != nil {
		return err
	}
	sends, err := r.access.sends(ctx)
	if err != nil || !sends && !revived {
		return err
	}
	if serving.TargetGroup != "" && serving.TargetGroup == r.access.attach(sluice.Canary).TargetGroup {
		return &sluice.Error{Op: "adopt the service", Resource: serving.ID, Kind: sluice.Conflict,
			Err:  fmt.Errorf("the PRIMARY task set is in the canary's target group: sending everything to the primary's would lose it"),
			Next: "give the service a PRIMARY task set in the primary's target group by hand"}
	}
	if err := r.awaitHealthy(ctx, serving, 1); err != nil || !sends {
		return err
	}
	return r.access.seize(ctx)
}

// retireLeft drains and removes everything of ours that lost deployments left.
// former is the id of what had served before, which the lost deployment would
// have removed. AWS tells nothing of their writes, so that only time proves that a read
// shows them: they wrote nothing after our claim.
func (r *Run) retireLeft(ctx context.Context, former string, claimed time.Time) error {
	if err := r.access.settle(ctx); err != nil {
		return err
	}
	live, err := r.readAfter(ctx, proof{write: "what lost deployments made", at: claimed, shows: func(*ecs.Live) bool { return false }})
	if err != nil {
		return err
	}
	left, err := r.hosting.left(ctx, live, former)
	if err != nil {
		return err
	}
	for _, m := range left {
		r.note("%s %s of %s was left behind: it is removed", r.hosting.kind(), m.ID, m.Revision)
	}
	return r.retire(ctx, left...)
}
