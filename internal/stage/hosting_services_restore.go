package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

func (s services) snapshotCanary(ctx context.Context) (*memory.CanaryService, error) {
	if !s.Plan.Mode().HasCanaryService() || s.Plan.Adopts() { // ECS_ADOPT removes it first, which a stale read may not show
		return nil, nil
	}
	live, err := s.canary.Observe(ctx)
	if err != nil || !live.IsActive() || live.CreatedBy() == "" {
		return nil, err
	}
	_, revision := live.PrimaryDeployment()
	return &memory.CanaryService{CreatedBy: live.CreatedBy(), Revision: revision, Count: live.Desired}, nil
}

// restorePrimary returns an updated service to its former revision. A service that was not updated
// is left unchanged. Traffic moves back when the tasks that get it are healthy.
func (s services) restorePrimary(ctx context.Context, _ *ecs.ServiceState) error {
	_, begun, err := s.loadUpdate(ctx)
	if err != nil {
		return err
	}
	if begun {
		if err := s.bridgeRollback(ctx); err != nil {
			return err
		}
		if err := s.rollBackService(ctx); err != nil {
			return err
		}
	}
	if err := s.restoreCanary(ctx); err != nil {
		return err
	}
	return s.traffic.restoreRoutes(ctx)
}

// restoreCanary restores the canary service of an earlier deployment: the former shares may include
// it.
func (s services) restoreCanary(ctx context.Context) error {
	was := s.snapshot.Canary
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
		if by, err = s.restoredID(ctx); err != nil { // AWS answers the former token with the deleted service
			return err
		}
	}
	primary, err := s.observeService(ctx)
	if err != nil {
		return err
	}
	template, _ := definition.NewCanaryService(s.service, &primary.Raw)
	now, _, err = s.canary.EnsureService(ctx, s.makeWrite, ecs.CanarySpec{By: by, Template: template, Count: was.Count,
		Attach: s.traffic.attachmentOf(sluice.Canary), ForceWrite: true,
		Revision: ecs.Revision{ARN: was.Revision, Name: was.Revision}})
	if err != nil {
		return err
	}
	m := s.canaryMember(now)
	m.Revision = was.Revision
	return s.advanceRestoredID(ctx, s.awaitRestored(ctx, m))
}

// observeFormerCanary reads the canary service of an earlier deployment. It exists unless this
// deployment deleted it, and then this deployment may have created the next one. A read that shows
// otherwise may be older than our last write.
func (s services) observeFormerCanary(ctx context.Context) (now *ecs.ServiceState, err error) {
	saved, err := s.memory.Canary.Load(ctx)
	if err != nil {
		return nil, err
	}
	ours, err := s.canaryID(ctx)
	if err != nil {
		return nil, err
	}
	err = s.readUntil(ctx, s.Clock.Now(), func(ctx context.Context) (bool, error) {
		now, err = s.canary.Observe(ctx)
		return now.IsActive() == (saved.Generation == 0) || now.IsActive() && now.CreatedBy() == ours, err
	})
	return now, err
}

// repromotePrimary has no work: a service cannot be promoted.
func (s services) repromotePrimary(context.Context) error { return nil }

// listCreated is the canary service if this deployment created it. One that it took over is
// restored already.
func (s services) listCreated(ctx context.Context) ([]member, error) {
	if s.snapshot != nil && s.snapshot.Canary != nil {
		return nil, nil
	}
	canary, err := s.findOwnCanary(ctx)
	if err != nil || canary == nil || sluice.ActionID(canary.ExternalID).Deployment() != s.Deployment {
		return nil, err
	}
	return []member{*canary}, nil
}
