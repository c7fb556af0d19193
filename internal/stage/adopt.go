package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route"
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
	if r.Plan.Rolls() {
		r.note("ECS goes on with what was asked of it; nothing else of another deployment can be left on a rolling service")
		return nil
	}
	if live, err = r.observe(ctx); err != nil {
		return err
	}
	if live.Primary() == nil {
		r.note("no task set is PRIMARY: what is left is removed once the new one serves")
		return nil
	}
	if err := r.allToPrimary(ctx, live); err != nil {
		return err
	}
	return r.retireLeft(ctx, left.Former)
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

// allToPrimary sends every request to the PRIMARY task set, once that can take
// them. Rules keep the shape that they have.
func (r *Run) allToPrimary(ctx context.Context, live *ecs.Live) error {
	serving := live.Primary()
	if serving.Scale == 0 {
		if err := r.sets.Scale(ctx, r.act, *serving, plan.ServingSet, 100); err != nil {
			return err
		}
	}
	sends, err := r.anySends(ctx)
	if err != nil || !sends && serving.Scale != 0 {
		return err
	}
	if r.Plan.Canary != nil && serving.TargetGroup == r.Plan.Canary.ARN {
		return &sluice.Error{Op: "adopt the service", Resource: serving.ID, Kind: sluice.Conflict,
			Err:  fmt.Errorf("the PRIMARY task set is in the canary's target group: sending everything to the primary's would lose it"),
			Next: "give the service a PRIMARY task set in the primary's target group by hand"}
	}
	if err := r.awaitHealthy(ctx, sluice.Primary, serving.ID, 1); err != nil || !sends {
		return err
	}
	asFound := route.Router{Driver: r.rules, Check: func(ctx context.Context, _ route.Path, _ string) error { return r.shifting(ctx) }}
	if err := r.shiftBy(ctx, asFound, sluice.CanaryShare(0)); err != nil {
		return err
	}
	r.warn("exact former weights are unknown without the journal: everything goes to the primary now")
	return nil
}

// anySends reports whether a rule of ours gives the canary group weight.
func (r *Run) anySends(ctx context.Context) (bool, error) {
	if len(r.Plan.Listeners) == 0 {
		return false, nil
	}
	choice, err := r.rules.Choose(ctx)
	if err != nil {
		return false, err
	}
	for _, rule := range choice.Steered {
		if r.sendsToCanary(rule) {
			return true, nil
		}
	}
	return false, nil
}

// retireLeft drains and removes every task set of ours that is not PRIMARY.
// former is the id of the one that served before, which the lost deployment would
// have removed.
func (r *Run) retireLeft(ctx context.Context, former string) error {
	if err := r.settle(ctx); err != nil {
		return err
	}
	if err := r.current(ctx); err != nil {
		return err
	}
	live, err := r.observe(ctx)
	if err != nil {
		return err
	}
	for _, set := range live.TaskSets {
		if !plan.LeftOver(set, former) {
			continue
		}
		r.note("task set %s of %s was left behind: it is removed", set.ID, set.Revision)
		if err := r.retire(ctx, set, plan.OtherSets); err != nil {
			return err
		}
	}
	return nil
}
