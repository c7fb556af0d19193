package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/begin"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/scaling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// runRollback restores the snapshot. It succeeds only if the former version serves.
func runRollback(ctx context.Context, s *step.Step) error {
	err := restoreSnapshot(ctx, s)
	if err != nil {
		err = restoreInactive(ctx, s, err)
	}
	if err != nil {
		return saveBrokenFormer(ctx, s, err)
	}
	return confirmServing(ctx, s, sluice.RolledBack)
}

// hasWritten is [Run.HasWritten].
func hasWritten(ctx context.Context, s *step.Step) (bool, error) {
	former, ok, err := s.Memory.Snapshot.Find(ctx)
	if err != nil || !s.Plan.Mode().HasService() || ok && !former.Service || !ok && s.Plan.Adopts() {
		return true, err
	}
	if !ok {
		return false, nil
	}
	claim, _, err := s.Memory.Claim.Find(ctx)
	if err != nil || claim.Claimed || claim.TakenOver != nil {
		return true, err
	}
	progress, err := s.Memory.Progress.Load(ctx)
	if err != nil || progress.Done > 0 {
		return true, err
	}
	live, err := s.Client.Observe(ctx)
	if err != nil || live == nil {
		return true, err
	}
	tag, _ := plan.ParseClaim(live.Tags[plan.ClaimTag]) // another tool's value is not ours
	return tag.Deployment == s.Deployment, nil
}

// restoreSnapshot restores shares, capacity and service attributes of the snapshot. If the former
// primary still runs, traffic moves back immediately. Otherwise it is started first, and traffic
// moves when it is healthy.
func restoreSnapshot(ctx context.Context, s *step.Step) error {
	former, ok, err := s.Memory.Snapshot.Find(ctx)
	if err == nil && !ok && s.Plan.Adopts() {
		return adoptLeftovers(ctx, s) // no other write was made, and adopting is the safe choice
	}
	if err != nil || !ok {
		return err // no write was made
	}
	live, err := begin.FindActiveService(ctx, s)
	if err != nil {
		return err
	}
	if live == nil && !former.Service {
		return nil // as it was before
	}
	if live == nil {
		return step.ErrServiceDeleted(s)
	}
	if err := dropDeletedName(ctx, s); err != nil {
		return err
	}
	if err := begin.LoadSnapshot(ctx, s, live); err != nil {
		return err
	}
	if err := scaling.SaveRollback(ctx, s); err != nil {
		return err
	}
	if s.Plan.Stages[0].SetsScaling() {
		return begin.ClaimAndSuspend(ctx, s, live)
	}
	return codeOf(s.Plan.Mode()).rollBack(ctx, s, live)
}

// rollBackVariants restores the primary and its traffic, and removes what the deployment created.
func rollBackVariants(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	if err := begin.ClaimAndSuspend(ctx, s, live); err != nil {
		return err
	}
	if r, ok := s.Access.(step.CanaryRules); ok {
		if err := r.RerouteEmptyCanary(ctx); err != nil {
			return err
		}
	}
	if err := s.Hosting.RestorePrimary(ctx, live); err != nil {
		return handleUnrestored(ctx, s, err)
	}
	if err := removeCreated(ctx, s); err != nil {
		return err
	}
	if a, ok := s.Access.(slowAccess); ok {
		if err := a.DetachCanary(ctx); err != nil {
			return err
		}
	}
	return reportDeleted(ctx, s)
}

// slowAccess is an access whose routes keep the canary until it is removed: callers follow a write
// only after minutes.
type slowAccess interface {
	// DetachCanary removes the canary from the routes that Access.RestoreRoutes left it in.
	DetachCanary(ctx context.Context) error
}

// removeCreated removes what the deployment created, once no caller is sent to it.
func removeCreated(ctx context.Context, s *step.Step) error {
	if err := s.Access.WaitForPropagation(ctx); err != nil {
		return err
	}
	if !s.HasAwaitedReadLag() {
		if err := s.AwaitReadLag(ctx); err != nil {
			return err
		}
	}
	if err := step.RepromotePrimary(ctx, s.Hosting); err != nil {
		return err
	}
	made, err := s.Hosting.ListCreated(ctx)
	if err != nil {
		return err
	}
	for _, m := range made {
		if m.Variant != sluice.Canary {
			continue
		}
		switch err := step.CheckCanaryUnrouted(ctx, s.Access, m); {
		case sluice.KindOf(err) == sluice.OutsideChange:
			return retireExcept(ctx, s, made, m, err)
		case err != nil:
			return err
		}
	}
	if len(made) == 0 {
		return nil
	}
	if err := capacity.Retire(ctx, s, made...); err != nil {
		return err
	}
	return step.RepromotePrimary(ctx, s.Hosting) // the removal took minutes
}

// retireExcept retires what the deployment created, except the member that must stay. It returns
// the reason why that member stays.
func retireExcept(ctx context.Context, s *step.Step, made []step.Member, stays step.Member, why error) error {
	rest := slices.DeleteFunc(slices.Clone(made), func(m step.Member) bool { return m.ID == stays.ID })
	if err := capacity.Retire(ctx, s, rest...); err != nil {
		return err
	}
	return why
}
