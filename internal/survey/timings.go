package survey

import (
	"cmp"
	"context"
	"slices"

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
	var kind plan.BalancerType
	for _, group := range groupsOfTasks(p, live) {
		place, err := alb.FindGroup(ctx, a.ELB(), group)
		if err != nil {
			return t, err
		}
		t.Drain = max(t.Drain, place.Drain)
		kind = cmp.Or(place.Type, kind) // no balancer has CodeDeploy's other group between deployments
		if kind == plan.ApplicationBalancer && place.Drain == 0 {
			t.Undrained = append(t.Undrained, place.Group)
		}
	}
	return t, nil
}

// groupsOfTasks returns the target groups in which tasks are or will be: those of the service, and with CodeDeploy also the
// other one of its pair.
func groupsOfTasks(p *plan.Plan, live plan.AWSState) (all []string) {
	for _, lb := range live.Service.LoadBalancers {
		if lb.TargetGroupArn != nil {
			all = append(all, *lb.TargetGroupArn)
		}
	}
	if p.CodeDeploy == nil {
		return all
	}
	for _, g := range p.Callers.Groups {
		if !slices.Contains(all, g.ARN) {
			all = append(all, g.ARN)
		}
	}
	return all
}
