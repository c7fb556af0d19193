package ecs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// fleet registers n container instances in cluster web and returns their ARNs.
func (b *bench) fleet(n int) []string {
	b.t.Helper()
	b.Do(func(tx *world.Tx) {
		c, _ := tx.Clusters.Get("web")
		b.room.Scheduler().RegisterInstances(tx, c, n, world.Size{})
	})
	return must(b.ListContainerInstances(b.ctx,
		&awsecs.ListContainerInstancesInput{Cluster: aws.String("web")}))(b.t).ContainerInstanceArns
}

func attribute(name, value, target string) ecstypes.Attribute {
	a := ecstypes.Attribute{Name: &name, TargetId: &target}
	if value != "" {
		a.Value = &value
	}
	return a
}

// shownAttributes returns attributes as "name=value", with the last character of their target.
func shownAttributes(list []ecstypes.Attribute) string {
	var all []string
	for _, a := range list {
		s := *a.Name + "=" + aws.ToString(a.Value)
		if id := aws.ToString(a.TargetId); id != "" {
			s += "@" + id[len(id)-1:]
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func TestAttributesOfContainerInstances(t *testing.T) {
	b := newBench(t, world.Options{})
	of := b.fleet(2)
	web, one, two := aws.String("web"), of[0][len(of[0])-1:], of[1][len(of[1])-1:]
	list := func(name, value string) string {
		in := &awsecs.ListAttributesInput{Cluster: web, TargetType: "container-instance", AttributeName: &name}
		if value != "" {
			in.AttributeValue = &value
		}
		return shownAttributes(must(b.ListAttributes(b.ctx, in))(t).Attributes)
	}
	short := attribute("stack", "test", of[1][strings.LastIndex(of[1], "/")+1:])
	short.TargetType = "container-instance"
	put := must(b.PutAttributes(b.ctx, &awsecs.PutAttributesInput{Cluster: web, Attributes: []ecstypes.Attribute{
		attribute("stack", "live", of[0]), short, attribute("gpu", "", of[1])}}))(t)
	if got, want := shownAttributes(put.Attributes), "stack=live@"+one+" stack=test@"+two+" gpu=@"+two; got != want {
		t.Errorf("put %s, want %s", got, want)
	}
	if got := list("stack", ""); got != "stack=live@"+one+" stack=test@"+two {
		t.Errorf("stacks %s", got)
	}
	if got := list("stack", "test"); got != "stack=test@"+two {
		t.Errorf("test stacks %s", got)
	}
	must(b.PutAttributes(b.ctx, &awsecs.PutAttributesInput{Cluster: web, Attributes: []ecstypes.Attribute{
		attribute("stack", "new", of[1])}}))(t)
	x := b.instances()[of[1]]
	if got, want := shownAttributes(x.Attributes), "ecs.ami-id=ami-0123456789abcdef0 ecs.availability-zone="+
		"eu-west-1b ecs.instance-type=m5.large ecs.os-type=linux ecs.os-family=LINUX ecs.cpu-architecture=x86_64 "+
		"ecs.subnet-id=subnet-b ecs.vpc-id=vpc-1 stack=new gpu="; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	gone := must(b.DeleteAttributes(b.ctx, &awsecs.DeleteAttributesInput{Cluster: web, Attributes: []ecstypes.Attribute{
		attribute("stack", "", of[1]), attribute("never", "", of[1])}}))(t)
	if got := shownAttributes(gone.Attributes); got != "stack=new@"+two || list("stack", "") != "stack=live@"+one ||
		list("gpu", "") != "gpu=@"+two {
		t.Errorf("deleted %s; %s, %s remain", got, list("stack", ""), list("gpu", ""))
	}
}

func TestAttributesArePaged(t *testing.T) {
	b := newBench(t, world.Options{})
	b.fleet(2)
	in := &awsecs.ListAttributesInput{Cluster: aws.String("web"), TargetType: "container-instance",
		MaxResults: aws.Int32(9)}
	pages, seen := []int{}, map[string]bool{}
	for {
		out := must(b.ListAttributes(b.ctx, in))(t)
		pages = append(pages, len(out.Attributes))
		for _, a := range out.Attributes {
			seen[*a.TargetId+*a.Name] = true
		}
		if in.NextToken = out.NextToken; in.NextToken == nil {
			break
		}
	}
	if fmt.Sprint(pages) != "[9 7]" || len(seen) != 16 {
		t.Errorf("pages %v with %d attributes", pages, len(seen))
	}
}

func TestAttributesAreRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	of := b.fleet(1)[0]
	put := func(code, text string, list ...ecstypes.Attribute) {
		t.Helper()
		refused(b.PutAttributes(b.ctx, &awsecs.PutAttributesInput{Cluster: aws.String("web"), Attributes: list}))(t, code,
			text)
	}
	var many []ecstypes.Attribute
	for i := range 10 {
		many = append(many, attribute(fmt.Sprint("a", i), "x", of))
	}
	put(invalidParameter, "Attributes must contain between 1 and 10 items.", []ecstypes.Attribute{}...)
	put(invalidParameter, "Attributes must contain between 1 and 10 items.", append(many, many[0])...)
	put(invalidParameter, "Invalid attribute name: a b.", attribute("a b", "x", of))
	put(invalidParameter, "Invalid value of the attribute a.", attribute("a", "x ", of))
	put(invalidParameter, "Attribute names that start with ecs. are reserved: ecs.os-type.",
		attribute("ecs.os-type", "windows", of))
	put(invalidParameter, "The targetId of the attribute a cannot be empty.", attribute("a", "x", ""))
	put(invalidParameter, "The targetType of the attribute a is required with a short targetId.",
		attribute("a", "x", of[strings.LastIndex(of, "/")+1:]))
	put("TargetNotFoundException", "The specified target wasn't found.", many[0], attribute("a", "x", of+"0"))
	must(b.PutAttributes(b.ctx, &awsecs.PutAttributesInput{Cluster: aws.String("web"), Attributes: many[1:]}))(t)
	put("AttributeLimitExceededException", "A resource can have at most 10 custom attributes.",
		attribute("a10", "x", of), attribute("a11", "x", of))
	list := b.instances()[of].Attributes
	if got := shownAttributes(list[8:]); len(list) != 17 || strings.Contains(got, "a0") || strings.Contains(got, "a10") {
		t.Errorf("a refused call has set attributes: %s", got)
	}
	for text, in := range map[string]*awsecs.ListAttributesInput{
		"An attribute name must be specified together with an attribute value.": {AttributeValue: aws.String("x")},
		"MaxResults must be between 1 and 100.":                                 {MaxResults: aws.Int32(101)},
		"Invalid token.":                                                        {NextToken: aws.String("x")},
	} {
		in.Cluster, in.TargetType = aws.String("web"), "container-instance"
		refused(b.ListAttributes(b.ctx, in))(t, invalidParameter, text)
	}
	refused(b.DeleteAttributes(b.ctx, &awsecs.DeleteAttributesInput{Cluster: aws.String("no"), Attributes: many}))(t,
		"ClusterNotFoundException", "Cluster not found.")
}
