package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// isRollback reports whether the stage is the rollback. Its index is after the other stages.
func (r *Run) isRollback() bool { return r.Stage.Index >= len(r.Plan.Stages) }

// runRollback restores the snapshot. It succeeds only if the former version serves.
func (r *Run) runRollback(ctx context.Context) error {
	if err := r.restoreSnapshot(ctx); err != nil {
		return r.handleInactiveRevision(ctx, err)
	}
	return r.Confirm(ctx, sluice.RolledBack)
}

// restoreSnapshot restores shares, capacity and service attributes of the snapshot. If the former
// primary still runs, traffic moves back immediately. Otherwise it is started first, and traffic
// moves when it is healthy.
func (r *Run) restoreSnapshot(ctx context.Context) error {
	former, ok, err := r.memory.Snapshot.Find(ctx)
	if err == nil && !ok && r.Plan.Adopts() {
		return r.adoptLeftovers(ctx) // no other write was made, and adopting is the safe choice
	}
	if err != nil || !ok {
		return err // no write was made
	}
	live, err := r.findActiveService(ctx)
	if err != nil {
		return err
	}
	if live == nil && !former.Service {
		return nil // as it was before
	}
	if live == nil {
		return r.errServiceDeleted()
	}
	if err := r.dropDeletedName(ctx); err != nil {
		return err
	}
	if err := r.loadSnapshot(ctx, live); err != nil {
		return err
	}
	if err := r.saveScalingRollback(ctx); err != nil {
		return err
	}
	if r.Plan.Stages[0].SetsScaling() {
		return r.claimAndSuspend(ctx, live)
	}
	return r.code.rollBack(r, ctx, live)
}

// rollBackVariants restores the primary and its traffic, and removes what the deployment created.
func (r *Run) rollBackVariants(ctx context.Context, live *ecs.ServiceState) error {
	if err := r.claimAndSuspend(ctx, live); err != nil {
		return err
	}
	if err := r.traffic.rerouteEmptyCanary(ctx); err != nil {
		return err
	}
	if err := r.hosting.restorePrimary(ctx, live); err != nil {
		return r.handleUnrestored(ctx, err)
	}
	if err := r.removeCreated(ctx); err != nil {
		return err
	}
	return r.reportDeleted(ctx)
}

// removeCreated removes what the deployment created, once no caller is sent to it.
func (r *Run) removeCreated(ctx context.Context) error {
	if err := r.traffic.waitForPropagation(ctx); err != nil {
		return err
	}
	if err := r.awaitReadLag(ctx); err != nil {
		return err
	}
	if err := r.hosting.repromotePrimary(ctx); err != nil {
		return err
	}
	made, err := r.hosting.listCreated(ctx)
	if err != nil {
		return err
	}
	for _, m := range made {
		if m.variant != sluice.Canary {
			continue
		}
		switch err := r.traffic.checkCanaryUnrouted(ctx, m); {
		case sluice.KindOf(err) == sluice.OutsideChange:
			return r.retireExcept(ctx, made, m, err)
		case err != nil:
			return err
		}
	}
	if len(made) == 0 {
		return nil
	}
	if err := r.retireMembers(ctx, made...); err != nil {
		return err
	}
	return r.hosting.repromotePrimary(ctx) // the removal took minutes
}

// retireExcept retires what the deployment created, except the member that must stay. It returns
// the reason why that member stays.
func (r *Run) retireExcept(ctx context.Context, made []member, stays member, why error) error {
	rest := slices.DeleteFunc(slices.Clone(made), func(m member) bool { return m.ID == stays.ID })
	if err := r.retireMembers(ctx, rest...); err != nil {
		return err
	}
	return why
}
