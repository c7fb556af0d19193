package stage

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Before is what a rollback of a service that somebody else deployed is planned
// from.
type Before struct {
	Live plan.Live
	Back plan.Return
	Task *ecstypes.TaskDefinition // of Back.To; nil if there is nothing to roll back
}

// SurveyBack reads a service and its history, and decides what a rollback
// returns to; to is family:revision, or empty. It writes nothing.
func SurveyBack(ctx context.Context, a *account.Account, c clock.Clock, cluster, service, to string) (Before, error) {
	out := Before{Live: plan.Live{Region: a.Region()}}
	var err error
	if out.Live.Account, err = a.ID(ctx); err != nil {
		return out, err
	}
	hand := ecs.Service{API: a.ECS(), Cluster: cluster, Name: service}
	if err := surveyNow(ctx, a, c, hand, &out.Live); err != nil {
		return out, err
	}
	var past []plan.Past
	if keepsHistory(out.Live.Service) {
		if past, err = history(ctx, hand); err != nil {
			return out, err
		}
	}
	out.Back, err = plan.Back(sluice.ARNName(cluster), out.Live.Service, past, to)
	if err != nil || out.Back.Nothing != "" {
		return out, err
	}
	out.Task, err = ecs.Definition(ctx, a.ECS(), out.Back.To)
	return out, err
}

// keepsHistory: ECS keeps one for its own controller alone.
func keepsHistory(s *ecstypes.Service) bool {
	if s == nil || aws.ToString(s.Status) != "ACTIVE" {
		return false
	}
	return s.DeploymentController == nil || s.DeploymentController.Type == "" || s.DeploymentController.Type == ecstypes.DeploymentControllerTypeEcs
}

func history(ctx context.Context, hand ecs.Service) ([]plan.Past, error) {
	briefs, err := hand.History(ctx)
	if err != nil {
		return nil, err
	}
	var arns []string
	for _, b := range briefs {
		if arn := aws.ToString(b.TargetServiceRevisionArn); arn != "" && !slices.Contains(arns, arn) {
			arns = append(arns, arn)
		}
	}
	revisions, err := hand.ServiceRevisions(ctx, arns)
	past := make([]plan.Past, 0, len(briefs))
	for _, b := range briefs {
		past = append(past, plan.Past{ARN: aws.ToString(b.ServiceDeploymentArn), Status: string(b.Status),
			Revision: revisions[aws.ToString(b.TargetServiceRevisionArn)]})
	}
	return past, err
}
