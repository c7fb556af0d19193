package survey

import (
	"context"
	"time"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// ReadTimings reads the inputs of a forecast of the plan's length. It makes no write.
func ReadTimings(ctx context.Context, a *account.Account, p *plan.Plan, live plan.AWSState) (t forecast.Timings,
	err error) {
	if live.Service == nil {
		return t, nil
	}
	t.Tasks = int(live.Service.DesiredCount)
	if t.Start, _, err = (ecs.Service{API: a.ECS(), Cluster: p.Cluster, Name: p.Service}).LaunchTimes(ctx); err != nil {
		return t, err
	}
	if p.Drain > 0 || live.Primary != nil {
		return t, nil
	}
	for _, lb := range live.Service.LoadBalancers {
		if lb.TargetGroupArn == nil {
			continue
		}
		places, err := alb.FindGroups(ctx, a.ELB(), *lb.TargetGroupArn)
		if err != nil {
			return t, err
		}
		if err := places[0].ReadBalancer(ctx, a.ELB()); err != nil {
			return t, err
		}
		t.Drain = max(t.Drain, time.Duration(places[0].Drain)*time.Second)
		if plan.BalancerType(places[0].Type) == plan.ApplicationBalancer && places[0].Drain == 0 {
			t.Undrained = append(t.Undrained, places[0].Group)
		}
	}
	return t, nil
}
