package cloudwatchlogs

import (
	"context"
	"maps"
	"strings"

	awslogs "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxTags = 50

func checkTags(tags map[string]string) error {
	if len(tags) > maxTags {
		return world.Refuse("TooManyTagsException", "A resource can have no more than %d tags.", maxTags)
	}
	return nil
}

// groupByARN returns a group by its ARN, with or without ":*".
func groupByARN(tx *world.Tx, arn *string) (*world.LogGroup, error) {
	name, ok := strings.CutPrefix(val(arn), tx.ARN("logs", "log-group:"))
	g, there := tx.LogGroups.Get(strings.TrimSuffix(name, ":*"))
	if !ok || !there {
		return nil, world.Refuse("ResourceNotFoundException", "The specified resource does not exist.")
	}
	return g, nil
}

// ListTagsForResource returns a group's tags.
func (s *Service) ListTagsForResource(ctx context.Context,
	in *awslogs.ListTagsForResourceInput) (*awslogs.ListTagsForResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.ListTagsForResourceOutput, error) {
		g, err := groupByARN(tx, in.ResourceArn)
		if err != nil {
			return nil, err
		}
		return &awslogs.ListTagsForResourceOutput{Tags: maps.Clone(docOf(g).tags)}, nil
	})
}

// TagResource adds tags to a group, or changes their values.
func (s *Service) TagResource(ctx context.Context, in *awslogs.TagResourceInput) (*awslogs.TagResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.TagResourceOutput, error) {
		g, err := groupByARN(tx, in.ResourceArn)
		if err != nil {
			return nil, err
		}
		tags := maps.Clone(docOf(g).tags)
		maps.Copy(tags, in.Tags)
		if err := checkTags(tags); err != nil {
			return nil, err
		}
		docOf(g).tags = tags
		return nil, nil
	})
}

// UntagResource removes tags from a group.
func (s *Service) UntagResource(ctx context.Context, in *awslogs.UntagResourceInput) (*awslogs.UntagResourceOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awslogs.UntagResourceOutput, error) {
		g, err := groupByARN(tx, in.ResourceArn)
		if err != nil {
			return nil, err
		}
		for _, k := range in.TagKeys {
			delete(docOf(g).tags, k)
		}
		return nil, nil
	})
}
