package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// canaryClean takes the canary away: weight 0, every node knows, drained,
// deleted, rules back to their former shape. An old primary that was kept warm
// goes too. Without a canary there is nothing to do.
func (r *Run) canaryClean(ctx context.Context) error {
	live, err := r.begin(ctx)
	if err != nil {
		return err
	}
	if err := r.takeTraffic(ctx); err != nil {
		return err
	}
	set, err := r.canarySet(ctx, live)
	if err != nil {
		return err
	}
	if set != nil {
		if err := r.retire(ctx, *set, plan.CanarySet); err != nil {
			return err
		}
	}
	if err := r.retireKept(ctx); err != nil {
		return err
	}
	if err := r.reshape(ctx); err != nil {
		return err
	}
	return r.nextGeneration(ctx)
}

// nextGeneration lets a later rollout of this deployment make a canary of its
// own: the one of this generation is gone.
func (r *Run) nextGeneration(ctx context.Context) error {
	by, err := r.canaryID(ctx)
	if err != nil {
		return err
	}
	rolledOut, ok, err := r.Host.Load(ctx, KeyCanarySet)
	if err != nil || !ok || string(rolledOut) != string(by) {
		return err
	}
	n, _, err := saved[int](ctx, r.Host, keyGeneration)
	if err != nil {
		return err
	}
	return save(ctx, r.Host, keyGeneration, n+1)
}

// takeTraffic moves all weight to the primary and waits until every node of the
// load balancer must know.
func (r *Run) takeTraffic(ctx context.Context) error {
	choice, err := r.rules.Choose(ctx)
	if err != nil {
		return err
	}
	for _, rule := range choice.Steered {
		if r.sendsToCanary(rule) {
			if err := r.awaitServing(ctx, sluice.Primary); err != nil {
				return err
			}
			if err := r.shift(ctx, sluice.CanaryShare(0)); err != nil {
				return err
			}
			break
		}
	}
	return r.settle(ctx)
}

func (r *Run) retireKept(ctx context.Context) error {
	old, ok, err := saved[string](ctx, r.Host, keyKeptOld)
	if err != nil || !ok {
		return err
	}
	return r.retireStanding(ctx, old, plan.OldPrimarySet)
}

// reshape gives rules that were extended their former actions back, and the
// others the former weights if those were all on the primary.
func (r *Run) reshape(ctx context.Context) error {
	live, err := r.rules.Rules(ctx)
	if err != nil {
		return err
	}
	for _, was := range r.former.Rules {
		if r.sendsToCanary(was) {
			continue
		}
		for _, now := range live {
			if now.ARN != was.ARN || alb.Print(now.Actions) == alb.Print(was.Actions) {
				continue
			}
			if err := r.intend(ctx, now.ARN, now.Name(), alb.Print(now.Actions), alb.Print(was.Actions)); err != nil {
				return err
			}
			if err := r.rules.Write(ctx, r.act, now, was.Actions); err != nil {
				return err
			}
		}
	}
	return nil
}
