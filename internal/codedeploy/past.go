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
	_, arn, err := h.newest(ctx, g, func(arn string) bool { return !not(arn) }, cdtypes.DeploymentStatusSucceeded)
	return arn, err
}

// Brought is the id of the newest ended deployment of the group that brought a task
// definition which fits; empty if AWS keeps none. Rollbacks are left out, as in
// [Hand.Before].
func (h Hand) Brought(ctx context.Context, g Group, fits func(arn string) bool) (string, error) {
	id, _, err := h.newest(ctx, g, fits, cdtypes.DeploymentStatusSucceeded, cdtypes.DeploymentStatusFailed, cdtypes.DeploymentStatusStopped)
	return id, err
}

// newest is the id of the group's newest deployment in one of the states that is no
// rollback and brought a task definition which fits, with that one's ARN.
func (h Hand) newest(ctx context.Context, g Group, fits func(arn string) bool, states ...cdtypes.DeploymentStatus) (id, arn string, err error) {
	ids, err := h.list(ctx, &g, states)
	if err != nil {
		return "", "", err
	}
	ids = ids[:min(len(ids), batchDeployments)]
	all, err := h.batch(ctx, ids)
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
