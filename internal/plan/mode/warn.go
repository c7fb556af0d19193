package mode

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/validate"
	"github.com/sluice-ecs/sluice/internal/view"
)

func addWarning(p *plan.Plan, format string, args ...any) { addWarningAt(p, "", format, args...) }

// addWarningAt is addWarning about a place of the files; empty: about none.
func addWarningAt(p *plan.Plan, place, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if place != "" {
		text = place + ": " + text
	}
	p.Warnings = append(p.Warnings, text)
}

// collectWarnings collects what a user should know before the deployment starts.
func collectWarnings(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	r := rulesOf(p.Mode())
	if live.Claim != "" {
		addWarning(p, "another deployment has the claim on the service: %s", plan.ClaimText(live.Claim))
	}
	if live.ServiceStatus() == "DRAINING" {
		addWarning(p, "the service is being deleted; the deployment waits for that and creates the service again")
	}
	warnNewService(p, live)
	warnCallers(p, live)
	warnFailing(p, live)
	r.warnService(p, app, live)
	warnIdle(p, app, live)
	warnNames(p, app, live)
	warnFixed(p, app, live)
	warnGracePeriod(p, app, live)
	warnPlatform(p, app)
	warnProblems(p, app, live)
	warnShortGates(p, app)
	accessRulesOf(p.Access).warn(p, app, live)
	r.warn(p, app, live)
}

// platformVersions are those of Fargate (ECS Developer Guide, "Fargate platform versions").
var platformVersions = []string{"LATEST", "1.4.0", "1.3.0", "1.2.0", "1.1.0", "1.0.0"}

// warnPlatform warns about a platform version or a size of Fargate that AWS did not have when this version of sluice was
// made.
func warnPlatform(p *plan.Plan, app *appfile.Application) {
	v := app.Service.Input.PlatformVersion
	if v != nil && *v != "" && !slices.Contains(platformVersions, *v) {
		addWarning(p, "platformVersion %s is unknown, and AWS may refuse the deployment. Write one of %s", *v,
			strings.Join(platformVersions, ", "))
	}
	if cpu := validate.UnknownFargateSize(app.Task); cpu > 0 {
		addWarning(p, "Fargate has no size with %d CPU units that sluice knows, and AWS may refuse the deployment. Correct cpu "+
			"and memory of the task definition", cpu)
	}
}

// warnVariants warns about primary and canary. own warns about the canary's place.
func warnVariants(p *plan.Plan, app *appfile.Application, live plan.AWSState,
	own func(*plan.Plan, *appfile.Application, plan.AWSState)) {
	warnUnsteeredPaths(p, app, live)
	own(p, app, live)
	warnGroups(p, live)
	warnShares(p, desiredCount(p, app, live))
	warnEnd(p, app.PlaceOfPipeline())
}

// warnFirstPipeline warns that a first deployment does not run the pipeline.
func warnFirstPipeline(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if len(app.Pipeline) > 0 && p.QuickSync && live.IsFirstDeployment() {
		addWarning(p, "first deployment: quick sync instead of the pipeline (to run the pipeline, use --pipeline)")
	}
}

// warnIdle warns that a service without tasks cannot show whether the revision works.
func warnIdle(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if (rulesOf(p.Mode()).ecsReplacesTasks || p.QuickSync) && wantsNoTasks(app, live) {
		addWarning(p, "the desired count is 0: no task runs, callers get no response, and sluice cannot check "+
			"whether the revision works")
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

func warnGroups(p *plan.Plan, live plan.AWSState) {
	if p.Canary != nil && live.Canary != nil && live.Canary.Balancer == "" && !p.Extends {
		addWarning(p, "no listener forwards to the canary target group %s", live.Canary.Name)
	}
	if g := live.Primary; g != nil && !live.IsFirstDeployment() && g.Healthy == 0 {
		addWarning(p, "the primary target group %s has no healthy target now (%d registered)", g.Name, g.Targets)
	}
	warnDifferentGroups(p, live)
	warnUnsteeredRules(p, live)
	for _, r := range live.Marked {
		if text := losesCanary(p, live, r); text != "" {
			addWarning(p, "%s", text)
			continue
		}
		addWarning(p, "the %s always forwards to the canary target group: its %s reach a running canary, and %s "+
			"without one; sluice does not change this rule", r.Name(), p.Balancer.Unit(),
			balancerRulesOf(p.Balancer).withoutTarget)
	}
	for _, g := range []*plan.GroupAttachment{live.Primary, live.Canary} {
		if g != nil && g.Drain >= 5*time.Minute {
			addWarning(p, "target group %s drains for %s: each removal of tasks takes that long; if requests are "+
				"shorter, lower deregistration_delay.timeout_seconds", g.Name, plan.FormatDuration(g.Drain))
		}
	}
	balancerRulesOf(p.Balancer).warn(p, live)
}

// losesCanary describes a rule whose callers a canary serves now, and the pipeline ends with no task in its group; empty:
// it is another rule.
func losesCanary(p *plan.Plan, live plan.AWSState, r sluice.Rule) string {
	used := live.Callers.UsedTests()
	i := slices.IndexFunc(used, func(t view.Route) bool { return t.ARN == r.ARN })
	if i < 0 || !p.DeletesCanary() {
		return ""
	}
	return fmt.Sprintf("the %s forwards only to the canary target group, where a canary serves its %s now: they %s once "+
		"sluice has deleted the canary. sluice does not change this rule. If callers use it, %s", used[i].Subject(),
		p.Balancer.Unit(), balancerRulesOf(p.Balancer).withoutTarget, used[i].ToPrimary())
}

// warnDifferentGroups warns about settings of the canary group that differ from those of the primary group: the canary is
// reached or checked in another way than the version that it replaces.
func warnDifferentGroups(p *plan.Plan, live plan.AWSState) {
	if live.Primary == nil || live.Canary == nil {
		return
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(live.Primary.Settings)) {
		if was, is := live.Primary.Settings[name], live.Canary.Settings[name]; was != is {
			all = append(all, fmt.Sprintf("%s %s, not %s", name, cmp.Or(is, "none"), cmp.Or(was, "none")))
		}
	}
	if len(all) > 0 {
		addWarning(p, "the canary target group %s differs from the primary: %s. The canary is not reached or checked like "+
			"the primary: give both groups the same settings", live.Canary.Name, strings.Join(all, "; "))
	}
}

// warnUnsteeredRules warns about other rules that forward to the primary group: their requests never reach the canary.
func warnUnsteeredRules(p *plan.Plan, live plan.AWSState) {
	if !slices.ContainsFunc(p.Stages, plan.Stage.ShiftsTraffic) {
		return
	}
	for _, r := range live.Unsteered {
		addWarning(p, "the %s forwards to the primary target group too, and sluice does not change it: its %s never reach the "+
			"canary. To shift them, add the canary target group with weight 0 to this rule", r.Name(), p.Balancer.Unit())
	}
}

// warnShares warns if the weights exceed the capacity that receives them.
func warnShares(p *plan.Plan, desired int) {
	for i, s := range p.Stages {
		tasks := plan.ScaledCount(desired, p.StateBefore(i).Canary.Scale)
		if s.ShiftsTraffic() && tasks > 0 && desired > 0 {
			capacity := tasks * 100 / (tasks + desired)
			if w := s.Weights.Canary(); w > 0 && w > max(capacity, tasks*100/desired) {
				addWarning(p, "stage %d sends %d%% of the requests to %s of canary; the primary has %d", s.Index+1, w,
					plan.TaskCountText(tasks), desired)
			}
		}
	}
}

// warnEnd warns about the canary that the pipeline leaves running, and about stages that lose or
// keep the old tasks. pipeline is its place in the files.
func warnEnd(p *plan.Plan, pipeline string) {
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
	to := p.To
	if !strings.Contains(to, ":") {
		to = "the new revision"
	}
	if p.KeepsFormer() {
		addWarningAt(p, pipeline, "the pipeline keeps the tasks of %s: %s; to end them, add %s", p.From,
			p.ServingAtEnd(to, "", p.ExpectedTasks()), appfile.StageCanaryClean)
	}
	if p.PromotesNothing() {
		addWarningAt(p, pipeline, "the pipeline promotes nothing: %s; to promote the new revision, add %s",
			p.ServingAtEnd(to, "after it as before", p.ExpectedTasks()), appfile.StagePrimaryRollout)
	}
	if end := p.FinalState(); end.Canary.Exists() {
		addWarningAt(p, pipeline, "the pipeline leaves the canary running (weight %d%%): to end it, add ECS_TRAFFIC_ROUTING "+
			"primary: 100 and ECS_CANARY_CLEAN", end.CanaryShare())
	}
}
