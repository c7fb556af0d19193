package canaryservice

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/rolling"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

func (s services) SnapshotCanary(ctx context.Context) (*memory.CanaryService, error) {
	// ECS_ADOPT removes the canary first, which a stale read may not show.
	if !s.step.Plan.Mode().HasCanaryService() || s.step.Plan.Adopts() {
		return nil, nil
	}
	live, err := s.canary.Observe(ctx)
	if err != nil || !live.IsActive() || live.CreatedBy() == "" {
		return nil, err
	}
	_, revision := live.PrimaryDeployment()
	return &memory.CanaryService{CreatedBy: live.CreatedBy(), Revision: revision, Count: live.Desired}, nil
}

// RestorePrimary returns an updated service to its former revision. A service that was not updated
// is left unchanged. Traffic moves back when the tasks that get it are healthy.
func (s services) RestorePrimary(ctx context.Context, _ *ecs.ServiceState) error {
	_, begun, err := rolling.LoadUpdate(ctx, s.step)
	if err != nil {
		return err
	}
	if begun {
		if err := s.bridgeRollback(ctx); err != nil {
			return err
		}
		if err := rolling.RollBack(ctx, s.step); err != nil {
			return err
		}
	}
	if err := s.restoreCanary(ctx); err != nil {
		return err
	}
	return s.step.Access.RestoreRoutes(ctx)
}

// restoreCanary restores the canary service of an earlier deployment: the former shares may include
// it.
func (s services) restoreCanary(ctx context.Context) error {
	was := s.step.Snapshot.Canary
	if was == nil {
		return nil
	}
	if err := s.awaitNameFree(ctx); err != nil {
		return err
	}
	now, err := s.observeFormerCanary(ctx)
	if err != nil {
		return err
	}
	by := was.CreatedBy
	if !now.IsActive() {
		if by, err = s.step.RestoredID(ctx); err != nil { // AWS answers the former token with the deleted service
			return err
		}
	}
	primary, err := s.step.ObserveService(ctx)
	if err != nil {
		return err
	}
	template, _ := definition.NewCanaryService(s.step.Service, &primary.Raw)
	now, _, err = s.canary.EnsureService(ctx, s.step.MakeWrite, ecs.CanarySpec{By: by, Template: template,
		Count:  was.Count,
		Attach: s.step.Access.AttachmentOf(sluice.Canary), ForceWrite: true,
		Revision: ecs.Revision{ARN: was.Revision, Name: was.Revision}})
	if err != nil {
		return err
	}
	m := s.canaryMember(now)
	m.Revision = was.Revision
	return step.AdvanceRestoredID(ctx, s.step, capacity.AwaitRestored(ctx, s.step, capacity.Restored{Member: m}))
}

// observeFormerCanary reads the canary service of an earlier deployment. It exists unless this
// deployment deleted it, and then this deployment may have created the next one. A read that shows
// otherwise may be older than our last write.
func (s services) observeFormerCanary(ctx context.Context) (now *ecs.ServiceState, err error) {
	saved, err := s.step.Memory.Canary.Load(ctx)
	if err != nil {
		return nil, err
	}
	ours, err := s.step.CanaryID(ctx)
	if err != nil {
		return nil, err
	}
	err = s.step.ReadUntil(ctx, s.step.Clock.Now(), func(ctx context.Context) (bool, error) {
		now, err = s.canary.Observe(ctx)
		return now.IsActive() == (saved.Generation == 0) || now.IsActive() && now.CreatedBy() == ours, err
	})
	return now, err
}

// ListCreated is the canary service if this deployment created it. One that it took over is
// restored already.
func (s services) ListCreated(ctx context.Context) ([]step.Member, error) {
	if s.step.Snapshot != nil && s.step.Snapshot.Canary != nil {
		return nil, nil
	}
	canary, err := step.FindOwnCanary(ctx, s.step)
	if err != nil || canary == nil || sluice.ActionID(canary.ExternalID).Deployment() != s.step.Deployment {
		return nil, err
	}
	return []step.Member{*canary}, nil
}
