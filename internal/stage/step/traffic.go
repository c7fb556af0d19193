package step

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/view"
)

// ReadTraffic reads where callers of the service are sent. live is its state: a strategy of ECS's own moves the requests to
// a group that the plan may not know.
func (s *Step) ReadTraffic(ctx context.Context, live *ecs.ServiceState) (view.Traffic, error) {
	return alb.ReadTraffic(ctx, s.Account.ELB(), s.Clock, s.Plan.Scope.With(live.TrafficScope()), s.Plan.Callers)
}
