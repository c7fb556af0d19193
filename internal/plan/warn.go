package plan

import (
	"fmt"
	"slices"
	"time"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// taskSetLimit is how many task sets a service can have, including DRAINING ones (observed; the
// quota page does not list it).
const taskSetLimit = 5

func (p *Plan) addWarning(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// collectWarnings collects what a user should know before the deployment starts.
func (p *Plan) collectWarnings(app *appfile.Application, live AWSState) {
	p.warnService(app, live)
	p.warnIdle(app, live)
	p.warnDiscovery(app, live)
	p.warnNoAccess(app, live)
	if p.ByCodeDeploy() {
		p.warnCodeDeploy(live)
	}
	if p.Hosting == "" {
		return
	}
	p.warnUnsteeredPaths(app, live)
	if p.HasCanaryService() {
		p.warnCanaryService(app, live)
	}
	p.warnGroups(live)
	p.warnShares(p.desiredCount(app, live))
	p.warnEnd()
	if live.isFirstDeployment() && !p.RollsByECS() {
		p.addWarning("no version is running: nothing is deleted, and a rollback leaves the service without a PRIMARY " +
			"task set")
	}
	if len(app.Pipeline) > 0 && p.QuickSync && live.isFirstDeployment() {
		p.addWarning("first deployment: quick sync instead of the pipeline (to run the pipeline, use --pipeline)")
	}
}

func (p *Plan) desiredCount(app *appfile.Application, live AWSState) int {
	if live.Service != nil && live.serviceStatus() == "ACTIVE" {
		return int(live.Service.DesiredCount)
	}
	if n := app.Service.Input.DesiredCount; n != nil {
		return int(*n)
	}
	return 1
}

// warnIdle warns that a service without tasks cannot show whether the revision works.
func (p *Plan) warnIdle(app *appfile.Application, live AWSState) {
	if (p.RollsByECS() || p.QuickSync) && wantsNoTasks(app, live) {
		p.addWarning("the desired count is 0: no task runs, callers get no response, and sluice cannot check whether " +
			"the revision works")
	}
}

func (p *Plan) warnService(app *appfile.Application, live AWSState) {
	if live.Claim != "" {
		p.addWarning("another deployment has the claim on the service: %s", ClaimText(live.Claim))
	}
	if live.serviceStatus() == "DRAINING" {
		p.addWarning("the service is being deleted; the deployment waits for that and creates the service again")
	}
	if p.RollsByECS() {
		p.warnRolling(live)
	}
	if p.Controller != controllerExternal {
		return
	}
	for _, ts := range live.TaskSets {
		switch {
		case ts.Status != "ACTIVE":
		case slices.ContainsFunc(live.leftoverSets(), func(x sluice.TaskSet) bool { return x.ID == ts.ID }):
			p.warnLeftover(ts)
		case !slices.ContainsFunc(live.externalSets(app), func(x sluice.TaskSet) bool { return x.ID == ts.ID }):
			p.addWarning("task set %s (%s) is ACTIVE, but sluice did not create it and does not change it", ts.ID,
				ts.Revision)
		case p.OnOtherTargets == sluice.RemoveTargets:
			p.addWarning("task set %s (%s) was not created by sluice and gets requests: sluice drains and deletes it "+
				"(onOtherTargets: remove)", ts.ID, ts.Revision)
		default:
			p.addWarning("task set %s (%s) was not created by sluice and gets a part of the requests "+
				"(onOtherTargets: allow)", ts.ID, ts.Revision)
		}
	}
	if need := len(live.TaskSets) + 2; need > taskSetLimit {
		p.addWarning("the service has %d task sets and AWS allows about %d: a pipeline needs two more",
			len(live.TaskSets), taskSetLimit)
	}
}

// warnLeftover warns about a leftover task set and names the stage that removes it.
func (p *Plan) warnLeftover(ts sluice.TaskSet) {
	switch {
	case p.Adopts():
		p.addWarning("task set %s (%s) was left by an earlier deployment: sluice removes it before the first stage",
			ts.ID, ts.Revision)
	case p.hasSync():
		p.addWarning("task set %s (%s) was left by an earlier deployment: ECS_SYNC removes it", ts.ID, ts.Revision)
	default:
		p.addWarning("task set %s (%s) was left by an earlier deployment and is kept: no task set is PRIMARY, so it "+
			"may get the requests", ts.ID, ts.Revision)
	}
}

func (p *Plan) warnRolling(live AWSState) {
	if live.isFirstDeployment() {
		p.addWarning("no version is running: a rollback leaves the service without a running version")
	}
	if p.HasChanges() && live.isRolling() {
		p.addWarning("a deployment of the service is running; this deployment replaces it")
	}
}

// isRolling reports whether ECS is rolling the service to a revision.
func (l AWSState) isRolling() bool {
	return l.Service != nil && slices.ContainsFunc(l.Service.Deployments, func(d ecstypes.Deployment) bool {
		return d.RolloutState == ecstypes.DeploymentRolloutStateInProgress
	})
}

func (p *Plan) warnGroups(live AWSState) {
	if p.Canary != nil && live.Canary != nil && live.Canary.Balancer == "" && !p.Extends {
		p.addWarning("no listener forwards to the canary target group %s", live.Canary.Name)
	}
	if g := live.Primary; g != nil && !live.isFirstDeployment() && g.Healthy == 0 {
		p.addWarning("the primary target group %s has no healthy target now (%d registered)", g.Name, g.Targets)
	}
	for _, r := range live.Marked {
		p.addWarning("the %s always forwards to the canary target group: its requests reach a running canary, and "+
			"get 503 without one; sluice does not change this rule", ruleName(r))
	}
	for _, g := range []*GroupAttachment{live.Primary, live.Canary} {
		if g != nil && g.Drain >= 5*time.Minute {
			p.addWarning("target group %s drains for %s: each removal of tasks takes that long; if requests are "+
				"shorter, lower deregistration_delay.timeout_seconds", g.Name, FormatDuration(g.Drain))
		}
	}
}

// warnShares warns if the weights exceed the capacity that receives them.
func (p *Plan) warnShares(desired int) {
	for i, s := range p.Stages {
		tasks := scaledCount(desired, p.StateBefore(i).Canary.Scale)
		if s.Weights != nil && tasks > 0 && desired > 0 {
			capacity := tasks * 100 / (tasks + desired)
			if w := s.Weights.Canary(); w > 0 && w > max(capacity, tasks*100/desired) {
				p.addWarning("stage %d sends %d%% of the requests to %s of canary; the primary has %d", s.Index+1, w,
					taskCountText(tasks), desired)
			}
		}
	}
}

func taskCountText(tasks int) string {
	if tasks == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", tasks)
}

// warnEnd warns about the canary that the pipeline leaves running, and about stages that lose or
// keep the old tasks.
func (p *Plan) warnEnd() {
	for _, s := range p.Stages {
		if s.Recreate {
			p.addWarning("recreate stops the old tasks before the new ones start: requests in between are lost")
		}
		if s.KeepOld {
			p.addWarning("stage %d keeps the old primary: it serves together with the new primary until "+
				"ECS_CANARY_CLEAN",
				s.Index+1)
		}
	}
	if end := p.FinalState(); end.Canary.Exists() {
		p.addWarning("the pipeline leaves the canary running (weight %d%%): to end it, add ECS_TRAFFIC_ROUTING "+
			"primary: 100 and ECS_CANARY_CLEAN", end.CanaryShare())
	}
}
