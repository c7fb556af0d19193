package codedeploy

import (
	"context"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/internal/verdict"
)

// RevisionBefore returns the ARN of the task definition of the group's newest successful deployment
// for which not returns false. It returns "" if AWS returns none. It ignores rollbacks: an earlier
// deployment deployed the revision that they restored.
func (h Client) RevisionBefore(ctx context.Context, g Group, not func(arn string) bool) (string, error) {
	_, arn, err := h.findNewest(ctx, g, func(arn string) bool { return !not(arn) }, cdtypes.DeploymentStatusSucceeded)
	return arn, err
}

// DeploymentOf returns the id of the newest ended deployment of the group whose task definition
// fits. It returns "" if AWS keeps none. It ignores rollbacks, as [Client.RevisionBefore] does.
func (h Client) DeploymentOf(ctx context.Context, g Group, fits func(arn string) bool) (string, error) {
	id, _, err := h.findNewest(ctx, g, fits, cdtypes.DeploymentStatusSucceeded, cdtypes.DeploymentStatusFailed,
		cdtypes.DeploymentStatusStopped)
	return id, err
}

// findNewest returns the id and the task definition ARN of the group's newest deployment in one of
// the states whose task definition fits. It ignores rollbacks.
func (h Client) findNewest(ctx context.Context, g Group, fits func(arn string) bool,
	states ...cdtypes.DeploymentStatus) (id, arn string, err error) {
	ids, err := h.listDeployments(ctx, &g, states)
	if err != nil {
		return "", "", err
	}
	ids = ids[:min(len(ids), batchDeployments)]
	all, err := h.readDeployments(ctx, ids)
	if err != nil {
		return "", "", err
	}
	byID := map[string]*verdict.CodeDeployment{}
	for _, d := range all {
		byID[d.ID] = d
	}
	for _, id := range ids {
		d := byID[id]
		if d == nil || d.IsRollback() {
			continue
		}
		arn, err := h.RevisionOf(ctx, d)
		if err != nil {
			return "", "", err
		}
		if arn != "" && fits(arn) {
			return id, arn, nil
		}
	}
	return "", "", nil
}
