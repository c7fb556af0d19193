package codedeploy

import (
	"context"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// ended are the states of a deployment that has ended.
func ended() []cdtypes.DeploymentStatus {
	return []cdtypes.DeploymentStatus{cdtypes.DeploymentStatusSucceeded, cdtypes.DeploymentStatusFailed,
		cdtypes.DeploymentStatusStopped}
}

// PastShifts returns the group's deployments that have ended, newest first. It ignores rollbacks by CodeDeploy: an
// earlier deployment deployed the revision that they restored.
func (h Client) PastShifts(ctx context.Context, g Group) (all []plan.PastShift, err error) {
	err = h.eachPast(ctx, g, func(d *verdict.CodeDeployment, arn string) bool {
		all = append(all, plan.PastShift{Revision: sluice.RevisionOf(arn),
			Succeeded: d.Status == string(cdtypes.DeploymentStatusSucceeded), Returns: isReturn(d.Description)})
		return true
	}, ended()...)
	return all, err
}

// DeploymentOf returns the id of the newest deployment of the group that has ended and whose task definition
// fits. It returns "" if AWS keeps none. It ignores rollbacks, as [Client.PastShifts] does.
func (h Client) DeploymentOf(ctx context.Context, g Group, fits func(arn string) bool) (id string, err error) {
	err = h.eachPast(ctx, g, func(d *verdict.CodeDeployment, arn string) bool {
		if fits(arn) {
			id = d.ID
		}
		return id == ""
	}, ended()...)
	return id, err
}

// eachPast calls visit with the group's deployments in one of the states and their task definitions, newest first, until
// it returns false. It ignores rollbacks.
func (h Client) eachPast(ctx context.Context, g Group, visit func(d *verdict.CodeDeployment, arn string) bool,
	states ...cdtypes.DeploymentStatus) error {
	ids, err := h.listDeployments(ctx, &g, states)
	if err != nil {
		return err
	}
	ids = ids[:min(len(ids), batchDeployments)]
	all, err := h.readDeployments(ctx, ids)
	if err != nil {
		return err
	}
	byID, byHash := map[string]*verdict.CodeDeployment{}, map[string]string{}
	for _, d := range all {
		byID[d.ID] = d
	}
	for _, id := range ids {
		d := byID[id]
		if d == nil || d.IsRollback() {
			continue
		}
		arn, known := byHash[d.SHA256]
		if !known {
			if arn, err = h.RevisionOf(ctx, d); err != nil {
				return err
			}
			byHash[d.SHA256] = arn
		}
		if arn != "" && !visit(d, arn) {
			return nil
		}
	}
	return nil
}
