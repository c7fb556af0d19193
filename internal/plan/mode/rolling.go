package mode

import (
	"slices"

	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/forecast"
)

// rollingRules are the rules of a service that ECS deploys with its own update, without a canary of
// sluice.
func rollingRules() rules {
	return rules{
		mode: plan.ModeRolling, ecsReplacesTasks: true, make: makeService,
		refuseEarly: refuseRollbackEvents, refuse: refuseNothing, refuseIdle: allowIdle,
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

func warnRolling(p *plan.Plan, _ *appfile.Application, live plan.AWSState) {
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
