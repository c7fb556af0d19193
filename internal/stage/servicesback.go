package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// canarySnapshot is the canary service of an earlier deployment, as it was before this one.
type formerCanary struct {
	By       sluice.ActionID `json:"by"`       // action that created it
	Revision string          `json:"revision"` // family:revision
	Count    int             `json:"count"`
}

func (s services) remember(ctx context.Context) (*formerCanary, error) {
	if !s.Plan.Beside() || s.Plan.Adopts() { // ECS_ADOPT removes it first, which a stale read may not show
		return nil, nil
	}
	live, err := s.beside.Observe(ctx)
	if err != nil || !live.Stands() || live.Maker() == "" {
		return nil, err
	}
	_, revision := live.PrimaryDeployment()
	return &formerCanary{By: live.Maker(), Revision: revision, Count: live.Desired}, nil
}

// restorePrimary returns an updated service to its former revision. A service that was not updated
// is left unchanged. Traffic moves back when the tasks that get it are healthy.
func (s services) restore(ctx context.Context, _ *ecs.Live) error {
	_, begun, err := s.Host.Load(ctx, keyAsked)
	if err != nil {
		return err
	}
	if begun {
		if err := s.bridge(ctx); err != nil {
			return err
		}
		if err := s.rollBack(ctx); err != nil {
			return err
		}
	}
	if err := s.restoreCanary(ctx); err != nil {
		return err
	}
	return s.access.restore(ctx)
}

// restoreCanary restores the canary service of an earlier deployment: the former shares may include
// it.
func (s services) restoreCanary(ctx context.Context) error {
	was := s.former.Canary
	if was == nil {
		return nil
	}
	if err := s.awaitName(ctx); err != nil {
		return err
	}
	now, err := s.observeFormer(ctx)
	if err != nil {
		return err
	}
	by := was.By
	if !now.Stands() {
		if by, err = s.restoredID(ctx); err != nil { // AWS answers the former token with the deleted service
			return err
		}
	}
	primary, err := s.observe(ctx)
	if err != nil {
		return err
	}
	template, _ := definition.Beside(s.service, &primary.Raw)
	now, _, err = s.beside.EnsureService(ctx, s.act, ecs.WantedBeside{By: by, Template: template, Count: was.Count, Attach: s.access.attach(sluice.Canary), Anew: true,
		Revision: ecs.Revision{ARN: was.Revision, Name: was.Revision}})
	if err != nil {
		return err
	}
	m := s.canaryOf(now)
	m.Revision = was.Revision
	return s.restoredAgain(ctx, s.awaitBack(ctx, m))
}

// observeFormerCanary reads the canary service of an earlier deployment. It exists unless this
// deployment deleted it, and then this deployment may have created the next one. A read that shows
// otherwise may be older than our last write.
func (s services) observeFormer(ctx context.Context) (now *ecs.Live, err error) {
	deleted, _, err := saved[int](ctx, s.Host, keyGeneration)
	if err != nil {
		return nil, err
	}
	ours, err := s.canaryID(ctx)
	if err != nil {
		return nil, err
	}
	err = s.readUntil(ctx, s.Clock.Now(), func(ctx context.Context) (bool, error) {
		now, err = s.beside.Observe(ctx)
		return now.Stands() == (deleted == 0) || now.Stands() && now.Maker() == ours, err
	})
	return now, err
}

// repromotePrimary has no work: a service cannot be promoted.
func (s services) stays(context.Context) error { return nil }

// listCreated is the canary service if this deployment created it. One that it took over is
// restored already.
func (s services) made(ctx context.Context) ([]member, error) {
	if s.former != nil && s.former.Canary != nil {
		return nil, nil
	}
	canary, err := s.standingCanary(ctx)
	if err != nil || canary == nil || sluice.ActionID(canary.ExternalID).Deployment() != s.Deployment {
		return nil, err
	}
	return []member{*canary}, nil
}
