package stage

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// maxReassertions is how often a revision is requested again. Two actors that both insist would
// start tasks endlessly.
const maxReassertions = 3

// followOurDeployment follows our deployment to its end. It handles another actor's deployment that
// replaces ours.
func (r *Run) followOurDeployment(ctx context.Context, rev ecs.Revision, ours updateRequest) error {
	for n := 0; ; n++ {
		after := ours.proofAt(r.Clock.Now())
		live, err := r.readAfter(ctx, after)
		if err != nil {
			return err
		}
		if err := r.tagService(ctx, live); err != nil {
			return err
		}
		err = r.followDeployment(ctx, rev.Name, ours.deploymentName(live), after)
		if sluice.KindOf(err) != sluice.Overtaken || n == maxReassertions {
			return err
		}
		if rev, ours, err = r.resolveSuperseded(ctx, rev, err); err != nil {
			return err
		}
	}
}

// resolveSuperseded applies onOutsideChange when another actor's deployment replaced ours, and
// returns the deployment to follow. With stop it returns an error: ECS finishes the other
// deployment without losing requests.
func (r *Run) resolveSuperseded(ctx context.Context, rev ecs.Revision, why error) (ecs.Revision, updateRequest, error) {
	policy := r.Plan.OnOutsideChange
	if policy != sluice.ReassertChange && policy != sluice.AdoptChange {
		return rev, updateRequest{}, why
	}
	live, err := r.observeService(ctx)
	if err != nil {
		return rev, updateRequest{}, err
	}
	id, serving := live.PrimaryDeployment()
	if policy == sluice.AdoptChange {
		r.emitWarning("external change: %s was deployed (deployment %s). sluice follows it (onOutsideChange: adopt)",
			serving, id)
		ours := updateRequest{Before: id, Deployment: id, ARN: live.CurrentDeployment()}
		return ecs.Revision{ARN: serving, Name: serving}, ours, r.saveUpdate(ctx, ours)
	}
	r.emitWarning("external change: %s was deployed (deployment %s). sluice deploys %s again (onOutsideChange: "+
		"reassert)", serving, id, rev.Name)
	if err := r.saveUpdate(ctx, updateRequest{Before: id, Current: live.CurrentDeployment()}); err != nil {
		return rev, updateRequest{}, err
	}
	ours, err := r.requestUpdate(ctx, live, rev)
	return rev, ours, err
}

// resolveSupersededInWait is resolveSuperseded for a stage that only waits.
func (r *Run) resolveSupersededInWait(ctx context.Context, live *ecs.ServiceState, ours updateRequest) error {
	id, serving := live.PrimaryDeployment()
	why := &sluice.Error{Op: "monitor the service", Resource: r.client.Resource(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("another deployment (%s of %s) replaced this one (%s)", id, serving, ours.Deployment),
		Next: "run sluice status to see what is running"}
	rev, err := r.ensureRevision(ctx)
	if err != nil {
		return err
	}
	rev, ours, err = r.resolveSuperseded(ctx, rev, why)
	if err != nil {
		return err
	}
	return r.followOurDeployment(ctx, rev, ours)
}
