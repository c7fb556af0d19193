package applicationautoscaling

import (
	"context"
	"maps"
	"strings"

	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxTags = 50

// targetDoc holds the data of a target that no controller reads.
type targetDoc struct {
	role string
	tags map[string]string
}

func docOf(t *autoscaler.Target) *targetDoc { return t.Doc.(*targetDoc) }

// addTags adds tags to those of a target, or replaces their values. It adds none if one is refused.
func addTags(t *autoscaler.Target, tags map[string]string) error {
	next := maps.Clone(docOf(t).tags)
	maps.Copy(next, tags)
	for k := range tags {
		if k == "" || len(k) > 128 || strings.HasPrefix(strings.ToLower(k), "aws:") {
			return validationError(
				"The tag key is not valid: a key has 1 to 128 characters and does not begin with aws:")
		}
	}
	if len(next) > maxTags {
		return world.Refuse("TooManyTagsException", "The resource can have at most %d tags", maxTags)
	}
	docOf(t).tags = next
	return nil
}

func targetByARN(tx *world.Tx, arn *string) (*autoscaler.Target, error) {
	for _, t := range autoscaler.StateOf(tx).Targets.All() {
		if t.ARN == *arn {
			return t, nil
		}
	}
	return nil, &world.Refusal{Code: "ResourceNotFoundException", Message: "No scalable target found for ARN: " + *arn,
		Fields: map[string]any{"ResourceName": *arn}}
}

// TagResource adds tags to a scalable target, or changes their values.
func (s *Service) TagResource(ctx context.Context, in *awsaas.TagResourceInput) (*awsaas.TagResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.TagResourceOutput, error) {
		t, err := targetByARN(tx, in.ResourceARN)
		if err != nil {
			return nil, err
		}
		return &awsaas.TagResourceOutput{}, addTags(t, in.Tags)
	})
}

// UntagResource removes tags; it ignores missing keys.
func (s *Service) UntagResource(ctx context.Context, in *awsaas.UntagResourceInput) (*awsaas.UntagResourceOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.UntagResourceOutput, error) {
		t, err := targetByARN(tx, in.ResourceARN)
		if err != nil {
			return nil, err
		}
		for _, k := range in.TagKeys {
			delete(docOf(t).tags, k)
		}
		return &awsaas.UntagResourceOutput{}, nil
	})
}

// ListTagsForResource returns a scalable target's tags.
func (s *Service) ListTagsForResource(ctx context.Context,
	in *awsaas.ListTagsForResourceInput) (*awsaas.ListTagsForResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsaas.ListTagsForResourceOutput, error) {
		t, err := targetByARN(tx, in.ResourceARN)
		if err != nil {
			return nil, err
		}
		return &awsaas.ListTagsForResourceOutput{Tags: maps.Clone(docOf(t).tags)}, nil
	})
}
