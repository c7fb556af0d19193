package ecs

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
)

// OlderRevisions returns the ACTIVE revisions of a family after the newest keep, at most limit of
// them, newest first.
func OlderRevisions(ctx context.Context, api *awsecs.Client, family string, keep, limit int) ([]Revision, error) {
	var all []Revision
	in := &awsecs.ListTaskDefinitionsInput{FamilyPrefix: aws.String(family), Sort: ecstypes.SortOrderDesc,
		Status: ecstypes.TaskDefinitionStatusActive, MaxResults: aws.Int32(100)}
	for {
		out, err := api.ListTaskDefinitions(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list revisions of %s: %w", family, sluice.Inner(err))
		}
		for _, arn := range out.TaskDefinitionArns {
			all = append(all, Revision{ARN: arn, Name: sluice.RevisionOf(arn)})
		}
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" || len(all) >= keep+limit {
			return all[min(keep, len(all)):min(keep+limit, len(all))], nil
		}
	}
}

// TaggedRevision reports whether a revision has the tag with that value.
func TaggedRevision(ctx context.Context, api *awsecs.Client, rev Revision, key, value string) (bool, error) {
	out, err := api.DescribeTaskDefinition(ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String(rev.ARN),
		Include: []ecstypes.TaskDefinitionField{ecstypes.TaskDefinitionFieldTags}})
	if err != nil {
		return false, fmt.Errorf("read task definition %s: %w", rev.Name, sluice.Inner(err))
	}
	return tagMap(out.Tags)[key] == value, nil
}

// UsedRevisions returns the revisions of the deployments and task sets of the service. It includes
// the revisions that any task of the family runs, in every cluster of the Region, whoever started
// it.
func (s Service) UsedRevisions(ctx context.Context, family string) (map[string]bool, error) {
	used := map[string]bool{}
	use := func(arn *string) { used[sluice.RevisionOf(aws.ToString(arn))] = true }
	live, err := s.Observe(ctx)
	if err != nil {
		return nil, err
	}
	if live != nil {
		use(live.Raw.TaskDefinition)
		for _, d := range live.Raw.Deployments {
			use(d.TaskDefinition)
		}
		for _, ts := range live.Raw.TaskSets {
			use(ts.TaskDefinition)
		}
	}
	clusters, err := s.ListClusters(ctx)
	for _, c := range clusters {
		in := Service{API: s.API, Cluster: c}
		arns, err := in.listTasks(ctx, awsecs.ListTasksInput{Family: aws.String(family)})
		if err != nil {
			return nil, err
		}
		tasks, err := in.describeTasks(ctx, arns)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			use(t.TaskDefinitionArn)
		}
	}
	return used, err
}

// ListClusters returns the ARNs of all clusters of the Region.
func (s Service) ListClusters(ctx context.Context) (all []string, err error) {
	in := &awsecs.ListClustersInput{}
	for {
		out, err := s.API.ListClusters(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("list clusters: %w", sluice.Inner(err))
		}
		all = append(all, out.ClusterArns...)
		if in.NextToken = out.NextToken; aws.ToString(in.NextToken) == "" {
			return all, nil
		}
	}
}

// WithTag returns a task definition with one more tag.
func WithTag(task *definition.Task, key, value string) *definition.Task {
	t, in := *task, *task.Input
	in.Tags = append(slices.Clone(in.Tags), ecstypes.Tag{Key: aws.String(key), Value: aws.String(value)})
	t.Input = &in
	return &t
}

// Deregister makes a revision INACTIVE: no new task can be started from it. Its running tasks
// continue.
func Deregister(ctx context.Context, api *awsecs.Client, act sluice.Act, label string, rev Revision) error {
	planned := sluice.Write{Operation: "ecs:DeregisterTaskDefinition", Resource: label}
	actual := sluice.Write{Operation: "ecs:DeregisterTaskDefinition", Resource: rev.Name}
	return act(ctx, sluice.Attempt{Action: "deregister " + rev.Name, Planned: planned, Actual: actual},
		func(ctx context.Context) (string, error) {
			_, err := api.DeregisterTaskDefinition(ctx,
				&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String(rev.ARN)})
			return "INACTIVE", err
		})
}
