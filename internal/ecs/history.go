package ecs

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// History returns the service deployments that ECS keeps, newest first: those of the last 90 days.
func (s Service) History(ctx context.Context) ([]ecstypes.ServiceDeploymentBrief, error) {
	in := &awsecs.ListServiceDeploymentsInput{Cluster: aws.String(s.Cluster), Service: aws.String(s.Name),
		MaxResults: aws.Int32(100)}
	var all []ecstypes.ServiceDeploymentBrief
	for {
		out, err := s.API.ListServiceDeployments(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list service deployments of %s: %w", s.Resource(), sluice.Inner(err))
		}
		all = append(all, out.ServiceDeployments...)
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			break
		}
	}
	slices.SortStableFunc(all, func(a, b ecstypes.ServiceDeploymentBrief) int {
		return aws.ToTime(b.CreatedAt).Compare(aws.ToTime(a.CreatedAt))
	})
	return all, nil
}

// PastDeployments returns the history with the service revision of each deployment.
func (s Service) PastDeployments(ctx context.Context) ([]plan.PastDeployment, error) {
	briefs, err := s.History(ctx)
	if err != nil {
		return nil, err
	}
	var arns []string
	for _, b := range briefs {
		if arn := aws.ToString(b.TargetServiceRevisionArn); arn != "" && !slices.Contains(arns, arn) {
			arns = append(arns, arn)
		}
	}
	revisions, err := s.readServiceRevisions(ctx, arns)
	past := make([]plan.PastDeployment, 0, len(briefs))
	for _, b := range briefs {
		past = append(past, plan.PastDeployment{ARN: aws.ToString(b.ServiceDeploymentArn), Status: string(b.Status),
			CreatedAt: aws.ToTime(b.CreatedAt),
			Revision:  revisions[aws.ToString(b.TargetServiceRevisionArn)]})
	}
	return past, err
}

// readServiceRevisions reads service revisions by ARN. The result omits revisions that AWS does not
// keep any more.
func (s Service) readServiceRevisions(ctx context.Context, arns []string) (map[string]*ecstypes.ServiceRevision,
	error) {
	found := map[string]*ecstypes.ServiceRevision{}
	for batch := range slices.Chunk(arns, RecordBatch) {
		out, err := s.API.DescribeServiceRevisions(ctx,
			&awsecs.DescribeServiceRevisionsInput{ServiceRevisionArns: batch})
		if err != nil {
			return nil, fmt.Errorf("read service revisions of %s: %w", s.Resource(), sluice.Inner(err))
		}
		for i, r := range out.ServiceRevisions {
			found[aws.ToString(r.ServiceRevisionArn)] = &out.ServiceRevisions[i]
		}
	}
	return found, nil
}

// Record reads one service deployment. It returns the zero Record if AWS does not know the
// deployment.
func (s Service) Record(ctx context.Context, arn string) (verdict.Record, error) {
	all, err := NewRecords(s.API).Read(ctx, []string{arn})
	if err != nil || len(all) == 0 {
		return verdict.Record{}, err
	}
	return all[0], nil
}

// RecordState is Record without the names of the task definitions, which need another read.
func (s Service) RecordState(ctx context.Context, arn string) (verdict.Record, error) {
	r := NewRecords(s.API)
	found, err := r.readDeployments(ctx, []string{arn})
	if err != nil || len(found) == 0 {
		return verdict.Record{}, err
	}
	return r.newRecord(found[0]), nil
}
