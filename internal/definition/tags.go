package definition

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// WithTags returns the service with more tags. A tag of the same key gets the new value.
func (s *Service) WithTags(tags map[string]string) *Service {
	out, in := *s, *s.Input
	in.Tags = mergeTags(in.Tags, tags)
	out.Input, out.Given = &in, maps.Clone(s.Given)
	out.Given["tags"] = true
	return &out
}

// WithOtherTags returns the task definition with the tags of another one whose keys it does not have, and these keys. It
// omits tags that AWS or sluice set.
func (t *Task) WithOtherTags(others []ecstypes.Tag) (*Task, []string) {
	in := *t.Input
	in.Tags = slices.Clone(in.Tags)
	var keys []string
	for _, o := range others {
		key := aws.ToString(o.Key)
		if strings.HasPrefix(key, "aws:") || strings.HasPrefix(key, "sluice:") ||
			slices.ContainsFunc(t.Input.Tags, func(x ecstypes.Tag) bool { return aws.ToString(x.Key) == key }) {
			continue
		}
		in.Tags, keys = append(in.Tags, o), append(keys, key)
	}
	out := *t
	out.Input = &in
	return &out, keys
}

// WithTags returns the request with more tags of its tasks. A tag of the same key gets the new
// value.
func (r *Run) WithTags(tags map[string]string) *Run {
	in := *r.Input
	in.Tags = mergeTags(in.Tags, tags)
	return &Run{Input: &in}
}

// Tags returns the tags of the service by key.
func (s *Service) Tags() map[string]string {
	m := map[string]string{}
	for _, t := range s.Input.Tags {
		m[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	return m
}

func mergeTags(all []ecstypes.Tag, tags map[string]string) []ecstypes.Tag {
	all = slices.DeleteFunc(slices.Clone(all), func(t ecstypes.Tag) bool { return tags[aws.ToString(t.Key)] != "" })
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		all = append(all, ecstypes.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return all
}
