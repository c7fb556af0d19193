package codedeploy

import (
	"context"
	"slices"
	"strings"

	awscd "github.com/aws/aws-sdk-go-v2/service/codedeploy"
	cdtypes "github.com/aws/aws-sdk-go-v2/service/codedeploy/types"

	"github.com/sluice-ecs/sluice/awssim/codedeployer"
	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxTags = 50

// arnOf returns the ARN of an application, or of a group of it. CodeDeploy's ARNs have a colon
// before the name.
func arnOf(tx *world.Tx, app, group string) string {
	if group == "" {
		return tx.ARN("codedeploy", "application:"+app)
	}
	return tx.ARN("codedeploy", "deploymentgroup:"+app+"/"+group)
}

// setTags adds tags to those of a resource, or replaces their values. It adds none if one is
// refused.
func setTags(tx *world.Tx, arn string, tags []cdtypes.Tag) error {
	st := stateOf(tx)
	next := slices.Clone(st.tags[arn])
	for _, t := range wire.Clone(tags) {
		k := val(t.Key)
		if k == "" || len(k) > 128 || strings.HasPrefix(strings.ToLower(k), "aws:") {
			return world.Refuse("InvalidTagsToAddException",
				"A tag key has 1 to 128 characters and does not begin with aws:")
		}
		if i := slices.IndexFunc(next, func(x cdtypes.Tag) bool { return val(x.Key) == k }); i >= 0 {
			next[i] = t
		} else {
			next = append(next, t)
		}
	}
	if len(next) > maxTags {
		return world.Refuse("TagLimitExceededException", "The maximum allowed number of tags is %d.", maxTags)
	}
	if st.tags == nil {
		st.tags = map[string][]cdtypes.Tag{}
	}
	st.tags[arn] = next
	return nil
}

func deleteTags(tx *world.Tx, arn string) { delete(stateOf(tx).tags, arn) }

// checkTaggedARN refuses an ARN that names no existing application or group.
func checkTaggedARN(tx *world.Tx, arn *string) (string, error) {
	if val(arn) == "" {
		return "", world.Refuse("ResourceArnRequiredException", "The resource ARN is required.")
	}
	for _, a := range codedeployer.StateOf(tx).Applications.All() {
		if *arn == arnOf(tx, a.Name, "") {
			return *arn, nil
		}
		for _, g := range a.Groups.Keys() {
			if *arn == arnOf(tx, a.Name, g) {
				return *arn, nil
			}
		}
	}
	if !strings.HasPrefix(*arn, "arn:"+tx.Key.Partition()+":codedeploy:") {
		return "", world.Refuse("InvalidArnException", "The specified ARN is not in a valid format: %s", *arn)
	}
	return "", world.Refuse("InvalidArnException", "The specified ARN does not exist: %s", *arn)
}

// TagResource adds tags to an application or a group, or changes their values.
func (s *Service) TagResource(ctx context.Context, in *awscd.TagResourceInput) (*awscd.TagResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.TagResourceOutput, error) {
		arn, err := checkTaggedARN(tx, in.ResourceArn)
		if err != nil {
			return nil, err
		}
		return &awscd.TagResourceOutput{}, setTags(tx, arn, in.Tags)
	})
}

// UntagResource removes tags; it ignores missing keys.
func (s *Service) UntagResource(ctx context.Context, in *awscd.UntagResourceInput) (*awscd.UntagResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.UntagResourceOutput, error) {
		arn, err := checkTaggedARN(tx, in.ResourceArn)
		if err != nil {
			return nil, err
		}
		tags := stateOf(tx).tags
		tags[arn] = slices.DeleteFunc(tags[arn],
			func(t cdtypes.Tag) bool { return slices.Contains(in.TagKeys, val(t.Key)) })
		return &awscd.UntagResourceOutput{}, nil
	})
}

// ListTagsForResource returns the tags of an application or a group.
func (s *Service) ListTagsForResource(ctx context.Context,
	in *awscd.ListTagsForResourceInput) (*awscd.ListTagsForResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awscd.ListTagsForResourceOutput, error) {
		arn, err := checkTaggedARN(tx, in.ResourceArn)
		if err != nil {
			return nil, err
		}
		return &awscd.ListTagsForResourceOutput{Tags: append([]cdtypes.Tag{}, stateOf(tx).tags[arn]...)}, nil
	})
}
