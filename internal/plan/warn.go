package plan

import (
	"fmt"
	"math"
	"slices"
	"time"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
)

// taskSetLimit is how many task sets a service can have, including DRAINING ones (observed; the
// quota page does not list it).
const taskSetLimit = 5

func (p *Plan) warning(format string, args ...any) {
	p.Warnings = append(p.Warnings, fmt.Sprintf(format, args...))
}

// collectWarnings collects what a user should know before the deployment starts.
func (p *Plan) warn(app *appfile.Application, live Live) {
	p.warnService(app, live)
	p.warnIdle(app, live)
	p.warnDiscovery(app, live)
	p.warnUnsteered(app, live)
	if p.ByCodeDeploy() {
		p.warnShift(live)
	}
	if p.Hosting == "" {
		return
	}
	p.warnWays(app, live)
	if p.Beside() {
		p.warnBeside(app, live)
	}
	p.warnGroups(live)
	p.warnShares(p.desired(app, live))
	p.warnEnd()
	if live.first() && !p.Rolls() {
		p.warning("nothing serves yet: nothing is deleted, and a rollback would leave the service without a serving task set")
	}
	if len(app.Pipeline) > 0 && p.QuickSync && live.first() {
		p.warning("first deployment: quick sync instead of the pipeline (--pipeline runs it all the same)")
	}
}

func (p *Plan) desired(app *appfile.Application, live Live) int {
	if live.Service != nil && live.status() == "ACTIVE" {
		return int(live.Service.DesiredCount)
	}
	if n := app.Service.Input.DesiredCount; n != nil {
		return int(*n)
	}
	return 1
}

// warnIdle warns that a service without tasks cannot show whether the revision works.
func (p *Plan) warnIdle(app *appfile.Application, live Live) {
	if (p.Rolls() || p.QuickSync) && idle(app, live) {
		p.warning("the desired count is 0: no task runs, callers get no answer, and nothing shows whether the revision works")
	}
}

func (p *Plan) warnService(app *appfile.Application, live Live) {
	if live.Claim != "" {
		p.warning("another deployment holds the service: %s", HeldBy(live.Claim))
	}
	if live.status() == "DRAINING" {
		p.warning("the service is being deleted; the deployment waits until it is gone and creates it again")
	}
	if p.Rolls() {
		p.warnRolling(live)
	}
	if p.Controller != controllerExternal {
		return
	}
	for _, ts := range live.TaskSets {
		switch {
		case ts.Status != "ACTIVE":
		case slices.ContainsFunc(live.leftSets(), func(x sluice.TaskSet) bool { return x.ID == ts.ID }):
			p.warnLeft(ts)
		case !slices.ContainsFunc(live.foreignSets(app), func(x sluice.TaskSet) bool { return x.ID == ts.ID }):
			p.warning("task set %s (%s) is ACTIVE and not sluice's; it is left alone", ts.ID, ts.Revision)
		case p.OnOtherTargets == sluice.RemoveTargets:
			p.warning("task set %s (%s) is not sluice's and gets requests: it is drained and deleted (onOtherTargets: remove)", ts.ID, ts.Revision)
		default:
			p.warning("task set %s (%s) is not sluice's and gets requests beside the release (onOtherTargets: allow)", ts.ID, ts.Revision)
		}
	}
	if need := len(live.TaskSets) + 2; need > taskSetLimit {
		p.warning("the service has %d task sets and AWS allows about %d: a pipeline needs two more", len(live.TaskSets), taskSetLimit)
	}
}

// warnLeftover warns about a leftover task set and names the stage that removes it.
func (p *Plan) warnLeft(ts sluice.TaskSet) {
	switch {
	case p.Adopts():
		p.warning("task set %s (%s) was left by an earlier deployment: it is removed before the first stage", ts.ID, ts.Revision)
	case p.syncs():
		p.warning("task set %s (%s) was left by an earlier deployment: ECS_SYNC removes it", ts.ID, ts.Revision)
	default:
		p.warning("task set %s (%s) was left by an earlier deployment and stays: no task set is PRIMARY, so that it may be what serves", ts.ID, ts.Revision)
	}
}

func (p *Plan) warnRolling(live Live) {
	if live.first() {
		p.warning("nothing serves yet: a rollback would leave the service without a serving deployment")
	}
	if p.HasChanges() && live.rolling() {
		p.warning("a deployment of the service is running now; this one takes its place")
	}
}

// isRolling reports whether ECS is rolling the service to a revision.
func (l Live) rolling() bool {
	return l.Service != nil && slices.ContainsFunc(l.Service.Deployments, func(d ecstypes.Deployment) bool {
		return d.RolloutState == ecstypes.DeploymentRolloutStateInProgress
	})
}

func (p *Plan) warnGroups(live Live) {
	if p.Canary != nil && live.Canary != nil && live.Canary.Balancer == "" && !p.Extends {
		p.warning("the canary target group %s is on no listener", live.Canary.Name)
	}
	if g := live.Primary; g != nil && !live.first() && g.Healthy == 0 {
		p.warning("the primary target group %s has no healthy target now (%d registered)", g.Name, g.Targets)
	}
	for _, r := range live.Marked {
		p.warning("the %s always forwards to the canary target group: its requests reach the canary while one runs, and get 503 while none does; sluice does not write this rule", ruleName(r))
	}
	for _, g := range []*Place{live.Primary, live.Canary} {
		if g != nil && g.Drain >= 5*time.Minute {
			p.warning("target group %s drains for %s: each removal of tasks takes that long; lower deregistration_delay.timeout_seconds if no request takes so long", g.Name, Duration(g.Drain))
		}
	}
}

// warnShares warns if the weights exceed the capacity that receives them.
func (p *Plan) warnShares(desired int) {
	tasks := 0
	for _, s := range p.Stages {
		switch {
		case s.Name == appfile.StageCanaryRollout:
			tasks = int(math.Ceil(float64(desired*s.Scale)/100 - 1e-9))
		case s.Weights != nil && tasks > 0 && desired > 0:
			capacity := tasks * 100 / (tasks + desired)
			if w := s.Weights.Canary(); w > 0 && w > max(capacity, tasks*100/desired) {
				p.warning("stage %d sends %d%% of the requests to %s of canary beside %d of primary", s.Index+1, w, count(tasks), desired)
			}
		}
	}
}

func count(tasks int) string {
	if tasks == 1 {
		return "1 task"
	}
	return fmt.Sprintf("%d tasks", tasks)
}

// warnEnd warns about the canary that the pipeline leaves running, and about stages that lose or
// keep the old tasks.
func (p *Plan) warnEnd() {
	canary, weight := false, 0
	for _, s := range p.Stages {
		switch {
		case s.Name == appfile.StageCanaryRollout:
			canary = true
		case s.Name == appfile.StageCanaryClean, s.Name == appfile.StageSync:
			canary, weight = false, 0
		case s.Weights != nil:
			weight = s.Weights.Canary()
		}
		if s.Recreate {
			p.warning("recreate stops the old tasks before the new ones start: requests in between are lost")
		}
		if s.KeepOld {
			p.warning("stage %d keeps the old primary: it goes on serving beside the new one until ECS_CANARY_CLEAN", s.Index+1)
		}
	}
	if canary {
		p.warning("the pipeline leaves the canary running (weight %d%%): end it with ECS_TRAFFIC_ROUTING primary: 100 and ECS_CANARY_CLEAN", weight)
	}
}
