package ecs

import (
	"context"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// ContinueServiceDeployment continues or rolls back a deployment that waits at a PAUSE hook. AWS
// does not document the error of a hook that does not wait: it is InvalidParameterException here.
func (s *Service) ContinueServiceDeployment(ctx context.Context,
	in *awsecs.ContinueServiceDeploymentInput) (*awsecs.ContinueServiceDeploymentOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ContinueServiceDeploymentOutput, error) {
		if val(in.HookId) == "" {
			return nil, invalidParameter("hookId can not be blank.")
		}
		r := s.history.rolloutBy(tx, val(in.ServiceDeploymentArn))
		if r == nil {
			return nil, world.Refuse("ServiceDeploymentNotFoundException", "Service deployment not found.")
		}
		if r.Status != "IN_PROGRESS" {
			return nil, invalidParameter(
				"The service deployment cannot be continued because it is in the %s state.", r.Status)
		}
		if !s.sched.AnswerHook(tx, r, *in.HookId, in.Action == ecstypes.DeploymentLifecycleHookActionRollback) {
			return nil, invalidParameter("The lifecycle hook %s is not awaiting an action.", *in.HookId)
		}
		return &awsecs.ContinueServiceDeploymentOutput{ServiceDeploymentArn: ptr(docOfRollout(r).arn)}, nil
	})
}

// showHooks returns the hooks that a deployment has reached. AWS's model has no stage in them.
func showHooks(r *scheduler.Rollout) (all []ecstypes.DeploymentLifecycleHookDetail) {
	for _, h := range r.Hooks() {
		d := ecstypes.DeploymentLifecycleHookDetail{HookId: ptr(h.ID), ExpiresAt: optionalTime(h.ExpiresAt),
			Status: ecstypes.DeploymentLifecycleHookStatus(h.Status), TargetType: pauseHook,
			TimeoutAction: ecstypes.DeploymentLifecycleHookActionRollback}
		if h.Function != "" {
			d.TargetType, d.TargetArn = lambdaHook, ptr(h.Function)
		}
		if h.Continues {
			d.TimeoutAction = ecstypes.DeploymentLifecycleHookActionContinue
		}
		all = append(all, d)
	}
	return all
}

// showShares adds the shares of traffic that a deployment requested for a revision.
func showShares(d *ecstypes.ServiceRevisionSummary, r *scheduler.Rollout, ts *world.TaskSet) {
	s, ok := r.SharesOf(ts)
	if !ok {
		return
	}
	d.RequestedProductionTrafficWeight = ptr(s.Production.Percent())
	if s.HasTest {
		d.RequestedTestTrafficWeight = ptr(s.Test.Percent())
	}
}
