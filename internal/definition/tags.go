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

// TagRecord is the tag that lists the keys of the tags that the files set, separated by spaces. A tag that it lists and
// that the files do not have any more is removed; every other tag belongs to somebody else.
const TagRecord = "sluice:tags"

// maxTagValue is AWS's limit for the value of a tag.
const maxTagValue = 256

// WithTagRecord returns the task definition with the record of its tags. A definition with a record lacks no tag of an
// earlier file: comparisons show it.
func (t *Task) WithTagRecord() *Task {
	out, in := *t, *t.Input
	in.Tags = withRecord(in.Tags)
	out.Input = &in
	return &out
}

// WithTagRecord returns the service with the record of its tags, and of more keys.
func (s *Service) WithTagRecord(more ...string) *Service {
	out, in := *s, *s.Input
	in.Tags = withRecord(in.Tags, more...)
	out.Input, out.Given = &in, maps.Clone(s.Given)
	out.Given["tags"] = true
	return &out
}

// withRecord returns the tags with a record of their keys. A key with a space, or for which the value has no room, is
// not recorded: its tag stays.
func withRecord(tags []ecstypes.Tag, more ...string) []ecstypes.Tag {
	tags = slices.DeleteFunc(slices.Clone(tags), func(t ecstypes.Tag) bool { return aws.ToString(t.Key) == TagRecord })
	keys := slices.Clone(more)
	for _, t := range tags {
		keys = append(keys, aws.ToString(t.Key))
	}
	slices.Sort(keys)
	value := ""
	for _, key := range slices.Compact(keys) {
		if next := strings.TrimSpace(value + " " + key); !isReservedTag(key) && !strings.Contains(key, " ") &&
			len(next) <= maxTagValue {
			value = next
		}
	}
	return append(tags, ecstypes.Tag{Key: aws.String(TagRecord), Value: aws.String(value)})
}

// isReservedTag reports whether AWS, sluice or PipeCD's own plugin sets a tag.
func isReservedTag(key string) bool {
	return strings.HasPrefix(key, "aws:") || strings.HasPrefix(key, "sluice:") || strings.HasPrefix(key, "pipecd-dev-")
}

// HasTagRecord reports whether the tags have a record.
func HasTagRecord(tags []ecstypes.Tag) bool {
	_, has := tagMapOf(tags)[TagRecord]
	return has
}

// DroppedTags returns the keys of the tags that AWS has, that an earlier file set by their record, and that the
// definition does not have.
func (s *Service) DroppedTags(have []ecstypes.Tag) []string {
	return droppedTags(s.Input.Tags, have, s.IgnoredTags)
}

func droppedTags(want, have []ecstypes.Tag, ignored []string) (keys []string) {
	wanted, existing := tagMapOf(want), tagMapOf(have)
	if _, owns := wanted[TagRecord]; !owns {
		return nil
	}
	for _, key := range strings.Fields(existing[TagRecord]) {
		_, kept := wanted[key]
		if _, exists := existing[key]; exists && !kept && !isReservedTag(key) && !slices.Contains(ignored, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// OtherTags returns the keys of the tags of the running service that neither the definition nor an earlier file set.
func (s *Service) OtherTags(have []ecstypes.Tag) (keys []string) {
	for _, t := range otherTags(s.Input.Tags, have, s.IgnoredTags) {
		keys = append(keys, aws.ToString(t.Key))
	}
	return keys
}

func otherTags(want, have []ecstypes.Tag, ignored []string) (all []ecstypes.Tag) {
	wanted, dropped := tagMapOf(want), droppedTags(want, have, ignored)
	for _, t := range have {
		key := aws.ToString(t.Key)
		if _, is := wanted[key]; !is && !isReservedTag(key) && !slices.Contains(dropped, key) {
			all = append(all, t)
		}
	}
	return all
}

// comparedTags returns the tags of AWS that a comparison shows: those with keys of the definition, and those that the
// definition drops.
func comparedTags(want, have []ecstypes.Tag, ignored []string) []ecstypes.Tag {
	wanted, dropped := tagMapOf(want), droppedTags(want, have, ignored)
	return slices.DeleteFunc(slices.Clone(have), func(t ecstypes.Tag) bool {
		_, is := wanted[aws.ToString(t.Key)]
		return !is && !slices.Contains(dropped, aws.ToString(t.Key))
	})
}

// withoutRecord returns the tags without their record, which no comparison shows.
func withoutRecord(tags []ecstypes.Tag) []ecstypes.Tag {
	return slices.DeleteFunc(slices.Clone(tags), func(t ecstypes.Tag) bool { return aws.ToString(t.Key) == TagRecord })
}

// WithOtherTags returns the task definition with the tags of another one that neither it nor an earlier file set, and
// their keys.
func (t *Task) WithOtherTags(others []ecstypes.Tag) (*Task, []string) {
	in := *t.Input
	in.Tags = slices.Clone(in.Tags)
	var keys []string
	for _, o := range otherTags(t.Input.Tags, others, t.IgnoredTags) {
		in.Tags, keys = append(in.Tags, o), append(keys, aws.ToString(o.Key))
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
func (s *Service) Tags() map[string]string { return tagMapOf(s.Input.Tags) }

func tagMapOf(tags []ecstypes.Tag) map[string]string {
	m := map[string]string{}
	for _, t := range tags {
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
