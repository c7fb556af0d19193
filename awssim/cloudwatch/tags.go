package cloudwatch

import (
	"context"
	"maps"
	"strings"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// ListTagsForResource returns an alarm's tags.
func (s *Service) ListTagsForResource(ctx context.Context,
	in *awscw.ListTagsForResourceInput) (*awscw.ListTagsForResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscw.ListTagsForResourceOutput, error) {
		a, err := alarmByARN(tx, in.ResourceARN)
		if err != nil {
			return nil, err
		}
		return &awscw.ListTagsForResourceOutput{Tags: tagList(docOf(a).tags)}, nil
	})
}

// TagResource adds tags to an alarm, or changes their values.
func (s *Service) TagResource(ctx context.Context, in *awscw.TagResourceInput) (*awscw.TagResourceOutput, error) {
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	return nil, s.updateTags(ctx, in.ResourceARN, func(tags map[string]string) { maps.Copy(tags, tagsOf(in.Tags)) })
}

// UntagResource removes tags from an alarm.
func (s *Service) UntagResource(ctx context.Context, in *awscw.UntagResourceInput) (*awscw.UntagResourceOutput, error) {
	return nil, s.updateTags(ctx, in.ResourceARN, func(tags map[string]string) {
		for _, k := range in.TagKeys {
			delete(tags, k)
		}
	})
}

func (s *Service) updateTags(ctx context.Context, arn *string, change func(map[string]string)) error {
	_, err := runStep(ctx, s, func(tx *world.Tx) (struct{}, error) {
		a, err := alarmByARN(tx, arn)
		if err != nil {
			return struct{}{}, err
		}
		d := *docOf(a)
		tags := maps.Clone(d.tags)
		if tags == nil {
			tags = map[string]string{}
		}
		change(tags)
		if len(tags) > maxTags {
			return struct{}{}, validationError("The number of tags exceeds the maximum of %d", maxTags)
		}
		d.tags = tags
		a.Doc = &d
		return struct{}{}, nil
	})
	return err
}

func alarmByARN(tx *world.Tx, arn *string) (*world.Alarm, error) {
	name, ok := strings.CutPrefix(*arn, tx.ARN("cloudwatch", "alarm:"))
	a, there := tx.Alarms.Get(name)
	if !ok || !there {
		return nil, &world.Refusal{Code: "ResourceNotFoundException", Message: "The resource " + *arn +
			" does not exist.", Status: 404}
	}
	return a, nil
}
