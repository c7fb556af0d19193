package codedeploy

import (
	"context"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// findOngoing returns a deployment that has not ended.
func findOngoing(tx *world.Tx, id *string) (*codedeployer.Deployment, error) {
	d, err := findDeployment(tx, id)
	if err == nil && d.HasEnded() {
		err = world.Refuse("DeploymentAlreadyCompletedException", "The deployment %s has already completed: %s", d.ID,
			d.Status)
	}
	return d, err
}

// StopDeployment stops a deployment after a delay. Without AutoRollbackEnabled the group's events
// decide about the rollback.
func (s *Service) StopDeployment(ctx context.Context, in *awscd.StopDeploymentInput) (*awscd.StopDeploymentOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.StopDeploymentOutput, error) {
		d, err := findOngoing(tx, in.DeploymentId)
		if err != nil {
			return nil, err
		}
		var back *bool
		if in.AutoRollbackEnabled != nil {
			back = ptr(*in.AutoRollbackEnabled)
		}
		s.controller.StopDeployment(tx, d, back)
		return &awscd.StopDeploymentOutput{Status: cdtypes.StopStatusPending,
			StatusMessage: ptr("No more commands will be scheduled for execution in the deployment instances")}, nil
	})
}

// ContinueDeployment ends the wait before production traffic is shifted (READY_WAIT), or the wait
// before the original task set is deleted (TERMINATION_WAIT).
func (s *Service) ContinueDeployment(ctx context.Context,
	in *awscd.ContinueDeploymentInput) (*awscd.ContinueDeploymentOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.ContinueDeploymentOutput, error) {
		d, err := findOngoing(tx, in.DeploymentId)
		if err != nil {
			return nil, err
		}
		var waited bool
		switch in.DeploymentWaitType {
		case cdtypes.DeploymentWaitTypeReadyWait, "":
			waited = s.controller.ContinueDeployment(tx, d)
		case cdtypes.DeploymentWaitTypeTerminationWait:
			waited = s.controller.TerminateOriginal(tx, d)
		default:
			return nil, world.Refuse("InvalidDeploymentWaitTypeException",
				"Unknown wait type %q; there are READY_WAIT and TERMINATION_WAIT", in.DeploymentWaitType)
		}
		if !waited {
			return nil, world.Refuse("DeploymentIsNotInReadyStateException",
				"The deployment %s is not in a state that can be continued: %s", d.ID, d.Status)
		}
		return &awscd.ContinueDeploymentOutput{}, nil
	})
}

// SkipWaitTimeForInstanceTermination is the previous name of ContinueDeployment with
// TERMINATION_WAIT.
func (s *Service) SkipWaitTimeForInstanceTermination(ctx context.Context,
	in *awscd.SkipWaitTimeForInstanceTerminationInput) (*awscd.SkipWaitTimeForInstanceTerminationOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.SkipWaitTimeForInstanceTerminationOutput, error) {
		d, err := findOngoing(tx, in.DeploymentId)
		if err != nil {
			return nil, err
		}
		if !s.controller.TerminateOriginal(tx, d) {
			return nil, world.Refuse("DeploymentNotStartedException",
				"The deployment %s does not wait for the end of its original task set", d.ID)
		}
		return &awscd.SkipWaitTimeForInstanceTerminationOutput{}, nil
	})
}

// PutLifecycleEventHookExecutionStatus takes the status that a hook's function reports.
func (s *Service) PutLifecycleEventHookExecutionStatus(ctx context.Context,
	in *awscd.PutLifecycleEventHookExecutionStatusInput) (*awscd.PutLifecycleEventHookExecutionStatusOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.PutLifecycleEventHookExecutionStatusOutput, error) {
		d, err := findDeployment(tx, in.DeploymentId)
		if err != nil {
			return nil, err
		}
		e := d.EventOfHook(val(in.LifecycleEventHookExecutionId))
		switch {
		case in.Status != cdtypes.LifecycleEventStatusSucceeded && in.Status != cdtypes.LifecycleEventStatusFailed:
			return nil, world.Refuse("InvalidLifecycleEventHookExecutionStatusException",
				"The status must be Succeeded or Failed")
		case e == nil:
			return nil, world.Refuse("InvalidLifecycleEventHookExecutionIdException",
				"No lifecycle event hook has the execution id %q", val(in.LifecycleEventHookExecutionId))
		case e.Status != codedeployer.InProgress:
			return nil, world.Refuse("LifecycleEventAlreadyCompletedException",
				"The lifecycle event %s has already completed", e.Name)
		}
		s.controller.ReportHook(tx, d, e.Execution, in.Status == cdtypes.LifecycleEventStatusSucceeded)
		return &awscd.PutLifecycleEventHookExecutionStatusOutput{LifecycleEventHookExecutionId: ptr(e.Execution)}, nil
	})
}
