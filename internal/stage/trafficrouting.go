package stage

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// trafficRouting moves the weights. The side that gets requests must be able to
// take them first: ALB weights do not fail over, so a share on an empty group
// is lost.
func (r *Run) trafficRouting(ctx context.Context) error {
	if _, err := r.begin(ctx); err != nil {
		return err
	}
	to := *r.Stage.Weights
	if err := r.announce(ctx, to); err != nil {
		return err
	}
	if err := r.extend(ctx); err != nil {
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
	return r.shift(ctx, to)
}

// announce saves what the stage is about to do: the canary's group, the
// percentages, the listeners, in this order.
func (r *Run) announce(ctx context.Context, to sluice.Weights) error {
	if err := text(ctx, r.Host, KeyCanaryGroup, r.Plan.Canary.ARN); err != nil {
		return err
	}
	if err := text(ctx, r.Host, KeyPrimaryShare, strconv.Itoa(to.Primary())); err != nil {
		return err
	}
	if err := text(ctx, r.Host, KeyCanaryShare, strconv.Itoa(to.Canary())); err != nil {
		return err
	}
	return r.listeners(ctx)
}

// listeners uses the listeners that an earlier stage saved, else those of the
// plan. Their rules are read anew in any case.
func (r *Run) listeners(ctx context.Context) error {
	cached, ok, err := r.Host.Load(ctx, KeyListeners)
	if err != nil {
		return fmt.Errorf("read what was saved as %s: %w", KeyListeners, err)
	}
	if ok && len(cached) > 0 {
		r.rules.Listeners = strings.Split(string(cached), ",")
		return nil
	}
	if len(r.rules.Listeners) == 0 {
		return &sluice.Error{Op: "find the listeners", Resource: r.Plan.Primary.ARN, Kind: sluice.NotFound, Err: errors.New("no listener forwards to the primary target group"),
			Next: "add both target groups to a listener rule"}
	}
	return text(ctx, r.Host, KeyListeners, strings.Join(r.rules.Listeners, ","))
}

// awaitServing waits until the variant's task set has all its tasks healthy, at
// least one.
func (r *Run) awaitServing(ctx context.Context, v sluice.Variant) error {
	live, err := r.observe(ctx)
	if err != nil {
		return err
	}
	set := live.Primary()
	if v == sluice.Canary {
		if set, err = r.canarySet(ctx, live); err != nil {
			return err
		}
	}
	if set == nil {
		return &sluice.Error{Op: "send requests to the " + string(v), Resource: r.hand.Resource(), Kind: sluice.Conflict,
			Err:  fmt.Errorf("there is no %s task set: they would be lost", v),
			Next: "roll the " + string(v) + " out before requests are sent to it"}
	}
	return r.awaitHealthy(ctx, v, set.ID, 1)
}
