package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// trafficRouting moves the weights. The variant that gets requests must first be able to take them.
// ALB weights do not fail over: the share of an empty group is lost.
func (r *Run) trafficRouting(ctx context.Context) error {
	if _, err := r.begin(ctx); err != nil {
		return err
	}
	to := *r.Stage.Weights
	if err := r.access.announce(ctx, to); err != nil {
		return err
	}
	if err := r.access.ready(ctx); err != nil {
		return err
	}
	for _, v := range []sluice.Variant{sluice.Canary, sluice.Primary} {
		if to.Of(v) == 0 {
			continue
		}
		if err := r.awaitServing(ctx, v); err != nil {
			return err
		}
	}
	return r.access.shift(ctx, to)
}

// removeCanaryTraffic moves all requests to the primary and waits until every caller follows.
func (r *Run) takeTraffic(ctx context.Context) error {
	sends, err := r.access.sends(ctx)
	if err != nil {
		return err
	}
	if sends {
		if err := r.awaitServing(ctx, sluice.Primary); err != nil {
			return err
		}
		if err := r.access.shift(ctx, sluice.CanaryShare(0)); err != nil {
			return err
		}
	}
	return r.access.settle(ctx)
}

// awaitServing waits until all tasks of the variant, at least one, are healthy.
func (r *Run) awaitServing(ctx context.Context, v sluice.Variant) error {
	m, err := r.hosting.standing(ctx, v)
	if err != nil {
		return err
	}
	if m != nil {
		return r.awaitHealthy(ctx, *m, 1)
	}
	return &sluice.Error{Op: "send requests to the " + string(v), Resource: r.hand.Resource(), Kind: sluice.Conflict,
		Err:  fmt.Errorf("there is no %s %s: they would be lost", v, r.hosting.kind()),
		Next: "roll the " + string(v) + " out before requests are sent to it"}
}
