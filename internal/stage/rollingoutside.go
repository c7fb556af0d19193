package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// reassertions are how often a revision is asked for again: two that insist would
// start tasks for ever.
const reassertions = 3

// followOurs follows our deployment to its end, and answers if somebody else asks for
// another meanwhile.
func (r *Run) followOurs(ctx context.Context, rev ecs.Revision, ours asked) error {
	for n := 0; ; n++ {
		after := ours.proof(r.Clock.Now())
		live, err := r.readAfter(ctx, after)
		if err != nil {
			return err
		}
		err = r.follow(ctx, rev.Name, ours.name(live), after)
		if sluice.KindOf(err) != sluice.Overtaken || n == reassertions {
			return err
		}
		if rev, ours, err = r.displaced(ctx, rev, err); err != nil {
			return err
		}
	}
}

// displaced answers a deployment that somebody else asked for in the place of
// ours, as onOutsideChange says, and tells what is followed from then on. With stop
// it is why: ECS brings theirs, without losing a request, and it is left to them.
func (r *Run) displaced(ctx context.Context, rev ecs.Revision, why error) (ecs.Revision, asked, error) {
	policy := r.Plan.OnOutsideChange
	if policy != sluice.ReassertChange && policy != sluice.AdoptChange {
		return rev, asked{}, why
	}
	live, err := r.observe(ctx)
	if err != nil {
		return rev, asked{}, err
	}
	id, revision := live.PrimaryDeployment()
	if policy == sluice.AdoptChange {
		r.warn("somebody else asked for %s (deployment %s); that is followed now (onOutsideChange: adopt)", revision, id)
		ours := asked{Before: id, Deployment: id, ARN: live.Current()}
		return ecs.Revision{ARN: revision, Name: revision}, ours, save(ctx, r.Host, keyAsked, ours)
	}
	r.warn("somebody else asked for %s (deployment %s); %s is asked for again (onOutsideChange: reassert)", revision, id, rev.Name)
	if err := save(ctx, r.Host, keyAsked, asked{Before: id, Current: live.Current()}); err != nil {
		return rev, asked{}, err
	}
	ours, err := r.ask(ctx, live, rev)
	return rev, ours, err
}

// displacedWhileWaiting is displaced for a stage that only waits.
func (r *Run) displacedWhileWaiting(ctx context.Context, live *ecs.Live, ours asked) error {
	id, revision := live.PrimaryDeployment()
	why := &sluice.Error{Op: "watch the service", Resource: r.hand.Resource(), Kind: sluice.Overtaken,
		Err: fmt.Errorf("another deployment (%s of %s) took the place of ours (%s)", id, revision, ours.Deployment), Next: "sluice status shows what runs"}
	rev, err := r.revision(ctx)
	if err != nil {
		return err
	}
	rev, ours, err = r.displaced(ctx, rev, why)
	if err != nil {
		return err
	}
	return r.followOurs(ctx, rev, ours)
}
