package stage

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// adoptLeftovers cleans up after a deployment whose journal is lost. It claims the service, sends
// all traffic to the PRIMARY task set and deletes every other task set made by sluice. It does not
// restore earlier weights, because they are unknown.
func adoptLeftovers(ctx context.Context, s *step.Step) error {
	live, err := begin.FindActiveService(ctx, s)
	if err != nil || live == nil {
		return err
	}
	left, err := previousClaim(ctx, s, live)
	if err != nil {
		return err
	}
	if err := begin.ClaimAndSuspend(ctx, s, live); err != nil {
		return err
	}
	if note := codeOf(s.Plan.Mode()).adoptNote; note != "" {
		s.EmitNote("%s", note)
		return nil
	}
	claimed := s.WroteAt
	serving, err := step.FindVariant(ctx, s, sluice.Primary)
	if err != nil {
		return err
	}
	if serving == nil {
		s.EmitNote("no task set is PRIMARY: sluice deletes the leftovers once the new task set serves")
		return nil
	}
	if err := sendAllToPrimary(ctx, s, *serving); err != nil {
		return err
	}
	return retireLeftovers(ctx, s, cmp.Or(left.Former, s.Plan.PreviousSet), claimed)
}

// previousClaim returns the claim that was on the service before ours. It names the task set that
// served. previousClaim saves it, because our claim replaces it.
func previousClaim(ctx context.Context, s *step.Step, live *ecs.ServiceState) (plan.Claim, error) {
	saved, err := s.Memory.Claim.Load(ctx)
	if err != nil {
		return plan.Claim{}, err
	}
	if saved.Previous != nil {
		return *saved.Previous, nil
	}
	left, _ := plan.ParseClaim(live.Tags[plan.ClaimTag]) // a tag that cannot be parsed is ignored
	if left.Deployment == s.Deployment {
		return left, nil
	}
	saved.Previous = &left
	return left, s.Memory.Claim.Save(ctx, saved)
}

// restoreCapacity scales a primary that is at 0 up again, and reports whether it did.
func restoreCapacity(ctx context.Context, s *step.Step, serving step.Member) (revived bool, err error) {
	if h, ok := s.Hosting.(step.Promotions); ok {
		return h.RestoreCapacity(ctx, serving)
	}
	return false, nil
}

// sendAllToPrimary sends every request to the PRIMARY member once that can serve them. It keeps the
// shape of the routes.
func sendAllToPrimary(ctx context.Context, s *step.Step, serving step.Member) error {
	revived, err := restoreCapacity(ctx, s, serving)
	if err != nil {
		return err
	}
	sends, err := s.Access.CanaryGetsTraffic(ctx)
	if err != nil || !sends && !revived {
		return err
	}
	if serving.TargetGroup != "" && serving.TargetGroup == s.Access.AttachmentOf(sluice.Canary).TargetGroup {
		return &sluice.Error{Op: "adopt the service", Resource: serving.ID, Kind: sluice.Conflict,
			Err: fmt.Errorf("the PRIMARY task set is in the canary's target group: routing all traffic to the " +
				"primary's target group would lose requests"),
			Next: "create a task set in the primary's target group and make it PRIMARY, then deploy again"}
	}
	if err := capacity.AwaitHealthy(ctx, s, serving, 1); err != nil || !sends {
		return err
	}
	return s.Access.RouteAllToPrimary(ctx)
}

// retireLeftovers drains and deletes every member that lost deployments created and that still
// runs. former is the ID of the task set that served before; the lost deployment would have deleted
// it. AWS reports no write of a lost deployment, so only time proves that a read shows it. Lost
// deployments wrote nothing after our claim, which was written at claimed.
func retireLeftovers(ctx context.Context, s *step.Step, former string, claimed time.Time) error {
	if err := s.Access.WaitForPropagation(ctx); err != nil {
		return err
	}
	live, err := s.ReadAfter(ctx, step.WriteProof{WriteName: "the resources of lost deployments", SentAt: claimed,
		Shows: func(*ecs.ServiceState) bool { return false }})
	if err != nil {
		return err
	}
	left, err := s.Hosting.ListLeftovers(ctx, live, former)
	if err != nil {
		return err
	}
	for _, m := range left {
		s.EmitNote("%s %s of %s is a leftover of another deployment; sluice deletes it", s.Hosting.KindName(), m.ID,
			m.Revision)
	}
	return capacity.Retire(ctx, s, left...)
}
