package ecs

import (
	"context"
	"regexp"
	"slices"
	"strings"

	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/wire"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// maxAttributes is how many custom attributes a container instance has, and how many a call may name.
const maxAttributes = 10

// instanceDoc holds the parts of a container instance that no controller reads.
type instanceDoc struct {
	attributes []ecstypes.Attribute // custom ones, by name and value
	tags       []ecstypes.Tag
}

func docOfInstance(i *world.ContainerInstance) *instanceDoc {
	if i.Doc == nil {
		i.Doc = &instanceDoc{}
	}
	return i.Doc.(*instanceDoc)
}

// attributesOf returns the attributes of a container instance: those of ECS, then the custom ones.
func attributesOf(i *world.ContainerInstance) (all []ecstypes.Attribute) {
	for _, a := range [][2]string{{"ecs.ami-id", "ami-0123456789abcdef0"}, {"ecs.availability-zone", i.Zone},
		{"ecs.instance-type", "m5.large"}, {"ecs.os-type", "linux"}, {"ecs.os-family", "LINUX"},
		{"ecs.cpu-architecture", "x86_64"}, {"ecs.subnet-id", i.Subnet.ID}, {"ecs.vpc-id", i.Subnet.VPC}} {
		all = append(all, ecstypes.Attribute{Name: ptr(a[0]), Value: ptr(a[1])})
	}
	return append(all, deepCopy(docOfInstance(i).attributes)...)
}

// withTarget returns an attribute as the calls about attributes show it, which name the instance.
func withTarget(a ecstypes.Attribute, i *world.ContainerInstance) ecstypes.Attribute {
	return ecstypes.Attribute{Name: a.Name, Value: a.Value, TargetId: ptr(i.ARN)}
}

var (
	attributeName  = regexp.MustCompile(`^[A-Za-z0-9_./\\-]{1,128}$`)
	attributeValue = regexp.MustCompile(`^[A-Za-z0-9_.@/\\:-]([A-Za-z0-9_.@/\\: -]{0,126}[A-Za-z0-9_.@/\\:-])?$`)
)

// target returns the container instance that an attribute of a request names. AWS publishes no texts
// of these refusals.
func target(c *world.Cluster, a ecstypes.Attribute) (*world.ContainerInstance, error) {
	id := val(a.TargetId)
	switch {
	case !attributeName.MatchString(val(a.Name)):
		return nil, invalidParameter("Invalid attribute name: %s.", val(a.Name))
	case strings.HasPrefix(*a.Name, "ecs."):
		return nil, invalidParameter("Attribute names that start with ecs. are reserved: %s.", *a.Name)
	case a.Value != nil && *a.Value != "" && !attributeValue.MatchString(*a.Value):
		return nil, invalidParameter("Invalid value of the attribute %s.", *a.Name)
	case id == "":
		return nil, invalidParameter("The targetId of the attribute %s cannot be empty.", *a.Name)
	case !isARN(id) && a.TargetType == "":
		return nil, invalidParameter("The targetType of the attribute %s is required with a short targetId.", *a.Name)
	}
	if i := instanceIn(c, id); i != nil {
		return i, nil
	}
	return nil, world.Refuse("TargetNotFoundException", "The specified target wasn't found.")
}

// targets is target for all attributes of a request.
func targets(c *world.Cluster, attributes []ecstypes.Attribute) ([]*world.ContainerInstance, error) {
	if n := len(attributes); n < 1 || n > maxAttributes {
		return nil, invalidParameter("Attributes must contain between 1 and %d items.", maxAttributes)
	}
	all := make([]*world.ContainerInstance, len(attributes))
	for n, a := range attributes {
		i, err := target(c, a)
		if err != nil {
			return nil, err
		}
		all[n] = i
	}
	return all, nil
}

func indexOfAttribute(list []ecstypes.Attribute, name *string) int {
	return slices.IndexFunc(list, func(a ecstypes.Attribute) bool { return *a.Name == *name })
}

// PutAttributes sets custom attributes of container instances, all of them or none. They have no
// effect on placement.
func (s *Service) PutAttributes(ctx context.Context, in *awsecs.PutAttributesInput) (*awsecs.PutAttributesOutput,
	error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.PutAttributesOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		of, err := targets(c, in.Attributes)
		if err != nil {
			return nil, err
		}
		next := map[*world.ContainerInstance][]ecstypes.Attribute{}
		out := &awsecs.PutAttributesOutput{Attributes: []ecstypes.Attribute{}}
		for n, i := range of {
			if next[i] == nil {
				next[i] = slices.Clone(docOfInstance(i).attributes)
			}
			a := ecstypes.Attribute{Name: deepCopy(in.Attributes[n].Name), Value: optionalText(val(in.Attributes[n].Value))}
			if at := indexOfAttribute(next[i], a.Name); at >= 0 {
				next[i][at] = a
			} else {
				next[i] = append(next[i], a)
			}
			if len(next[i]) > maxAttributes {
				return nil, world.Refuse("AttributeLimitExceededException",
					"A resource can have at most %d custom attributes.", maxAttributes)
			}
			out.Attributes = append(out.Attributes, withTarget(a, i))
		}
		for i, list := range next {
			docOfInstance(i).attributes = list
		}
		return out, nil
	})
}

// DeleteAttributes deletes custom attributes of container instances, and returns those that existed.
func (s *Service) DeleteAttributes(ctx context.Context,
	in *awsecs.DeleteAttributesInput) (*awsecs.DeleteAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.DeleteAttributesOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		if err != nil {
			return nil, err
		}
		of, err := targets(c, in.Attributes)
		if err != nil {
			return nil, err
		}
		out := &awsecs.DeleteAttributesOutput{Attributes: []ecstypes.Attribute{}}
		for n, i := range of {
			d := docOfInstance(i)
			if at := indexOfAttribute(d.attributes, in.Attributes[n].Name); at >= 0 {
				out.Attributes = append(out.Attributes, withTarget(d.attributes[at], i))
				d.attributes = slices.Delete(slices.Clone(d.attributes), at, at+1)
			}
		}
		return out, nil
	})
}

// ListAttributes lists the attributes of a cluster's container instances, 100 at a time.
func (s *Service) ListAttributes(ctx context.Context,
	in *awsecs.ListAttributesInput) (*awsecs.ListAttributesOutput, error) {
	return runStep(ctx, s, func(tx *world.Tx) (*awsecs.ListAttributesOutput, error) {
		c, err := clusterOf(tx, in.Cluster)
		max := int(val(in.MaxResults))
		switch {
		case err != nil:
			return nil, err
		case val(in.AttributeValue) != "" && val(in.AttributeName) == "":
			return nil, invalidParameter("An attribute name must be specified together with an attribute value.")
		case max < 0 || max > 100:
			return nil, invalidParameter("MaxResults must be between 1 and 100.")
		}
		key := func(a ecstypes.Attribute) string { return *a.TargetId + " " + *a.Name }
		page, next, err := wire.Page(listedAttributes(c, in), in.NextToken, max, 100, 100, key)
		if err != nil {
			return nil, invalidParameter("Invalid token.")
		}
		return &awsecs.ListAttributesOutput{Attributes: orEmpty(page), NextToken: next}, nil
	})
}

func listedAttributes(c *world.Cluster, in *awsecs.ListAttributesInput) (all []ecstypes.Attribute) {
	for _, i := range c.Instances {
		for _, a := range attributesOf(i) {
			if (val(in.AttributeName) == "" || *a.Name == *in.AttributeName) &&
				(val(in.AttributeValue) == "" || val(a.Value) == *in.AttributeValue) {
				all = append(all, withTarget(a, i))
			}
		}
	}
	return all
}
