package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

const invalid = "InvalidParameterException"

func ecsChecks() []checked {
	return []checked{
		{"Task sets: ids, ARNs, status", "subnets", taskSetLife},
		{"A scale without a value is 0 percent", "subnets", scales},
		{"Five task sets per service", "subnets", fiveTaskSets},
		{"DeleteTaskSet: only PRIMARY needs force", "subnets", deletions},
		{"clientToken: same parameters", "subnets", tokens},
		{"CreateService twice", "", createTwice},
		{"What belongs to task sets is refused of EXTERNAL services", "", externalRefuses},
		{"Batch limits, pages and their defaults", "", batches},
		{"Task definitions: defaults filled in", "", definitions},
		{"Tags: limits, aws: refused; propagateTags", "", tags},
		{"Values that an enumeration of the model does not have", "", enumerations},
		{"UpdateService starts a deployment only if", "", forced},
	}
}

func taskSetLife(c *check) {
	s := c.site
	name := s.makeService(c, s.prefix+"-life")
	one, err := s.set(c, name, nil)
	c.must("create a task set", err)
	two, err := s.set(c, name, nil)
	c.must("create another task set", err)
	c.holds("the id is ecs-svc/ and 19 digits", strings.HasPrefix(*one.Id, "ecs-svc/") && len(*one.Id) == len("ecs-svc/")+19, *one.Id)
	c.holds("the ARN ends in task-set/<cluster>/<service>/<id>", strings.HasSuffix(*one.TaskSetArn, ":task-set/"+s.cluster(c)+"/"+name+"/"+*one.Id), *one.TaskSetArn)
	c.same("status of a new task set", *one.Status, "ACTIVE")
	_, err = s.ecs.UpdateServicePrimaryTaskSet(c.ctx, &awsecs.UpdateServicePrimaryTaskSetInput{Cluster: ptr(s.cluster(c)), Service: &name, PrimaryTaskSet: one.Id})
	c.must("make it primary", err)
	_, err = s.ecs.UpdateServicePrimaryTaskSet(c.ctx, &awsecs.UpdateServicePrimaryTaskSetInput{Cluster: ptr(s.cluster(c)), Service: &name, PrimaryTaskSet: two.Id})
	c.must("make the other one primary", err)
	c.holds("the former PRIMARY is ACTIVE again", c.until(time.Minute, func() bool {
		return c.statusOf(name, *one.Id) == "ACTIVE" && c.statusOf(name, *two.Id) == "PRIMARY"
	}), c.statusOf(name, *one.Id))
	gone, err := s.ecs.DeleteTaskSet(c.ctx, &awsecs.DeleteTaskSetInput{Cluster: ptr(s.cluster(c)), Service: &name, TaskSet: one.Id})
	c.must("delete the former primary", err)
	c.same("status of a deleted task set", *gone.TaskSet.Status, "DRAINING")
	c.holds("a task set without tasks vanishes", c.until(2*time.Minute, func() bool { return c.statusOf(name, *one.Id) == "" }), c.statusOf(name, *one.Id))
}

// statusOf returns the status of a task set, "" if it does not exist.
func (c *check) statusOf(service, id string) string {
	s := c.site
	out, err := s.ecs.DescribeTaskSets(c.ctx, &awsecs.DescribeTaskSetsInput{Cluster: ptr(s.cluster(c)), Service: &service, TaskSets: []string{id}})
	c.must("describe the task set", err)
	if len(out.TaskSets) == 0 {
		return ""
	}
	return aws.ToString(out.TaskSets[0].Status)
}

func scales(c *check) {
	none, err := c.site.set(c, c.site.service(c), func(in *awsecs.CreateTaskSetInput) { in.Scale = nil })
	c.must("create a task set without a scale", err)
	c.same("no scale", none.Scale.Value, 100.0)
	zero, err := c.site.set(c, c.site.service(c), func(in *awsecs.CreateTaskSetInput) { in.Scale = &ecstypes.Scale{Unit: "PERCENT"} })
	c.must("create a task set with an empty scale", err)
	c.same("a scale without a value", zero.Scale.Value, 0.0)
}

func fiveTaskSets(c *check) {
	name := c.site.makeService(c, c.site.prefix+"-five")
	for i := range 5 {
		_, err := c.site.set(c, name, nil)
		c.must(fmt.Sprintf("create task set %d", i+1), err)
	}
	_, err := c.site.set(c, name, nil)
	c.refused("the sixth task set", err, invalid, "LimitExceededException")
}

func deletions(c *check) {
	s := c.site
	name := s.makeService(c, s.prefix+"-delete")
	one, err := s.set(c, name, nil)
	c.must("create a task set", err)
	_, err = s.ecs.UpdateServicePrimaryTaskSet(c.ctx, &awsecs.UpdateServicePrimaryTaskSetInput{Cluster: ptr(s.cluster(c)), Service: &name, PrimaryTaskSet: one.Id})
	c.must("make it primary", err)
	_, err = s.ecs.DeleteTaskSet(c.ctx, &awsecs.DeleteTaskSetInput{Cluster: ptr(s.cluster(c)), Service: &name, TaskSet: one.Id})
	c.refused("delete the PRIMARY task set without force", err, invalid)
	_, err = s.ecs.DeleteTaskSet(c.ctx, &awsecs.DeleteTaskSetInput{Cluster: ptr(s.cluster(c)), Service: &name, TaskSet: one.Id, Force: aws.Bool(true)})
	c.must("delete it with force", err)
}

func tokens(c *check) {
	s := c.site
	name := s.makeService(c, s.prefix+"-token")
	token := func(in *awsecs.CreateTaskSetInput) { in.ClientToken = ptr("f81d4fae-7dec-11d0-a765-00a0c91e6bf6") }
	one, err := s.set(c, name, token)
	c.must("create a task set with a token", err)
	two, err := s.set(c, name, token)
	c.must("create it again", err)
	c.same("the same token makes the same task set", *two.Id, *one.Id)
	_, err = s.set(c, name, func(in *awsecs.CreateTaskSetInput) { token(in); in.ExternalId = ptr("other") })
	c.refused("the same token with other parameters", err, invalid)
	_, err = s.set(c, name, func(in *awsecs.CreateTaskSetInput) { in.ClientToken = ptr(strings.Repeat("x", 37)) })
	c.refused("a token of 37 characters", err, invalid)
}

func createTwice(c *check) {
	s := c.site
	name := s.makeService(c, s.prefix+"-twice")
	same, err := s.ecs.CreateService(c.ctx, s.external(c, name))
	c.must("create the same service again", err)
	other := s.external(c, name)
	other.DesiredCount = aws.Int32(1)
	_, err = s.ecs.CreateService(c.ctx, other)
	c.refused("create a service of that name with another count", err, invalid)
	gone, err := s.ecs.DeleteService(c.ctx, &awsecs.DeleteServiceInput{Cluster: ptr(s.cluster(c)), Service: &name})
	c.must("delete the service", err)
	c.same("status of a deleted service", *gone.Service.Status, "DRAINING")
	status := func() string {
		out, err := s.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(s.cluster(c)), Services: []string{name}})
		c.must("describe the service", err)
		if len(out.Services) == 0 {
			return "MISSING"
		}
		return aws.ToString(out.Services[0].Status)
	}
	c.holds("it ends INACTIVE", c.until(2*time.Minute, func() bool { return status() == "INACTIVE" }), status())
	again, err := s.ecs.CreateService(c.ctx, s.external(c, name))
	c.must("create it again", err)
	c.same("the ARN of the same service", *same.Service.ServiceArn, *gone.Service.ServiceArn)
	c.same("the ARN of the service that was made again", *again.Service.ServiceArn, *gone.Service.ServiceArn)
}

func externalRefuses(c *check) {
	in := c.site.external(c, c.site.prefix+"-refused")
	in.TaskDefinition = ptr(c.site.definition(c))
	_, err := c.site.ecs.CreateService(c.ctx, in)
	c.refused("an EXTERNAL service with a task definition", err, invalid)
	in = c.site.external(c, c.site.prefix+"-refused")
	in.LaunchType = "FARGATE"
	_, err = c.site.ecs.CreateService(c.ctx, in)
	c.refused("an EXTERNAL service with a launch type", err, invalid)
}

func batches(c *check) {
	s := c.site
	_, err := s.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(s.cluster(c)), Services: strings.Fields("a b c d e f g h i j k")})
	c.refused("DescribeServices of eleven", err, invalid)
	out, err := s.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(s.cluster(c)), Services: []string{"none"}})
	c.must("describe a service that does not exist", err)
	if len(out.Failures) == 1 {
		c.same("the failure of a service that does not exist", aws.ToString(out.Failures[0].Reason), "MISSING")
	} else {
		c.same("failures of a service that does not exist", len(out.Failures), 1)
	}
	_, err = s.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(s.prefix + "-none"), Services: []string{"none"}})
	c.refused("DescribeServices in a cluster that does not exist", err, "ClusterNotFoundException")
	_, err = s.ecs.ListServices(c.ctx, &awsecs.ListServicesInput{Cluster: ptr(s.cluster(c)), MaxResults: aws.Int32(101)})
	c.refused("ListServices of 101 a page", err, invalid)
}

func definitions(c *check) {
	s := c.site
	first := s.definition(c)
	out, err := s.ecs.DescribeTaskDefinition(c.ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: &first})
	c.must("describe the task definition", err)
	d := out.TaskDefinition.ContainerDefinitions[0]
	c.same("essential, left out", aws.ToBool(d.Essential), true)
	c.same("the protocol of a port mapping, left out", d.PortMappings[0].Protocol, "tcp")
	c.same("the host port in awsvpc, left out", aws.ToInt32(d.PortMappings[0].HostPort), 80)
	c.same("environment, left out", d.Environment == nil, false)
	_, err = s.ecs.DeregisterTaskDefinition(c.ctx, &awsecs.DeregisterTaskDefinitionInput{TaskDefinition: &first})
	c.must("deregister the task definition", err)
	s.objects.definition = ""
	again, err := s.ecs.DescribeTaskDefinition(c.ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: ptr(s.definition(c))})
	c.must("describe the next revision", err)
	c.same("the revision after a deregistered one", again.TaskDefinition.Revision, out.TaskDefinition.Revision+1)
	_, err = s.ecs.RegisterTaskDefinition(c.ctx, &awsecs.RegisterTaskDefinitionInput{Family: &s.prefix, NetworkMode: "awsvpc", Cpu: ptr("256"), Memory: ptr("256"),
		RequiresCompatibilities: []ecstypes.Compatibility{"FARGATE"}, ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: ptr("app"), Image: ptr("x")}}})
	c.refused("256 CPU units with 256 MiB on Fargate", err, "ClientException")
}

func tags(c *check) {
	s := c.site
	arn := c.arnOfService(s.service(c))
	_, err := s.ecs.TagResource(c.ctx, &awsecs.TagResourceInput{ResourceArn: &arn, Tags: []ecstypes.Tag{{Key: ptr("aws:x"), Value: ptr("y")}}})
	c.refused("a tag that begins with aws:", err, invalid)
	var many []ecstypes.Tag
	for i := range 51 {
		many = append(many, ecstypes.Tag{Key: ptr(fmt.Sprintf("k%d", i)), Value: ptr("v")})
	}
	_, err = s.ecs.TagResource(c.ctx, &awsecs.TagResourceInput{ResourceArn: &arn, Tags: many})
	c.refused("51 tags", err, invalid)
}

func (c *check) arnOfService(name string) string {
	out, err := c.site.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(c.site.cluster(c)), Services: []string{name}})
	c.must("describe the service", err)
	if len(out.Services) == 0 {
		c.must("describe the service", fmt.Errorf("it is %v", out.Failures))
	}
	return aws.ToString(out.Services[0].ServiceArn)
}

func enumerations(c *check) {
	in := c.site.external(c, c.site.prefix+"-refused")
	in.DeploymentController.Type = "NOBODY"
	_, err := c.site.ecs.CreateService(c.ctx, in)
	c.refused("a deployment controller that does not exist", err, invalid)
	in = c.site.external(c, c.site.prefix+"-refused")
	in.SchedulingStrategy = "SOMETIMES"
	_, err = c.site.ecs.CreateService(c.ctx, in)
	c.refused("a scheduling strategy that does not exist", err, invalid)
}

func forced(c *check) {
	s := c.site
	_, err := s.ecs.UpdateService(c.ctx, &awsecs.UpdateServiceInput{Cluster: ptr(s.cluster(c)), Service: ptr(s.service(c)), ForceNewDeployment: true})
	c.refused("a forced deployment of an EXTERNAL service", err, invalid)
}
