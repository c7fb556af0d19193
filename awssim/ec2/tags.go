package ec2

import (
	"context"
	"strings"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// CreateTagsInput names resources and their tags.
type CreateTagsInput struct {
	ResourceIds []string `wire:"ResourceId"`
	Tags        []Tag    `wire:"Tag"`
}

// DeleteTagsInput names resources and the tags to remove: by key, or by key and value; an empty
// list removes all.
type DeleteTagsInput struct {
	ResourceIds []string `wire:"ResourceId"`
	Tags        []Tag    `wire:"Tag"`
}

// DescribeTagsInput selects tags.
type DescribeTagsInput struct {
	Filters    []Filter `wire:"Filter"`
	MaxResults *int32
	NextToken  *string
}

// DescribeTagsOutput lists tags.
type DescribeTagsOutput struct {
	Tags      []TagDescription `wire:"tagSet"`
	NextToken *string
}

// resourceKinds are the simulated kinds of resources, by the prefix of their ids.
var resourceKinds = []struct{ prefix, kind, code, noun string }{
	{"vpc-", "vpc", "InvalidVpcID.NotFound", "vpc ID"},
	{"subnet-", "subnet", "InvalidSubnetID.NotFound", "subnet ID"},
	{"sg-", "security-group", "InvalidGroup.NotFound", "security group"},
	{"igw-", "internet-gateway", "InvalidInternetGatewayID.NotFound", "internetGateway ID"},
}

func kindOf(id string) (kind string, notFound error) {
	for _, k := range resourceKinds {
		if strings.HasPrefix(id, k.prefix) {
			return k.kind, world.Refuse(k.code, "The %s '%s' does not exist", k.noun, id)
		}
	}
	return "", world.Refuse("InvalidID", "The ID '%s' is not valid", id)
}

func (t Tag) valueText() string {
	if t.Value == nil {
		return ""
	}
	return *t.Value
}

// checkExists refuses the id of a missing resource.
func (d regionDesk) checkExists(id string) error {
	kind, notFound := kindOf(id)
	ok := false
	switch kind {
	case "vpc":
		_, ok = d.VPCs.Get(id)
	case "subnet":
		_, ok = d.Subnets.Get(id)
	case "security-group":
		_, ok = d.groups.Get(id)
	case "internet-gateway":
		_, ok = d.gateways.Get(id)
	}
	if !ok {
		return notFound
	}
	return nil
}

func (d regionDesk) tagsOf(id string) []Tag {
	tags, _ := d.tags.Get(id)
	return append([]Tag(nil), tags...)
}

// checkTags checks the tags of a new resource of a kind.
func checkTags(specs []TagSpecification, kind string) ([]Tag, error) {
	var tags []Tag
	for _, s := range specs {
		if s.ResourceType != kind {
			return nil,
				world.Refuse("InvalidParameterValue", "'%s' is not a valid taggable resource type for this operation.",
					s.ResourceType)
		}
		tags = append(tags, s.Tags...)
	}
	return tags, validTags(tags)
}

func validTags(tags []Tag) error {
	if len(tags) > 50 {
		return world.Refuse("TagLimitExceeded", "More than 50 tags in one call")
	}
	for _, t := range tags {
		switch {
		case t.Key == "":
			return world.Refuse("InvalidParameterValue", "Tag key cannot be empty")
		case strings.HasPrefix(t.Key, "aws:"):
			return world.Refuse("InvalidParameterValue", "Tag keys starting with 'aws:' are reserved for internal use")
		case len(t.Key) > 128 || len(t.valueText()) > 256:
			return world.Refuse("InvalidParameterValue", "Tag key exceeds 128 or value 256 characters")
		}
	}
	return nil
}

func (d regionDesk) addTags(id string, more []Tag) error {
	tags := d.tagsOf(id)
	for _, t := range more {
		value := t.valueText()
		t.Value = &value
		tags = append(withoutTag(tags, t.Key, nil), t)
	}
	if len(tags) > 50 {
		return world.Refuse("TagLimitExceeded", "More than 50 tags on '%s'", id)
	}
	if len(tags) > 0 {
		d.tags.Put(id, tags)
	}
	return nil
}

func withoutTag(tags []Tag, key string, value *string) []Tag {
	var rest []Tag
	for _, t := range tags {
		if t.Key != key || (value != nil && t.valueText() != *value) {
			rest = append(rest, t)
		}
	}
	return rest
}

// CreateTags adds or replaces tags.
func (s *Service) CreateTags(ctx context.Context, in *CreateTagsInput) (*Done, error) {
	switch {
	case len(in.ResourceIds) == 0:
		return nil, missingParameter("resourceIdSet")
	case len(in.Tags) == 0:
		return nil, missingParameter("tagSet")
	}
	if err := validTags(in.Tags); err != nil {
		return nil, err
	}
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		for _, id := range in.ResourceIds {
			if err := d.checkExists(id); err != nil {
				return err
			}
		}
		for _, id := range in.ResourceIds {
			if err := d.addTags(id, in.Tags); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteTags removes tags; it ignores missing tags.
func (s *Service) DeleteTags(ctx context.Context, in *DeleteTagsInput) (*Done, error) {
	if len(in.ResourceIds) == 0 {
		return nil, missingParameter("resourceIdSet")
	}
	return newDone(), s.runStep(ctx, func(d regionDesk) error {
		for _, id := range in.ResourceIds {
			if err := d.checkExists(id); err != nil {
				return err
			}
		}
		for _, id := range in.ResourceIds {
			d.removeTags(id, in.Tags)
		}
		return nil
	})
}

func (d regionDesk) removeTags(id string, gone []Tag) {
	tags := d.tagsOf(id)
	for _, t := range gone {
		tags = withoutTag(tags, t.Key, t.Value)
	}
	if len(gone) == 0 || len(tags) == 0 {
		d.tags.Delete(id)
		return
	}
	d.tags.Put(id, tags)
}

// DescribeTags lists tags.
func (s *Service) DescribeTags(ctx context.Context, in *DescribeTagsInput) (*DescribeTagsOutput, error) {
	out := &DescribeTagsOutput{}
	return out, s.runStep(ctx, func(d regionDesk) error {
		all := []TagDescription{}
		for id, tags := range d.tags.All() {
			for _, t := range tags {
				kind, _ := kindOf(id)
				x := TagDescription{ResourceId: id, ResourceType: kind, Key: t.Key, Value: t.valueText()}
				ok, err := matchesFilters(in.Filters, []Tag{t}, x.filterValues)
				if err != nil {
					return err
				}
				if ok {
					all = append(all, x)
				}
			}
		}
		var err error
		out.Tags, out.NextToken, err = pageOf(all, 0, in.MaxResults, in.NextToken,
			func(t TagDescription) string { return t.ResourceId + " " + t.Key })
		return err
	})
}

func (t TagDescription) filterValues(name string) ([]string, bool) {
	switch name {
	case "resource-id":
		return []string{t.ResourceId}, true
	case "resource-type":
		return []string{t.ResourceType}, true
	case "key":
		return []string{t.Key}, true
	case "value":
		return []string{t.Value}, true
	}
	return nil, false
}
