package servicediscovery

import (
	"context"
	"slices"
	"strings"

	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func checkTags(tags []sdtypes.Tag) error {
	if len(tags) > maxTags {
		return world.Refuse("TooManyTagsException",
			"The list of tags on the resource is over the limit. The maximum number of tags that can be applied to "+
				"a resource is %d.", maxTags)
	}
	for _, t := range tags {
		if strings.HasPrefix(strings.ToLower(*t.Key), "aws:") {
			return invalidInput("Tag keys starting with 'aws:' are reserved for AWS use")
		}
	}
	return nil
}

func copyTags(tags []sdtypes.Tag) []sdtypes.Tag {
	out := make([]sdtypes.Tag, 0, len(tags))
	for _, t := range tags {
		out = append(out, sdtypes.Tag{Key: ptr(val(t.Key)), Value: ptr(val(t.Value))})
	}
	return out
}

// tagsOf returns the tags of a namespace or service by ARN.
func tagsOf(tx *world.Tx, arn *string) (*[]sdtypes.Tag, error) {
	if r, ok := tx.Registries.Get(*arn); ok {
		return &docOfService(r).tags, nil
	}
	if n, err := namespaceOf(tx, arn); err == nil && n.ARN == *arn {
		return &docOfNamespace(n).tags, nil
	}
	return nil, world.Refuse("ResourceNotFoundException", "Resource with ARN %s not found", *arn)
}

// ListTagsForResource returns a resource's tags.
func (s *Service) ListTagsForResource(ctx context.Context,
	in *awssd.ListTagsForResourceInput) (*awssd.ListTagsForResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.ListTagsForResourceOutput, error) {
		tags, err := tagsOf(tx, in.ResourceARN)
		if err != nil {
			return nil, err
		}
		return &awssd.ListTagsForResourceOutput{Tags: copyTags(*tags)}, nil
	})
}

// TagResource adds tags to a resource, or changes their values.
func (s *Service) TagResource(ctx context.Context, in *awssd.TagResourceInput) (*awssd.TagResourceOutput, error) {
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.TagResourceOutput, error) {
		tags, err := tagsOf(tx, in.ResourceARN)
		if err != nil {
			return nil, err
		}
		next := slices.Clone(*tags)
		for _, t := range copyTags(in.Tags) {
			if i := slices.IndexFunc(next, func(x sdtypes.Tag) bool { return *x.Key == *t.Key }); i >= 0 {
				next[i] = t
			} else {
				next = append(next, t)
			}
		}
		if err := checkTags(next); err != nil {
			return nil, err
		}
		*tags = next
		return &awssd.TagResourceOutput{}, nil
	})
}

// UntagResource removes tags from a resource.
func (s *Service) UntagResource(ctx context.Context, in *awssd.UntagResourceInput) (*awssd.UntagResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awssd.UntagResourceOutput, error) {
		tags, err := tagsOf(tx, in.ResourceARN)
		if err != nil {
			return nil, err
		}
		*tags = slices.DeleteFunc(slices.Clone(*tags),
			func(t sdtypes.Tag) bool { return slices.Contains(in.TagKeys, *t.Key) })
		return &awssd.UntagResourceOutput{}, nil
	})
}
