package ecs

import (
	"context"
	"regexp"
	"strings"
	"unicode/utf8"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

const (
	maxTags     = 50
	maxTagKey   = 128
	maxTagValue = 256
)

// tagForm is the form of keys and values (API Reference, Tag).
var tagForm = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

// checkTags rejects tags that AWS rejects.
func checkTags(tags []ecstypes.Tag) error {
	if len(tags) > maxTags {
		return invalidParameter("Too many tags: at most %d are allowed on a resource.", maxTags)
	}
	had := map[string]bool{}
	for _, t := range tags {
		k := val(t.Key)
		switch {
		case k == "":
			return invalidParameter("Tag keys cannot be empty.")
		case utf8.RuneCountInString(k) > maxTagKey:
			return invalidParameter("Tag keys can have at most %d characters.", maxTagKey)
		case utf8.RuneCountInString(val(t.Value)) > maxTagValue:
			return invalidParameter("Tag values can have at most %d characters.", maxTagValue)
		case isReservedKey(k):
			return invalidParameter("Tag keys cannot start with aws: (%s).", k)
		case !tagForm.MatchString(k) || !tagForm.MatchString(val(t.Value)):
			return invalidParameter("Some tags contain invalid characters. Valid characters: UTF-8 letters, spaces, " +
				"numbers and _ . / = + - : @.")
		case had[k]:
			return invalidParameter("Duplicate tag keys found: %s.", k)
		}
		had[k] = true
	}
	return nil
}

func isReservedKey(key string) bool { return strings.HasPrefix(strings.ToLower(key), "aws:") }

func shownTags(tags []ecstypes.Tag) []ecstypes.Tag { return orEmpty(deepCopy(tags)) }

// ServiceTags returns the tags of a service by key.
func ServiceTags(s *world.Service) map[string]string {
	tags := make(map[string]string)
	for _, tag := range docOfService(s).shape.Tags {
		tags[val(tag.Key)] = val(tag.Value)
	}
	return tags
}

// tagsOf returns a pointer to the stored tags of a resource.
func tagsOf(tx *world.Tx, arn string) (*[]ecstypes.Tag, error) {
	kind, rest, _ := strings.Cut(resourcePart(arn), "/")
	if !strings.HasPrefix(arn, "arn:"+tx.Key.Partition()+":ecs:") {
		return nil, invalidParameter("Invalid resource ARN: %s", arn)
	}
	switch kind {
	case "cluster":
		if c, ok := tx.Clusters.Get(rest); ok && c.Status == "ACTIVE" {
			return &docOfCluster(c).Tags, nil
		}
		return nil, world.Refuse("ClusterNotFoundException", "Cluster not found.")
	case "service":
		if s, ok := tx.Services.Get(rest); ok && s.Status == "ACTIVE" && s.ARN == arn {
			return &docOfService(s).shape.Tags, nil
		}
	case "task-set":
		if ts := taskSetByARN(tx, arn); ts != nil {
			return &docOfSet(ts).Tags, nil
		}
	case "task-definition":
		if d, ok := tx.TaskDefinitions.Get(arn); ok {
			return &docOfDefinition(d).tags, nil
		}
	case "task":
		if t, ok := tx.Tasks.Get(arn); ok {
			return &docOfTask(t).tags, nil
		}
	case "container-instance":
		name, _, _ := strings.Cut(rest, "/")
		if c, ok := tx.Clusters.Get(name); ok {
			if i := instanceIn(c, arn); i != nil {
				return &docOfInstance(i).tags, nil
			}
		}
	case "capacity-provider":
		if p, ok := providersOf(tx).Get(rest); ok {
			return &p.doc.Tags, nil
		}
	}
	return nil, invalidParameter("The specified resource was not found: %s", arn)
}

func taskSetByARN(tx *world.Tx, arn string) *world.TaskSet {
	parts := strings.SplitN(resourcePart(arn), "/", 4)
	if len(parts) < 4 {
		return nil
	}
	if s, ok := tx.Services.Get(parts[1] + "/" + parts[2]); ok {
		for _, ts := range s.TaskSets {
			if ts.ARN == arn {
				return ts
			}
		}
	}
	return nil
}

// TagResource sets tags and keeps the others.
func (s *Service) TagResource(ctx context.Context, in *awsecs.TagResourceInput) (*awsecs.TagResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.TagResourceOutput, error) {
		tags, err := tagsOf(tx, val(in.ResourceArn))
		if err != nil {
			return nil, err
		}
		if len(in.Tags) == 0 {
			return nil, invalidParameter("Tags cannot be empty.")
		}
		if err := checkTags(in.Tags); err != nil {
			return nil, err
		}
		merged := mergeTags(*tags, in.Tags)
		if countOwnTags(merged) > maxTags {
			return nil, invalidParameter("Too many tags: at most %d are allowed on a resource.", maxTags)
		}
		*tags = merged
		return &awsecs.TagResourceOutput{}, nil
	})
}

// mergeTags returns a new list: tags, with the values of more set over them.
func mergeTags(tags, more []ecstypes.Tag) []ecstypes.Tag {
	merged := deepCopy(tags)
next:
	for _, t := range deepCopy(more) {
		for i := range merged {
			if val(merged[i].Key) == val(t.Key) {
				merged[i].Value = t.Value
				continue next
			}
		}
		merged = append(merged, t)
	}
	return merged
}

// countOwnTags counts the tags that AWS does not reserve.
func countOwnTags(tags []ecstypes.Tag) (n int) {
	for _, t := range tags {
		if !isReservedKey(val(t.Key)) {
			n++
		}
	}
	return n
}

// UntagResource removes tags. AWS's own tags cannot be removed.
func (s *Service) UntagResource(ctx context.Context, in *awsecs.UntagResourceInput) (*awsecs.UntagResourceOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.UntagResourceOutput, error) {
		tags, err := tagsOf(tx, val(in.ResourceArn))
		if err != nil {
			return nil, err
		}
		for _, k := range in.TagKeys {
			if isReservedKey(k) {
				return nil, invalidParameter("Tag keys cannot start with aws: (%s).", k)
			}
		}
		var kept []ecstypes.Tag
		for _, t := range *tags {
			if !hasItem(in.TagKeys, val(t.Key)) {
				kept = append(kept, t)
			}
		}
		*tags = kept
		return &awsecs.UntagResourceOutput{}, nil
	})
}

// ListTagsForResource returns a resource's tags.
func (s *Service) ListTagsForResource(ctx context.Context,
	in *awsecs.ListTagsForResourceInput) (*awsecs.ListTagsForResourceOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListTagsForResourceOutput, error) {
		tags, err := tagsOf(tx, val(in.ResourceArn))
		if err != nil {
			return nil, err
		}
		return &awsecs.ListTagsForResourceOutput{Tags: shownTags(*tags)}, nil
	})
}
