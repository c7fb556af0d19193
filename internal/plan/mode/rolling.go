package mode

import (
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// rollingRules are the rules of a service that ECS deploys with its own update, without a canary of
// sluice.
func rollingRules() rules {
	return rules{
		mode: plan.ModeRolling, ecsReplacesTasks: true, make: makeService,
		refuseEarly: refuseRollbackEvents, refuse: refuseLeftCanary, refuseIdle: allowIdle,
		prepare: prepareNothing, finish: finishNothing,
		hasLeftovers: hasNoLeftovers, listChanges: listServiceChanges,
		syncWrites: addUpdateWrites, canaryWrites: writeNothing, primaryWrites: writeNothing,
		cleanWrites: writeNothing, adoptWrites: writeNothing, rollbackWrites: addRollingRollback,
		growWrites: growNothing, guardWrites: guardRolling, replaceTime: (*forecast.Estimate).RollingTime,
		warnService: warnRolling, warn: warnNothing,
		words: words{
			stages: "Stages", sync: rollText, summary: rollText, canary: noWords,
			primary:  "the new revision becomes primary",
			rollback: "stop the deployment if it runs, and roll back to the previous revision",
		},
	}
}

// refuseLeftCanary rejects a service whose canary service still exists. It may still get requests,
// so the new revision would not get all of them, and no stage of this mode removes it.
func refuseLeftCanary(_ *appfile.Application, live plan.AWSState, _ Options) error {
	made, stands := live.FindCanaryService()
	if !stands || !plan.IsSluiceID(made) {
		return nil
	}
	c := live.Beside
	return &sluice.Error{Op: "plan", Resource: aws.ToString(c.ServiceArn), Kind: sluice.Conflict,
		Err: fmt.Errorf("the canary service %s of deployment %s still exists (%s, %d running) and may get requests; "+
			"without a pipeline, no stage removes it", aws.ToString(c.ServiceName), sluice.ActionID(made).Deployment(),
			sluice.RevisionOf(aws.ToString(c.TaskDefinition)), c.RunningCount),
		Next: "deploy once with the pipeline in the application file: its first stage removes the canary service"}
}

// rollText describes the single stage of a service that ECS itself rolls.
func rollText(p *plan.Plan, s plan.Stage) string {
	switch {
	case s.Stop != "":
		return "stop the running deployment: ECS rolls back to the previous revision"
	case p.Strategy != "":
		return "ECS deploys the new revision with strategy " + p.Strategy
	}
	return "roll to the new revision"
}

func addRollingRollback(p *plan.Plan, s *plan.Stage, live plan.AWSState) {
	addRestoreWrites(p, s, live)
	addStopWrite(s, live)
}

// addStopWrite adds the write that stops ECS's deployment in a rollback.
func addStopWrite(s *plan.Stage, live plan.AWSState) {
	if !live.IsFirstDeployment() { // otherwise the service is kept as it is
		s.AddWrite("ecs:StopServiceDeployment", plan.OwnDeployment)
	}
}

func guardRolling(p *plan.Plan, s *plan.Stage, live plan.AWSState, _ plan.State) {
	guardService(p, s, live)
}

func warnRolling(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if live.IsFirstDeployment() {
		addWarning(p, "no version is running: there is none to roll back to, and a version that fails stays")
	}
	if p.HasChanges() && isRolling(live) {
		addWarning(p, "a deployment of the service is running; this deployment replaces it")
	}
	warnBlocked(p, app, live)
	warnFewKept(p, app, live)
	warnReset(p, app, live)
	warnLeavesStrategy(p, app, live)
}

// warnLeavesStrategy warns that a rolling update moves no requests. ECS's own strategies leave the rule at the one or
// the other target group, in turns. Of a pair of groups, the tasks of a rolling update start in the one that serves.
func warnLeavesStrategy(p *plan.Plan, app *appfile.Application, live plan.AWSState) {
	if live.Service == nil || live.Service.DeploymentConfiguration == nil || p.Strategy != "" ||
		app.Service.Input.DeploymentConfiguration == nil {
		return
	}
	was := live.Service.DeploymentConfiguration.Strategy
	if was == "" || was == ecstypes.DeploymentStrategyRolling || len(app.Service.Input.LoadBalancers) == 0 {
		return
	}
	for _, b := range app.Service.Input.LoadBalancers {
		if group := servingGroup(b, live); group != "" {
			addWarning(p, "the service leaves strategy %s: the tasks start in target group %s, which gets the production "+
				"requests now, and ECS does not change the listener rules from then on", was, sluice.TargetGroupName(group))
			continue
		}
		addWarning(p, "the service leaves strategy %s: the tasks start in target group %s, and ECS does not change the "+
			"listener rules. If production requests go to the other target group now, they get no response: first deploy "+
			"once more with %s, which moves them, or change the rule", was, sluice.TargetGroupName(aws.ToString(b.TargetGroupArn)),
			was)
	}
}

// servingGroup returns the target group in which a rolling update starts its tasks if production requests go there now;
// empty: they do not, or that is not known.
func servingGroup(b ecstypes.LoadBalancer, live plan.AWSState) string {
	groups := []string{aws.ToString(b.TargetGroupArn)}
	if c := b.AdvancedConfiguration; c != nil {
		groups = append(groups, aws.ToString(c.AlternateTargetGroupArn))
	}
	for _, group := range groups {
		if live.Callers.HasWeight(group) {
			return group
		}
	}
	return ""
}

// isRolling reports whether ECS is rolling the service to a revision.
func isRolling(l plan.AWSState) bool {
	return l.Service != nil && slices.ContainsFunc(l.Service.Deployments, func(d ecstypes.Deployment) bool {
		return d.RolloutState == ecstypes.DeploymentRolloutStateInProgress
	})
}
