package mode

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/view"
)

// refuseUnhealthyRoute rejects a deployment while production rules send requests to a group that cannot serve,
// although another group of the service can. Its first stage would give untested tasks all requests, and its rollback
// would restore the outage. A deployment that first removes leftovers moves the weights itself.
func refuseUnhealthyRoute(p *plan.Plan, app *appfile.Application, live plan.AWSState) error {
	removes := p.Stages[0].Name == appfile.StageAdopt
	if !removes {
		if err := refuseEmptyName(p, app, live); err != nil {
			return err
		}
	}
	if app.OnUnhealthyRoute == sluice.AllowRoute {
		return nil
	}
	problems := live.Callers.Repairable()
	if removes {
		problems = slices.DeleteFunc(problems, func(r view.Problem) bool { return r.Route.Hidden == "" })
	}
	switch {
	case len(problems) == 0 && removes:
		return nil
	case len(problems) == 0:
		return refuseLeavingGroup(app, live)
	}
	return &sluice.Error{Op: "plan", Resource: problems[0].Route.ARN, Kind: sluice.Conflict,
		Err:  errors.New(view.Describe("callers do not reach the service", problems)),
		Next: problems[0].Next() + orAllow}
}

// orAllow is what to do otherwise about a refusal that onUnhealthyRoute governs.
const orAllow = ". Or set onUnhealthyRoute: allow in the application file to deploy anyway"

// refuseEmptyName rejects the stages of a canary while no task of the primary is registered under the Cloud Map name,
// although some run: the canary would get all callers of the name. Quick sync registers the tasks that replace them.
// The files may allow it only if the first stage with a share gives the canary all callers: others fail at their share.
func refuseEmptyName(p *plan.Plan, app *appfile.Application, live plan.AWSState) error {
	first := firstShare(p)
	mayBeAlone := first == nil || first.Weights != nil && first.Weights.Primary() == 0
	if !lacksPrimary(p, live) || mayBeAlone && app.OnUnhealthyRoute == sluice.AllowRoute {
		return nil
	}
	n := *live.Name
	n.Register = view.RegisterAgain
	next := n.Next()
	if mayBeAlone {
		next += orAllow
	}
	return &sluice.Error{Op: "plan", Resource: n.FullName, Kind: sluice.Conflict,
		Err: errors.New("callers do not reach the service: " + n.Problem()), Next: next}
}

// lacksPrimary reports whether a canary would be alone under the Cloud Map name: tasks of the primary run, and none of
// them is registered.
func lacksPrimary(p *plan.Plan, live plan.AWSState) bool {
	n := live.Name
	return n != nil && n.Serving == 0 && n.Missing == "" && live.Service.RunningCount > 0 && p.CountsShares() && !p.QuickSync
}

// firstShare returns the first stage that gives a canary callers; nil: there is none. Without a stage that shifts, the
// canary has them from its start on, see [plan.Plan.CanaryServesAtOnce].
func firstShare(p *plan.Plan) *plan.Stage {
	shifts := slices.ContainsFunc(p.Stages, plan.Stage.ShiftsTraffic)
	i := slices.IndexFunc(p.Stages, func(s plan.Stage) bool {
		return s.Weights != nil && s.Weights.Canary() > 0 || !shifts && s.StartsCanary()
	})
	if i < 0 {
		return nil
	}
	return &p.Stages[i]
}

// warnCallers says what callers get before the deployment begins.
func warnCallers(p *plan.Plan, live plan.AWSState) {
	if why := live.Name.Problem(); why != "" {
		addWarning(p, "callers do not reach the service now: %s", why)
	}
	if s := firstShare(p); s != nil && lacksPrimary(p, live) {
		p.AloneFrom = s.Index + 1
		addWarning(p, "stage %d lets callers of %s get only the canary, before any other version is registered", p.AloneFrom,
			live.Name.FullName)
	}
	t := live.Callers
	if !t.IsRead() || len(t.Groups) == 0 {
		return
	}
	switch problems := t.Problems(view.Traffic{}); {
	case len(problems) > 0:
		addWarning(p, "%s", view.Describe("callers do not reach the service now", problems))
	case t.IsUnused():
		p.Notes = append(p.Notes, "no rule of the load balancer sends requests to the target groups of the service: it "+
			"receives no requests")
	}
}

// warnFailing says that the version that serves does not work: stages that wait for it fail, and a rollback restores
// nothing that works.
func warnFailing(p *plan.Plan, live plan.AWSState) {
	if live.Failing == "" || !p.HasChanges() || p.KeepsVersion() {
		return
	}
	then := "a rollback restores no version that works"
	if i := p.AwaitsFormer(); i >= 0 {
		then = fmt.Sprintf("stage %d waits until it is healthy, and fails. Replace it at once: sluice deploy --quick-sync", i+1)
	}
	addWarning(p, "the running version %s does not work: %s: %s", p.From, live.Failing, then)
}

// refuseRulesBeside rejects a deployment after which callers of a rule get no response: ECS's own strategy or
// CodeDeploy moves the tasks to the other target group, and does not write the rule. A plan that replaces no tasks
// moves none.
func refuseRulesBeside(p *plan.Plan, app *appfile.Application, live plan.AWSState) error {
	written, deployer := app.Service.SteeredRules(), "ECS"
	switch {
	case app.OnUnhealthyRoute == sluice.AllowRoute, !p.HasChanges(), p.KeepsVersion() && !p.ReplacesTasks():
		return nil
	case p.Mode() == plan.ModeCodeDeploy:
		written, deployer = slices.Concat(live.Scope.Listeners, live.Scope.TestRules), "CodeDeploy"
	case p.Strategy == "":
		return nil
	}
	beside := live.Callers.Besides(written)
	if len(beside) == 0 {
		return nil
	}
	r := beside[0]
	return &sluice.Error{Op: "plan", Resource: r.ARN, Kind: sluice.Conflict,
		Err: fmt.Errorf("%s forwards to %s too, and %s does not write this rule: its callers get errors once the tasks are "+
			"in the other target group", r.Name(), view.DescribeShares(r.Forward), deployer),
		Next: "see who uses it, and let it forward to another service if no caller needs it: " +
			view.DescribeRuleCommand(r.ARN) + orAllow}
}

// refuseLeavingGroup rejects a rolling update that starts its tasks in another target group than the one to which
// production rules send the requests. ECS changes no rule in a rolling update, so callers would get no response.
func refuseLeavingGroup(app *appfile.Application, live plan.AWSState) error {
	planned := app.Service.TargetGroups()
	if Of(app) != plan.ModeRolling || len(planned) == 0 {
		return nil
	}
	for _, r := range live.Callers.Routes {
		i := slices.IndexFunc(r.Forward, func(s sluice.Share) bool { return s.Weight > 0 && slices.Contains(live.Scope.Groups, s.Group) })
		if i < 0 || r.Beside || slices.ContainsFunc(r.Forward, func(s sluice.Share) bool { return s.Weight > 0 && slices.Contains(planned, s.Group) }) {
			continue
		}
		return &sluice.Error{Op: "plan", Resource: r.ARN, Kind: sluice.Conflict,
			Err: fmt.Errorf("%s sends the requests to target group %s, and the files start the tasks in %s only",
				r.Name(), sluice.TargetGroupName(r.Forward[i].Group), sluice.TargetGroupName(planned[0])),
			Next: "name that target group in the service definition. Or first deploy once more with the strategy of now: it " +
				"moves the requests to the other group"}
	}
	return nil
}
