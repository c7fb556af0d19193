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

// adoptLeftovers cleans up after a deployment whose journal is lost. It claims the service, sends
// all traffic to the PRIMARY task set and deletes every other task set made by sluice. It does not
// restore earlier weights, because they are unknown.
func (r *Run) adoptLeftovers(ctx context.Context) error {
	live, err := r.findActiveService(ctx)
	if err != nil || live == nil {
		return err
	}
	left, err := r.previousClaim(ctx, live)
	if err != nil {
		return err
	}
	if err := r.claimAndSuspend(ctx, live); err != nil {
		return err
	}
	if note := r.code.adoptNote; note != "" {
		r.emitNote("%s", note)
		return nil
	}
	claimed := r.wroteAt
	serving, err := r.hosting.findVariant(ctx, sluice.Primary)
	if err != nil {
		return err
	}
	if serving == nil {
		r.emitNote("no task set is PRIMARY: sluice deletes the leftovers once the new task set serves")
		return nil
	}
	if err := r.sendAllToPrimary(ctx, *serving); err != nil {
		return err
	}
	return r.retireLeftovers(ctx, cmp.Or(left.Former, r.Plan.PreviousSet), claimed)
}

// previousClaim returns the claim that was on the service before ours. It names the task set that
// served. previousClaim saves it, because our claim replaces it.
func (r *Run) previousClaim(ctx context.Context, live *ecs.ServiceState) (plan.Claim, error) {
	saved, err := r.memory.Claim.Load(ctx)
	if err != nil {
		return plan.Claim{}, err
	}
	if saved.Previous != nil {
		return *saved.Previous, nil
	}
	left, _ := plan.ParseClaim(live.Tags[plan.ClaimTag]) // a tag that cannot be parsed is ignored
	if left.Deployment == r.Deployment {
		return left, nil
	}
	saved.Previous = &left
	return left, r.memory.Claim.Save(ctx, saved)
}

// sendAllToPrimary sends every request to the PRIMARY member once that can serve them. It keeps the
// shape of the routes.
func (r *Run) sendAllToPrimary(ctx context.Context, serving member) error {
	revived, err := r.hosting.restoreCapacity(ctx, serving)
	if err != nil {
		return err
	}
	sends, err := r.traffic.canaryGetsTraffic(ctx)
	if err != nil || !sends && !revived {
		return err
	}
	if serving.TargetGroup != "" && serving.TargetGroup == r.traffic.attachmentOf(sluice.Canary).TargetGroup {
		return &sluice.Error{Op: "adopt the service", Resource: serving.ID, Kind: sluice.Conflict,
			Err: fmt.Errorf("the PRIMARY task set is in the canary's target group: routing all traffic to the " +
				"primary's target group would lose requests"),
			Next: "create a task set in the primary's target group and make it PRIMARY, then deploy again"}
	}
	if err := r.awaitHealthy(ctx, serving, 1); err != nil || !sends {
		return err
	}
	return r.traffic.routeAllToPrimary(ctx)
}

// retireLeftovers drains and deletes every member that lost deployments created and that still
// runs. former is the ID of the task set that served before; the lost deployment would have deleted
// it. AWS reports no write of a lost deployment, so only time proves that a read shows it. Lost
// deployments wrote nothing after our claim, which was written at claimed.
func (r *Run) retireLeftovers(ctx context.Context, former string, claimed time.Time) error {
	if err := r.traffic.waitForPropagation(ctx); err != nil {
		return err
	}
	live, err := r.readAfter(ctx, writeProof{writeName: "the resources of lost deployments", sentAt: claimed,
		shows: func(*ecs.ServiceState) bool { return false }})
	if err != nil {
		return err
	}
	left, err := r.hosting.listLeftovers(ctx, live, former)
	if err != nil {
		return err
	}
	for _, m := range left {
		r.emitNote("%s %s of %s is a leftover of another deployment; sluice deletes it", r.hosting.kindName(), m.ID,
			m.Revision)
	}
	return r.retireMembers(ctx, left...)
}
