package step

import (
	"context"
	"errors"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// NoTraffic is the traffic provider of a service without callers, such as a worker that reads from
// a queue. It has no shares, and a plan cannot ask for any.
type NoTraffic struct{}

func (NoTraffic) AddToSnapshot(context.Context, *memory.Snapshot) error { return nil }

func (NoTraffic) ResolveRouteDrift(context.Context) error { return nil }

func (NoTraffic) HasRouteDrift(context.Context) (bool, error) { return false, nil }

func (NoTraffic) WeightOf(sluice.Variant) (int, bool) { return 0, true }

func (NoTraffic) AttachmentOf(sluice.Variant) ecs.Attachment { return ecs.Attachment{} }

func (NoTraffic) PrepareCanaryRoute(context.Context) error { return nil }

func (NoTraffic) CanaryGetsTraffic(context.Context) (bool, error) { return false, nil }

func (NoTraffic) RouteAllToPrimary(context.Context) error { return nil }

func (NoTraffic) WaitForPropagation(context.Context) error { return nil }

func (NoTraffic) CountDraining(context.Context, *MemberWatch) (int, error) { return 0, nil }

func (NoTraffic) RestoreRoutes(context.Context) error { return nil }

func (NoTraffic) ObserveTargets(context.Context, *MemberWatch, *verdict.Observation) error {
	return nil
}

func (NoTraffic) SavePlannedShift(context.Context, sluice.Weights) error { return errNoTraffic }

func (NoTraffic) SetWeights(context.Context, sluice.Weights) error { return errNoTraffic }

var errNoTraffic = errors.New("the service gets no traffic: there are no shares to move")

func (NoTraffic) IsUnreachable() bool { return true }
