package codedeploy

import (
	"context"

	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/internal/verdict"
)

// Before is the ARN of the task definition that the newest of the group's good
// deployments brought and that is not one of others; empty if AWS tells of none.
// Rollbacks are no deployments of their own here: what they returned to was brought
// by an earlier one.
func (h Hand) Before(ctx context.Context, g Group, not func(arn string) bool) (string, error) {
	ids, err := h.list(ctx, &g, []cdtypes.DeploymentStatus{cdtypes.DeploymentStatusSucceeded})
	if err != nil {
		return "", err
	}
	all, err := h.batch(ctx, ids[:min(len(ids), batchDeployments)])
	if err != nil {
		return "", err
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
		if err != nil || arn != "" && !not(arn) {
			return arn, err
		}
	}
	return "", nil
}

// Brought is the id of the newest ended deployment of the group that brought a task
// definition which fits; empty if AWS keeps none. Rollbacks are left out, as in
// [Hand.Before].
func (h Hand) Brought(ctx context.Context, g Group, fits func(arn string) bool) (string, error) {
	ids, err := h.list(ctx, &g, []cdtypes.DeploymentStatus{cdtypes.DeploymentStatusSucceeded, cdtypes.DeploymentStatusFailed, cdtypes.DeploymentStatusStopped})
	if err != nil {
		return "", err
	}
	ids = ids[:min(len(ids), batchDeployments)]
	all, err := h.batch(ctx, ids)
	if err != nil {
		return "", err
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
		if err != nil || arn != "" && fits(arn) {
			return id, err
		}
	}
	return "", nil
}
