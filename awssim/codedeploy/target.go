package codedeploy

import (
	"context"
	"slices"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func targetID(d *codedeployer.Deployment) string {
	return d.Settings.Cluster + ":" + d.Settings.Service
}

func targetStatus(d *codedeployer.Deployment) cdtypes.TargetStatus {
	switch d.Status {
	case codedeployer.Created:
		return cdtypes.TargetStatusPending
	case codedeployer.Stopped:
		return cdtypes.TargetStatusSkipped
	}
	return cdtypes.TargetStatus(d.Status)
}

// ListDeploymentTargets lists the one target: "<cluster>:<service>".
func (s *Service) ListDeploymentTargets(ctx context.Context,
	in *awscd.ListDeploymentTargetsInput) (*awscd.ListDeploymentTargetsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.ListDeploymentTargetsOutput, error) {
		d, err := findDeployment(tx, in.DeploymentId)
		if err != nil {
			return nil, err
		}
		ids := []string{targetID(d)}
		for name, values := range in.TargetFilters {
			switch name {
			case string(cdtypes.TargetFilterNameTargetStatus):
				if !slices.Contains(values, string(targetStatus(d))) {
					ids = nil
				}
			case string(cdtypes.TargetFilterNameServerInstanceLabel):
			default:
				return nil, world.Refuse("InvalidTargetFilterNameException", "Unknown target filter %q", name)
			}
		}
		ids, next, err := pageOf(ids, in.NextToken)
		return &awscd.ListDeploymentTargetsOutput{TargetIds: ids, NextToken: next}, err
	})
}

// GetDeploymentTarget returns the target.
func (s *Service) GetDeploymentTarget(ctx context.Context,
	in *awscd.GetDeploymentTargetInput) (*awscd.GetDeploymentTargetOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.GetDeploymentTargetOutput, error) {
		d, err := findDeployment(tx, in.DeploymentId)
		if err != nil {
			return nil, err
		}
		if val(in.TargetId) == "" {
			return nil, world.Refuse("DeploymentTargetIdRequiredException", "The target ID is required")
		}
		t, err := showTarget(d, *in.TargetId)
		return &awscd.GetDeploymentTargetOutput{DeploymentTarget: t}, err
	})
}

// BatchGetDeploymentTargets returns up to 25 targets, of which an ECS deployment has one.
func (s *Service) BatchGetDeploymentTargets(ctx context.Context,
	in *awscd.BatchGetDeploymentTargetsInput) (*awscd.BatchGetDeploymentTargetsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.BatchGetDeploymentTargetsOutput, error) {
		d, err := findDeployment(tx, in.DeploymentId)
		switch {
		case err != nil:
			return nil, err
		case len(in.TargetIds) == 0:
			return nil, world.Refuse("DeploymentTargetIdRequiredException", "The target IDs are required")
		case len(in.TargetIds) > maxDeploymentBatch:
			return nil, world.Refuse("DeploymentTargetListSizeExceededException",
				"The number of target IDs must not exceed %d", maxDeploymentBatch)
		}
		out := &awscd.BatchGetDeploymentTargetsOutput{}
		for _, id := range in.TargetIds {
			t, err := showTarget(d, id)
			if err != nil {
				return nil, err
			}
			out.DeploymentTargets = append(out.DeploymentTargets, *t)
		}
		return out, nil
	})
}

func showTarget(d *codedeployer.Deployment, id string) (*cdtypes.DeploymentTarget, error) {
	if id != targetID(d) {
		return nil, world.Refuse("DeploymentTargetDoesNotExistException",
			"The target %s does not exist in deployment %s", id, d.ID)
	}
	t := &cdtypes.ECSTarget{DeploymentId: ptr(d.ID), LastUpdatedAt: optionalTime(d.Updated), Status: targetStatus(d),
		TargetId: ptr(id)}
	if d.Service != nil {
		t.TargetArn = ptr(d.Service.ARN)
	}
	for _, e := range d.Events {
		t.LifecycleEvents = append(t.LifecycleEvents, showEvent(e))
	}
	if d.Blue != nil {
		t.TaskSetsInfo = append(t.TaskSetsInfo, showSet(d.Blue, d.BlueGroup, cdtypes.TargetLabelBlue, 100-d.Weight))
	}
	if d.Green != nil {
		t.TaskSetsInfo = append(t.TaskSetsInfo, showSet(d.Green, d.GreenGroup, cdtypes.TargetLabelGreen, d.Weight))
	}
	return &cdtypes.DeploymentTarget{DeploymentTargetType: cdtypes.DeploymentTargetTypeEcsTarget, EcsTarget: t}, nil
}

func showEvent(e *codedeployer.Event) cdtypes.LifecycleEvent {
	out := cdtypes.LifecycleEvent{LifecycleEventName: ptr(e.Name), Status: cdtypes.LifecycleEventStatus(e.Status),
		StartTime: optionalTime(e.Start), EndTime: optionalTime(e.End)}
	if e.Error != "" {
		out.Diagnostics = &cdtypes.Diagnostics{ErrorCode: cdtypes.LifecycleErrorCode(e.Error),
			ScriptName: optionalText(e.Function), Message: optionalText(e.Message)}
	}
	return out
}

func showSet(ts *world.TaskSet, g *world.TargetGroup, label cdtypes.TargetLabel, weight float64) cdtypes.ECSTaskSet {
	pending := ts.Count(func(t *world.Task) bool {
		return t.LastStatus == "PROVISIONING" || t.LastStatus == "PENDING" || t.LastStatus == "ACTIVATING"
	})
	out := cdtypes.ECSTaskSet{Identifer: ptr(ts.ID), Status: ptr(ts.Status), TaskSetLabel: label, TrafficWeight: weight,
		DesiredCount: int64(ts.Computed), RunningCount: int64(ts.Count((*world.Task).IsRunning)),
		PendingCount: int64(pending)}
	if g != nil {
		out.TargetGroup = &cdtypes.TargetGroupInfo{Name: ptr(g.Name)}
	}
	return out
}
