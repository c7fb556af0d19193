package mode

import (
	"fmt"
	"slices"
	"time"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// taskSetLimit is how many task sets a service can have, including DRAINING ones (observed; the
// quota page does not list it).
const taskSetLimit = 5

func addWarning(p *plan.Plan, format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// collectWarnings collects what a user should know before the deployment starts.
func collectWarnings(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	warnService(p, app, live)
	warnIdle(p, app, live)
	warnDiscovery(p, app, live)
	warnNoAccess(p, app, live)
	if p.ByCodeDeploy() {
		warnCodeDeploy(p, live)
	}
	if p.Hosting == "" {
		return
	}
	warnUnsteeredPaths(p, app, live)
	if p.HasCanaryService() {
		warnCanaryService(p, app, live)
	}
	warnGroups(p, live)
	warnShares(p, desiredCount(p, app, live))
	warnEnd(p)
	if live.IsFirstDeployment() && !p.RollsByECS() {
		addWarning(p, "no version is running: nothing is deleted, and a rollback leaves the service without a PRIMARY "+
			"task set")
	}
	if len(app.Pipeline) > 0 && p.QuickSync && live.IsFirstDeployment() {
		addWarning(p, "first deployment: quick sync instead of the pipeline (to run the pipeline, use --pipeline)")
	}
}

func desiredCount(p *plan.Plan, app *appfile.Application, live plan.AWSState) int {
	if live.Service != nil && live.ServiceStatus() == "ACTIVE" {
		return int(live.Service.DesiredCount)
	}
	if n := app.Service.Input.DesiredCount; n != nil {
		return int(*n)
	}
	return 1
}

// warnIdle warns that a service without tasks cannot show whether the revision works.
func warnIdle(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if (p.RollsByECS() || p.QuickSync) && wantsNoTasks(app, live) {
		addWarning(p, "the desired count is 0: no task runs, callers get no response, and sluice cannot check whether "+
			"the revision works")
	}
}

func warnService(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if live.Claim != "" {
		addWarning(p, "another deployment has the claim on the service: %s", plan.ClaimText(live.Claim))
	}
	if live.ServiceStatus() == "DRAINING" {
		addWarning(p, "the service is being deleted; the deployment waits for that and creates the service again")
	}
	if p.RollsByECS() {
		warnRolling(p, live)
	}
	if p.Controller != plan.ControllerExternal {
		return
	}
	for _, ts := range live.TaskSets {
		switch {
		case ts.Status != "ACTIVE":
		case slices.ContainsFunc(live.LeftoverSets(), func(x sluice.TaskSet) bool { return x.ID == ts.ID }):
			warnLeftover(p, ts)
		case !slices.ContainsFunc(externalSets(live, app), func(x sluice.TaskSet) bool { return x.ID == ts.ID }):
			addWarning(p, "task set %s (%s) is ACTIVE, but sluice did not create it and does not change it", ts.ID,
				ts.Revision)
		case p.OnOtherTargets == sluice.RemoveTargets:
			addWarning(p, "task set %s (%s) was not created by sluice and gets requests: sluice drains and deletes it "+
				"(onOtherTargets: remove)", ts.ID, ts.Revision)
		default:
			addWarning(p, "task set %s (%s) was not created by sluice and gets a part of the requests "+
				"(onOtherTargets: allow)", ts.ID, ts.Revision)
		}
	}
	if need := len(live.TaskSets) + 2; need > taskSetLimit {
		addWarning(p, "the service has %d task sets and AWS allows about %d: a pipeline needs two more",
			len(live.TaskSets), taskSetLimit)
	}
}

// warnLeftover warns about a leftover task set and names the stage that removes it.
func warnLeftover(p *plan.Plan, ts sluice.TaskSet) {
	switch {
	case p.Adopts():
		addWarning(p, "task set %s (%s) was left by an earlier deployment: sluice removes it before the first stage",
			ts.ID, ts.Revision)
	case hasSync(p):
		addWarning(p, "task set %s (%s) was left by an earlier deployment: ECS_SYNC removes it", ts.ID, ts.Revision)
	default:
		addWarning(p, "task set %s (%s) was left by an earlier deployment and is kept: no task set is PRIMARY, so it "+
			"may get the requests", ts.ID, ts.Revision)
	}
}

func warnRolling(p *plan.Plan, live plan.AWSState) {
	if live.IsFirstDeployment() {
		addWarning(p, "no version is running: a rollback leaves the service without a running version")
	}
	if p.HasChanges() && isRolling(live) {
		addWarning(p, "a deployment of the service is running; this deployment replaces it")
	}
}

// isRolling reports whether ECS is rolling the service to a revision.
func isRolling(l plan.AWSState) bool {
	return l.Service != nil && slices.ContainsFunc(l.Service.Deployments, func(d ecstypes.Deployment) bool {
		return d.RolloutState == ecstypes.DeploymentRolloutStateInProgress
	})
}

func warnGroups(p *plan.Plan, live plan.AWSState) {
	if p.Canary != nil && live.Canary != nil && live.Canary.Balancer == "" && !p.Extends {
		addWarning(p, "no listener forwards to the canary target group %s", live.Canary.Name)
	}
	if g := live.Primary; g != nil && !live.IsFirstDeployment() && g.Healthy == 0 {
		addWarning(p, "the primary target group %s has no healthy target now (%d registered)", g.Name, g.Targets)
	}
	for _, r := range live.Marked {
		addWarning(p, "the %s always forwards to the canary target group: its requests reach a running canary, and "+
			"get 503 without one; sluice does not change this rule", ruleName(r))
	}
	for _, g := range []*plan.GroupAttachment{live.Primary, live.Canary} {
		if g != nil && g.Drain >= 5*time.Minute {
			addWarning(p, "target group %s drains for %s: each removal of tasks takes that long; if requests are "+
				"shorter, lower deregistration_delay.timeout_seconds", g.Name, plan.FormatDuration(g.Drain))
		}
	}
}

// warnShares warns if the weights exceed the capacity that receives them.
func warnShares(p *plan.Plan, desired int) {
	for i, s := range p.Stages {
		tasks := plan.ScaledCount(desired, p.StateBefore(i).Canary.Scale)
		if s.Weights != nil && tasks > 0 && desired > 0 {
			capacity := tasks * 100 / (tasks + desired)
			if w := s.Weights.Canary(); w > 0 && w > max(capacity, tasks*100/desired) {
				addWarning(p, "stage %d sends %d%% of the requests to %s of canary; the primary has %d", s.Index+1, w,
					plan.TaskCountText(tasks), desired)
			}
		}
	}
}

// warnEnd warns about the canary that the pipeline leaves running, and about stages that lose or
// keep the old tasks.
func warnEnd(p *plan.Plan) {
	for _, s := range p.Stages {
		if s.Recreate {
			addWarning(p, "recreate stops the old tasks before the new ones start: requests in between are lost")
		}
		if s.KeepOld {
			addWarning(p, "stage %d keeps the old primary: it serves together with the new primary until "+
				"ECS_CANARY_CLEAN",
				s.Index+1)
		}
	}
	if end := p.FinalState(); end.Canary.Exists() {
		addWarning(p, "the pipeline leaves the canary running (weight %d%%): to end it, add ECS_TRAFFIC_ROUTING "+
			"primary: 100 and ECS_CANARY_CLEAN", end.CanaryShare())
	}
}
