package codedeploy

import (
	"context"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// GetDeployment returns one deployment.
func (s *Service) GetDeployment(ctx context.Context, in *awscd.GetDeploymentInput) (*awscd.GetDeploymentOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.GetDeploymentOutput, error) {
		d, err := findDeployment(tx, in.DeploymentId)
		if err != nil {
			return nil, err
		}
		return &awscd.GetDeploymentOutput{DeploymentInfo: showDeployment(d)}, nil
	})
}

// BatchGetDeployments returns up to 25 deployments. It leaves out those that do not exist.
func (s *Service) BatchGetDeployments(ctx context.Context,
	in *awscd.BatchGetDeploymentsInput) (*awscd.BatchGetDeploymentsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.BatchGetDeploymentsOutput, error) {
		if len(in.DeploymentIds) == 0 {
			return nil, world.Refuse("DeploymentIdRequiredException", "The deployment ID must be specified.")
		}
		if err := checkBatch(len(in.DeploymentIds), maxDeploymentBatch); err != nil {
			return nil, err
		}
		out := &awscd.BatchGetDeploymentsOutput{DeploymentsInfo: []cdtypes.DeploymentInfo{}}
		for _, id := range in.DeploymentIds {
			d, err := findDeployment(tx, &id)
			if r, ok := err.(*world.Refusal); ok && r.Code != "DeploymentDoesNotExistException" {
				return nil, err
			}
			if err == nil {
				out.DeploymentsInfo = append(out.DeploymentsInfo, *showDeployment(d))
			}
		}
		return out, nil
	})
}

func showDeployment(d *codedeployer.Deployment) *cdtypes.DeploymentInfo {
	doc := wire.Clone(d.Doc.(*deploymentDoc))
	out := &cdtypes.DeploymentInfo{
		ApplicationName: ptr(d.Group.Application.Name), DeploymentGroupName: ptr(d.Group.Name), DeploymentId: ptr(d.ID),
		ComputePlatform: cdtypes.ComputePlatformEcs, Creator: cdtypes.DeploymentCreator(d.Creator),
		Status:     cdtypes.DeploymentStatus(d.Status),
		CreateTime: optionalTime(d.CreatedAt), StartTime: optionalTime(d.Started),
		CompleteTime:         optionalTime(d.Completed),
		DeploymentConfigName: doc.Config, Description: doc.Description, AutoRollbackConfiguration: doc.Rollback,
		OverrideAlarmConfiguration:       doc.Alarms,
		BlueGreenDeploymentConfiguration: doc.Group.BlueGreenDeploymentConfiguration,
		DeploymentStyle:                  doc.Group.DeploymentStyle,
		LoadBalancerInfo:                 doc.Group.LoadBalancerInfo,
		FileExistsBehavior:               cdtypes.FileExistsBehaviorDisallow,
		IgnoreApplicationStopFailures:    doc.StopFailures, InstanceTerminationWaitTimeStarted: d.Terminating,
		Revision: revisionLocation(d.Revision), PreviousRevision: revisionLocation(d.Previous),
		DeploymentOverview: targetOverview(d), RollbackInfo: rollbackInfo(d),
		DeploymentStatusMessages: []string{},
	}
	if d.Creator == codedeployer.ByRollback {
		out.Description = nil
	}
	if d.Failure != nil {
		out.ErrorInformation = &cdtypes.ErrorInformation{Code: cdtypes.ErrorCode(d.Failure.Code),
			Message: ptr(d.Failure.Message)}
	}
	return out
}

func rollbackInfo(d *codedeployer.Deployment) *cdtypes.RollbackInfo {
	if d.RollbackMessage == "" {
		return nil
	}
	return &cdtypes.RollbackInfo{RollbackDeploymentId: optionalText(d.RollbackID),
		RollbackTriggeringDeploymentId: optionalText(d.Triggered), RollbackMessage: ptr(d.RollbackMessage)}
}

// targetOverview counts the one target of a deployment.
func targetOverview(d *codedeployer.Deployment) *cdtypes.DeploymentOverview {
	o := &cdtypes.DeploymentOverview{}
	switch targetStatus(d) {
	case cdtypes.TargetStatusPending:
		o.Pending = 1
	case cdtypes.TargetStatusSucceeded:
		o.Succeeded = 1
	case cdtypes.TargetStatusFailed:
		o.Failed = 1
	case cdtypes.TargetStatusSkipped:
		o.Skipped = 1
	case cdtypes.TargetStatusReady:
		o.Ready = 1
	default:
		o.InProgress = 1
	}
	return o
}

// ListDeployments lists ids, newest first: all of the Region, or those of a group.
func (s *Service) ListDeployments(ctx context.Context, in *awscd.ListDeploymentsInput) (*awscd.ListDeploymentsOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.ListDeploymentsOutput, error) {
		g, err := listedGroup(tx, in)
		if err != nil {
			return nil, err
		}
		if err := checkList(in); err != nil {
			return nil, err
		}
		all, ids := codedeployer.StateOf(tx).Deployments.Values(), []string{}
		for i := range all {
			if d := all[len(all)-1-i]; (g == nil || d.Group == g) && isListed(d, in) {
				ids = append(ids, d.ID)
			}
		}
		ids, next, err := pageOf(ids, in.NextToken)
		return &awscd.ListDeploymentsOutput{Deployments: ids, NextToken: next}, err
	})
}

func listedGroup(tx *world.Tx, in *awscd.ListDeploymentsInput) (*codedeployer.Group, error) {
	switch {
	case in.ApplicationName == nil && in.DeploymentGroupName == nil:
		return nil, nil
	case in.ApplicationName == nil:
		return nil, world.Refuse("ApplicationNameRequiredException", "Application name is required")
	case in.DeploymentGroupName == nil:
		return nil, world.Refuse("DeploymentGroupNameRequiredException", "DeploymentGroup name is required")
	}
	return findGroup(tx, in.ApplicationName, in.DeploymentGroupName)
}

func checkList(in *awscd.ListDeploymentsInput) error {
	for _, st := range in.IncludeOnlyStatuses {
		known := false
		for _, x := range st.Values() {
			known = known || x == st
		}
		if !known {
			return world.Refuse("InvalidDeploymentStatusException", "Unknown deployment status %q", st)
		}
	}
	if r := in.CreateTimeRange; r != nil && r.Start != nil && r.End != nil && r.End.Before(*r.Start) {
		return world.Refuse("InvalidTimeRangeException", "The time range ends before it begins")
	}
	return nil
}

func isListed(d *codedeployer.Deployment, in *awscd.ListDeploymentsInput) bool {
	if r := in.CreateTimeRange; r != nil && (r.Start != nil && d.CreatedAt.Before(*r.Start) || r.End != nil &&
		d.CreatedAt.After(*r.End)) {
		return false
	}
	if val(in.ExternalId) != "" {
		return false // an ExternalId is set by CloudFormation
	}
	for _, st := range in.IncludeOnlyStatuses {
		if string(st) == d.Status {
			return true
		}
	}
	return len(in.IncludeOnlyStatuses) == 0
}
