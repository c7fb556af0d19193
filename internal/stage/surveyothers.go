package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// TrafficState is what one read shows of an application's target groups and rules.
type Traffic struct {
	places  []alb.Place // they change rarely
	groups  []targetsOf
	steered []sluice.Rule
}

// ReadTraffic reads the targets and rules of an application. It reads the groups only if before
// lacks them.
func ReadTraffic(ctx context.Context, a *account.Account, app *appfile.Application, before *Traffic) (*Traffic, error) {
	t := &Traffic{}
	if before != nil {
		t.places = before.places
	}
	var err error
	if len(t.places) == 0 {
		if t.places, err = findPlaces(ctx, a, app); err != nil || len(t.places) == 0 {
			return t, err
		}
	}
	if t.groups, err = readGroups(ctx, a, t.places); err != nil {
		return nil, err
	}
	var live plan.Live
	err = surveyRules(ctx, a, app, t.places, &live)
	t.steered = live.Steered
	return t, err
}

// SurveyRequests adds the routes of a service that was read already: the instances registered under
// its name, the targets of its groups and the weights of its rules. addresses are those of its
// tasks, as far as they were read.
func SurveyRequests(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application, t *Traffic, addresses map[string]bool, live *plan.Live) error {
	if err := surveyNames(ctx, a, c, app, live); err != nil {
		return err
	}
	live.Steered = t.steered
	if len(foreignTo(t.groups, addresses)) == 0 {
		return nil
	}
	var err error
	live.Foreign, err = foreignOf(ctx, a, app, t.groups)
	return err
}

// surveyOtherTargets finds targets in the application's groups that are no task of the service or
// of its canary service. Two reads must show a target: tasks start and stop, and AWS's answers lag.
func surveyForeign(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application, groups []targetsOf, live *plan.Live) error {
	found, err := foreignOf(ctx, a, app, groups)
	if err != nil || len(found) == 0 {
		return err
	}
	if err := c.Sleep(ctx, lag); err != nil {
		return err
	}
	for i := range groups {
		if groups[i].targets, err = alb.Health(ctx, a.ELB(), groups[i].place.Group); err != nil {
			return err
		}
	}
	again, err := foreignOf(ctx, a, app, groups)
	live.Foreign = plan.BothForeign(found, again)
	return err
}

// groupTargets is a target group with its targets at one read.
type targetsOf struct {
	place   alb.Place
	targets []sluice.Target
}

// findOtherTargets returns the targets that are no task of the service or of its canary service. A
// draining target gets no new requests. A target of type instance does not show whose task it is.
func foreignOf(ctx context.Context, a *account.Account, app *appfile.Application, groups []targetsOf) ([]plan.ForeignTarget, error) {
	if len(foreignTo(groups, nil)) == 0 {
		return nil, nil
	}
	tasks, err := taskAddresses(ctx, a, app)
	return foreignTo(groups, tasks), err
}

// otherTargets returns the targets that have none of the addresses.
func foreignTo(groups []targetsOf, addresses map[string]bool) (all []plan.ForeignTarget) {
	for _, g := range groups {
		for _, t := range g.targets {
			if g.place.Target == "ip" && t.State != "draining" && !addresses[t.ID] {
				all = append(all, plan.ForeignTarget{Group: g.place.Name, ID: t.ID, State: t.State})
			}
		}
	}
	return all
}

// readTaskAddresses returns the addresses of the tasks of the service and of its canary service.
func taskAddresses(ctx context.Context, a *account.Account, app *appfile.Application) (map[string]bool, error) {
	hand := ecs.Service{API: a.ECS(), Cluster: clusterOf(app), Name: *app.Service.Input.ServiceName}
	all, err := hand.Addresses(ctx)
	if err != nil || plan.HostingOf(app) != appfile.Services {
		return all, err
	}
	hand.Name = plan.BesideName(hand.Name)
	beside, err := hand.Addresses(ctx)
	for address := range beside {
		all[address] = true
	}
	return all, err
}
