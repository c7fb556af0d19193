package rolling

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// followOurDeployment follows our deployment to its end. It handles another actor's deployment that
// replaces ours.
func followOurDeployment(ctx context.Context, s *step.Step, rev ecs.Revision, ours updateRequest) error {
	for n := 0; ; n++ {
		after := ours.proofAt(s.Clock.Now())
		live, err := s.ReadSharedAfter(ctx, after)
		if err != nil {
			return err
		}
		if err := step.TagService(ctx, s, live); err != nil {
			return err
		}
		err = followDeployment(ctx, s, rev.Name, ours.deploymentName(live), after)
		if sluice.KindOf(err) != sluice.Overtaken || n == step.MaxReassertions {
			return err
		}
		if rev, ours, err = resolveSuperseded(ctx, s, rev, err); err != nil {
			return err
		}
	}
}

// resolveSuperseded applies onOutsideChange when another actor's deployment replaced ours, and
// returns the deployment to follow. With stop it returns an error: ECS finishes the other
// deployment without losing requests.
func resolveSuperseded(ctx context.Context, s *step.Step, rev ecs.Revision, why error) (ecs.Revision, updateRequest,
	error) {
	policy := s.Plan.OnOutsideChange
	if policy != sluice.ReassertChange && policy != sluice.AdoptChange {
		return rev, updateRequest{}, why
	}
	live, err := s.ObserveService(ctx)
	if err != nil {
		return rev, updateRequest{}, err
	}
	id, serving := live.PrimaryDeployment()
	if policy == sluice.AdoptChange {
		s.EmitWarning("external change: %s was deployed (deployment %s). sluice follows it (onOutsideChange: adopt)",
			serving, id)
		ours := updateRequest{Before: id, Deployment: id, ARN: live.CurrentDeployment()}
		return ecs.Revision{ARN: serving, Name: serving}, ours, saveUpdate(ctx, s, ours)
	}
	s.EmitWarning("external change: %s was deployed (deployment %s). sluice deploys %s again (onOutsideChange: "+
		"reassert)", serving, id, rev.Name)
	if err := saveUpdate(ctx, s, updateRequest{Before: id, Current: live.CurrentDeployment()}); err != nil {
		return rev, updateRequest{}, err
	}
	ours, err := requestUpdate(ctx, s, live, rev)
	return rev, ours, err
}

// ResolveSupersededInWait is resolveSuperseded for a stage that only waits.
func ResolveSupersededInWait(ctx context.Context, s *step.Step, live *ecs.ServiceState, ours updateRequest) error {
	id, serving := live.PrimaryDeployment()
	why := &sluice.Error{Op: "monitor the service", Resource: s.Client.Resource(), Kind: sluice.Overtaken,
		Err:  fmt.Errorf("another deployment (%s of %s) replaced this one (%s)", id, serving, ours.Deployment),
		Next: "run sluice status to see what is running"}
	rev, err := revision.Ensure(ctx, s)
	if err != nil {
		return err
	}
	rev, ours, err = resolveSuperseded(ctx, s, rev, why)
	if err != nil {
		return err
	}
	return followOurDeployment(ctx, s, rev, ours)
}
