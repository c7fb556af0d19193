package elbv2

import (
	"context"
	"slices"
	"strings"

	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const maxTags = 50 // per resource

// tags are a resource's tags, in the order in which they were added.
type tags []tag

type tag struct{ key, value string }

func newTags(in []elbtypes.Tag) (tags, error) { return tags(nil).withTags(in) }

// withTags returns t with more tags; an existing key gets the new value.
func (t tags) withTags(in []elbtypes.Tag) (tags, error) {
	out := slices.Clone(t)
	seen := map[string]bool{}
	for _, x := range in {
		k := val(x.Key)
		switch {
		case k == "" || len(k) > 128 || len(val(x.Value)) > 256:
			return nil, validationError("Tag keys have 1 to 128 characters, tag values at most 256")
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			return nil, validationError("Tag keys starting with 'aws:' are reserved for system use")
		case seen[k]:
			return nil, world.Refuse("DuplicateTagKeys", "A tag key was specified more than once: '%s'", k)
		}
		seen[k] = true
		if i := slices.IndexFunc(out, func(y tag) bool { return y.key == k }); i >= 0 {
			out[i].value = val(x.Value)
			continue
		}
		out = append(out, tag{k, val(x.Value)})
	}
	if len(out) > maxTags {
		return nil, world.Refuse("TooManyTags", "The maximum number of tags per resource is '%d'", maxTags)
	}
	return out, nil
}

func (t tags) shapeTags() []elbtypes.Tag {
	out := []elbtypes.Tag{}
	for _, x := range t {
		out = append(out, elbtypes.Tag{Key: ptr(x.key), Value: ptr(x.value)})
	}
	return out
}

// tagsOf returns the stored tags of a resource.
func tagsOf(tx *world.Tx, arn string) (*tags, error) {
	_, kind, _ := strings.Cut(arn, ":elasticloadbalancing:")
	parts := strings.SplitN(kind, ":", 3)
	kind = parts[len(parts)-1]
	switch kind, _, _ = strings.Cut(kind, "/"); kind {
	case "loadbalancer":
		lb, err := findBalancer(tx, &arn)
		if err != nil {
			return nil, err
		}
		return &balancerOf(lb).tags, nil
	case "targetgroup":
		g, err := findGroup(tx, &arn)
		if err != nil {
			return nil, err
		}
		return &groupOf(g).tags, nil
	case "listener":
		l, err := findListener(tx, &arn)
		if err != nil {
			return nil, err
		}
		return &listenerOf(l).tags, nil
	case "listener-rule":
		r, err := findRule(tx, &arn)
		if err != nil {
			return nil, err
		}
		return &ruleOf(r).tags, nil
	}
	return nil, validationError("'%s' is not a valid ARN of a load balancer, target group, listener or rule", arn)
}

// tagsOfAll returns the tags of all resources that a call names, before it changes any.
func tagsOfAll(tx *world.Tx, arns []string) ([]*tags, error) {
	if len(arns) == 0 || len(arns) > 20 {
		return nil, validationError("From 1 to 20 resource ARNs must be specified")
	}
	return mapEach(arns, func(arn string) (*tags, error) { return tagsOf(tx, arn) })
}

// AddTags adds or replaces tags of load balancers, groups, listeners and rules.
func (s *Service) AddTags(ctx context.Context, in *awselb.AddTagsInput) (*awselb.AddTagsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.AddTagsOutput, error) {
		all, err := tagsOfAll(tx, in.ResourceArns)
		if err != nil {
			return nil, err
		}
		next := make([]tags, len(all))
		for i, t := range all {
			if next[i], err = t.withTags(in.Tags); err != nil {
				return nil, err
			}
		}
		for i, t := range all {
			*t = next[i]
		}
		return &awselb.AddTagsOutput{}, nil
	})
}

// RemoveTags removes tags by key; it ignores missing keys.
func (s *Service) RemoveTags(ctx context.Context, in *awselb.RemoveTagsInput) (*awselb.RemoveTagsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.RemoveTagsOutput, error) {
		all, err := tagsOfAll(tx, in.ResourceArns)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			*t = slices.DeleteFunc(slices.Clone(*t), func(x tag) bool { return slices.Contains(in.TagKeys, x.key) })
		}
		return &awselb.RemoveTagsOutput{}, nil
	})
}

// DescribeTags lists the tags of up to 20 resources.
func (s *Service) DescribeTags(ctx context.Context, in *awselb.DescribeTagsInput) (*awselb.DescribeTagsOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awselb.DescribeTagsOutput, error) {
		all, err := tagsOfAll(tx, in.ResourceArns)
		if err != nil {
			return nil, err
		}
		out := &awselb.DescribeTagsOutput{TagDescriptions: []elbtypes.TagDescription{}}
		for i, t := range all {
			out.TagDescriptions = append(out.TagDescriptions,
				elbtypes.TagDescription{ResourceArn: ptr(in.ResourceArns[i]), Tags: t.shapeTags()})
		}
		return out, nil
	})
}
