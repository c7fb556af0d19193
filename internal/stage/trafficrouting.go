package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
)

// trafficRouting moves the weights. The variant that gets requests must first be able to take them.
// ALB weights do not fail over: the share of an empty group is lost.
func (r *Run) trafficRouting(ctx context.Context) error {
	if _, err := r.beginStage(ctx); err != nil {
		return err
	}
	to := *r.Stage.Weights
	if err := r.traffic.savePlannedShift(ctx, to); err != nil {
		return err
	}
	if err := r.traffic.prepareCanaryRoute(ctx); err != nil {
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
	return r.traffic.setWeights(ctx, to)
}

// removeCanaryTraffic moves all requests to the primary and waits until every caller follows.
func (r *Run) removeCanaryTraffic(ctx context.Context) error {
	sends, err := r.traffic.canaryGetsTraffic(ctx)
	if err != nil {
		return err
	}
	if sends {
		if err := r.awaitServing(ctx, sluice.Primary); err != nil {
			return err
		}
		if err := r.traffic.setWeights(ctx, sluice.CanaryShare(0)); err != nil {
			return err
		}
	}
	return r.traffic.waitForPropagation(ctx)
}

// awaitServing waits until all tasks of the variant, at least one, are healthy.
func (r *Run) awaitServing(ctx context.Context, v sluice.Variant) error {
	m, err := r.hosting.findVariant(ctx, v)
	if err != nil {
		return err
	}
	if m != nil {
		return r.awaitHealthy(ctx, *m, 1)
	}
	return &sluice.Error{Op: "send requests to the " + string(v), Resource: r.client.Resource(), Kind: sluice.Conflict,
		Err:  fmt.Errorf("the service has no %s %s: the requests would be lost", v, r.hosting.kindName()),
		Next: "roll the " + string(v) + " out before requests are sent to it"}
}
