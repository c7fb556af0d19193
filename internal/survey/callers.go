package survey

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/route/alb"
	"github.com/sluice-ecs/sluice/internal/view"
)

// surveyCallers reads where callers of the service are sent. Policies written for earlier versions do not allow the
// reads in every mode: without the permission Callers stays zero.
func surveyCallers(ctx context.Context, a *account.Account, c clock.Clock, app *appfile.Application,
	groups []groupTargets, rules []alb.Rule, live *plan.AWSState) (err error) {
	if live.ServiceStatus() != "ACTIVE" {
		return nil
	}
	live.Scope = callersScope(app, live)
	targets := map[string][]sluice.Target{}
	var places []alb.GroupPlace
	for _, g := range groups {
		places = append(places, g.place)
		targets[g.place.Group] = g.targets
	}
	unread := func(arn string) bool { _, ok := targets[arn]; return !ok }
	if rules != nil && len(live.Scope.Names) == 0 && !slices.ContainsFunc(live.Scope.Groups, unread) {
		if live.Callers = alb.NewTraffic(c, live.Scope, places, targets, rules); !live.Callers.HasOthers() {
			return nil
		}
	}
	live.Callers, err = alb.ReadTraffic(ctx, a.ELB(), c, live.Scope, view.Traffic{})
	if errors.Is(err, sluice.ErrNoPermission) {
		live.Callers, err = view.Traffic{}, nil
	}
	return err
}

// callersScope returns the target groups and production rules of a service: those that AWS names, and those of the
// files.
func callersScope(app *appfile.Application, live *plan.AWSState) view.Scope {
	s := ecs.ScopeOf(*live.Service)
	if d := live.Deployer; d != nil && d.Listener != "" {
		s = s.WithListeners(d.Listener, d.TestListener, d.TargetGroups)
	}
	if !mode.Of(app).HasVariants() || !plan.HasTargetGroups(app.Access) {
		return s
	}
	return s.WithFiles(app.Primary.OptionalARN(), app.Canary.OptionalARN(), app.ListenerRules)
}
