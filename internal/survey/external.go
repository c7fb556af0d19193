package survey

import (
	"cmp"
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// TrafficState is what one read shows of an application's target groups and rules.
type TrafficState struct {
	places       []alb.GroupPlace // they change rarely
	groups       []groupTargets
	steeredRules []sluice.Rule
	listeners    *alb.ListenerCache
}

// ReadTraffic reads the targets and rules of an application. It reads the groups only if before
// lacks them.
func ReadTraffic(ctx context.Context, a *account.Account, app *appfile.Application,
	before *TrafficState) (*TrafficState, error) {
	t := &TrafficState{listeners: &alb.ListenerCache{}}
	if before != nil && before.listeners != nil {
		t.places, t.listeners = before.places, before.listeners
	}
	var err error
	if len(t.places) == 0 {
		if t.places, err = findGroups(ctx, a, app, t.listeners); err != nil || len(t.places) == 0 {
			return t, err
		}
	}
	if t.groups, err = readGroups(ctx, a, t.places); err != nil {
		return nil, err
	}
	var live plan.AWSState
	_, err = surveyRules(ctx, a, app, t.places, t.listeners, &live)
	t.steeredRules = live.Steered
	return t, err
}

// AddRequests adds the routes of a service that was read already: the instances registered under
// its name, the targets of its groups and the weights of its rules. addresses are those of its
// tasks, as far as they were read.
func AddRequests(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application, t *TrafficState,
	addresses map[string]bool, live *plan.AWSState) error {
	if err := surveyNames(ctx, a, c, app, live); err != nil {
		return err
	}
	live.Steered = t.steeredRules
	if len(otherTargets(t.groups, addresses)) == 0 {
		return nil
	}
	var err error
	live.Foreign, err = findOtherTargets(ctx, a, app, t.groups)
	return err
}

// surveyOtherTargets finds targets in the application's groups that are no task of the service or
// of its canary service. Two reads must show a target: tasks start and stop, and AWS's answers lag.
func surveyOtherTargets(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application,
	groups []groupTargets, live *plan.AWSState) error {
	if live.IsNewService() && len(groups) == 0 { // it has no tasks yet, and the reads are optional
		if live.Foreign = otherTargets(joinedGroups(ctx, a, app), nil); len(live.Foreign) > 0 {
			surveyOwners(ctx, a, app, live)
		}
		return nil
	}
	found, err := findOtherTargets(ctx, a, app, groups)
	if err != nil || len(found) == 0 {
		return err
	}
	if err := c.Sleep(ctx, ecs.ReadLag); err != nil {
		return err
	}
	for i := range groups {
		if groups[i].targets, err = alb.ReadHealth(ctx, a.ELB(), groups[i].place.Group); err != nil {
			return err
		}
	}
	again, err := findOtherTargets(ctx, a, app, groups)
	live.Foreign = plan.ExternalInBoth(found, again)
	if len(live.Foreign) > 0 {
		surveyOwners(ctx, a, app, live)
	}
	return err
}

// joinedGroups returns the groups of the service definition, with their targets, in which a new service would get requests
// beside others; none without permission for the reads.
func joinedGroups(ctx context.Context, a *account.Account, app *appfile.Application) []groupTargets {
	arns := app.Service.TargetGroups()
	if len(arns) == 0 {
		return nil
	}
	ctx = account.WithOptionalReads(ctx)
	places, err := alb.FindGroups(ctx, a.ELB(), arns...)
	if err != nil {
		return nil
	}
	groups, err := readGroups(ctx, a, places)
	if err != nil {
		return nil
	}
	return groups
}

// surveyOwners finds the tasks of the cluster to which targets of others belong. Without the reads, the owners stay
// unknown.
func surveyOwners(ctx context.Context, a *account.Account, app *appfile.Application, live *plan.AWSState) {
	hand := ecs.Service{API: a.ECS(), Cluster: app.ClusterRef(), Name: *app.Service.Input.ServiceName}
	owners, err := hand.TaskOwners(account.WithOptionalReads(ctx))
	if err != nil {
		return
	}
	for i := range live.Foreign {
		live.Foreign[i].Owner = cmp.Or(owners[live.Foreign[i].ID], plan.NoOwner)
	}
}

// groupTargets is a target group with its targets at one read.
type groupTargets struct {
	place   alb.GroupPlace
	targets []sluice.Target
}

// findOtherTargets returns the targets that are no task of the service or of its canary service. A
// draining target gets no new requests. A target of type instance does not show whose task it is.
func findOtherTargets(ctx context.Context, a *account.Account, app *appfile.Application,
	groups []groupTargets) ([]plan.ExternalTarget, error) {
	if len(otherTargets(groups, nil)) == 0 {
		return nil, nil
	}
	tasks, err := readTaskAddresses(ctx, a, app)
	return otherTargets(groups, tasks), err
}

// otherTargets returns the targets that have none of the addresses.
func otherTargets(groups []groupTargets, addresses map[string]bool) (all []plan.ExternalTarget) {
	for _, g := range groups {
		for _, t := range g.targets {
			if g.place.Target == "ip" && t.State != "draining" && !addresses[t.ID] {
				all = append(all, plan.ExternalTarget{Group: g.place.Name, ID: t.ID, State: t.State})
			}
		}
	}
	return all
}

// readTaskAddresses returns the addresses of the tasks of the service and of its canary service.
func readTaskAddresses(ctx context.Context, a *account.Account, app *appfile.Application) (map[string]bool, error) {
	hand := ecs.Service{API: a.ECS(), Cluster: app.ClusterRef(), Name: *app.Service.Input.ServiceName}
	all, err := hand.Addresses(ctx)
	if err != nil || !mode.Of(app).HasCanaryService() {
		return all, err
	}
	hand.Name = plan.CanaryServiceName(hand.Name)
	beside, err := hand.Addresses(ctx)
	for address := range beside {
		all[address] = true
	}
	return all, err
}
