package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// maxReassertions is how often a revision is requested again. Two actors that both insist would
// start tasks endlessly.
const reassertions = 3

// followOurDeployment follows our deployment to its end. It handles another actor's deployment that
// replaces ours.
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

// resolveSuperseded applies onOutsideChange when another actor's deployment replaced ours, and
// returns the deployment to follow. With stop it returns an error: ECS finishes the other
// deployment without losing requests.
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

// resolveSupersededInWait is resolveSuperseded for a stage that only waits.
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
