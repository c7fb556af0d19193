package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

const invalidParameter = "InvalidParameterException"

func ecsChecks() []rowCheck {
	return []rowCheck{
		{"Task sets: ids, ARNs, status", "subnets", checkTaskSetLife},
		{"A scale without a value is 0 percent", "subnets", checkScales},
		{"Five task sets per service", "subnets", checkTaskSetLimit},
		{"DeleteTaskSet: only PRIMARY needs force", "subnets", checkForcedDeletion},
		{"clientToken: same parameters", "subnets", checkClientTokens},
		{"CreateService twice", "", checkCreateTwice},
		{"What belongs to task sets is refused of EXTERNAL services", "", checkExternalRefusals},
		{"Batch limits, pages and their defaults", "", checkBatchLimits},
		{"Task definitions: defaults filled in", "", checkDefinitionDefaults},
		{"Tags: limits, aws: refused; propagateTags", "", checkServiceTags},
		{"Values that an enumeration of the model does not have", "", checkEnumerations},
		{"UpdateService starts a deployment only if", "", checkForcedDeployment},
		{"Task definitions: parameters that Fargate does not have", "", checkDefinitionParameters},
		{"DAEMON: one task on each container instance", "", checkDaemonCount},
	}
}

func checkTaskSetLife(c *rowRun) {
	s := c.site
	name := s.makeService(c, s.prefix+"-life")
	one, err := s.createTaskSet(c, name, nil)
	c.requireCall("create a task set", err)
	two, err := s.createTaskSet(c, name, nil)
	c.requireCall("create another task set", err)
	c.expectTrue("the id is ecs-svc/ and 19 digits", strings.HasPrefix(*one.Id, "ecs-svc/") &&
		len(*one.Id) == len("ecs-svc/")+19, *one.Id)
	c.expectTrue("the ARN ends in task-set/<cluster>/<service>/<id>",
		strings.HasSuffix(*one.TaskSetArn, ":task-set/"+s.clusterName(c)+"/"+name+"/"+*one.Id), *one.TaskSetArn)
	c.expectSame("status of a new task set", *one.Status, "ACTIVE")
	_, err = s.ecs.UpdateServicePrimaryTaskSet(c.ctx,
		&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: ptr(s.clusterName(c)), Service: &name,
			PrimaryTaskSet: one.Id})
	c.requireCall("make it primary", err)
	_, err = s.ecs.UpdateServicePrimaryTaskSet(c.ctx,
		&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: ptr(s.clusterName(c)), Service: &name,
			PrimaryTaskSet: two.Id})
	c.requireCall("make the other one primary", err)
	c.expectTrue("the previous PRIMARY is ACTIVE again", c.waitUntil(time.Minute, func() bool {
		return c.statusOf(name, *one.Id) == "ACTIVE" && c.statusOf(name, *two.Id) == "PRIMARY"
	}), c.statusOf(name, *one.Id))
	gone, err := s.ecs.DeleteTaskSet(c.ctx, &awsecs.DeleteTaskSetInput{Cluster: ptr(s.clusterName(c)), Service: &name,
		TaskSet: one.Id})
	c.requireCall("delete the previous primary", err)
	c.expectSame("status of a deleted task set", *gone.TaskSet.Status, "DRAINING")
	c.expectTrue("a task set without tasks is deleted immediately",
		c.waitUntil(2*time.Minute, func() bool { return c.statusOf(name, *one.Id) == "" }), c.statusOf(name, *one.Id))
}

// statusOf returns the status of a task set, "" if it does not exist.
func (c *rowRun) statusOf(service, id string) string {
	s := c.site
	out, err := s.ecs.DescribeTaskSets(c.ctx, &awsecs.DescribeTaskSetsInput{Cluster: ptr(s.clusterName(c)),
		Service: &service, TaskSets: []string{id}})
	c.requireCall("describe the task set", err)
	if len(out.TaskSets) == 0 {
		return ""
	}
	return aws.ToString(out.TaskSets[0].Status)
}

func checkScales(c *rowRun) {
	none, err := c.site.createTaskSet(c, c.site.serviceName(c), func(in *awsecs.CreateTaskSetInput) { in.Scale = nil })
	c.requireCall("create a task set without a scale", err)
	c.expectSame("no scale", none.Scale.Value, 100.0)
	zero, err := c.site.createTaskSet(c, c.site.serviceName(c),
		func(in *awsecs.CreateTaskSetInput) { in.Scale = &ecstypes.Scale{Unit: "PERCENT"} })
	c.requireCall("create a task set with an empty scale", err)
	c.expectSame("a scale without a value", zero.Scale.Value, 0.0)
}

func checkTaskSetLimit(c *rowRun) {
	name := c.site.makeService(c, c.site.prefix+"-five")
	for i := range 5 {
		_, err := c.site.createTaskSet(c, name, nil)
		c.requireCall(fmt.Sprintf("create task set %d", i+1), err)
	}
	_, err := c.site.createTaskSet(c, name, nil)
	c.expectRefusal("the sixth task set", err, invalidParameter, "LimitExceededException")
}

func checkForcedDeletion(c *rowRun) {
	s := c.site
	name := s.makeService(c, s.prefix+"-delete")
	one, err := s.createTaskSet(c, name, nil)
	c.requireCall("create a task set", err)
	_, err = s.ecs.UpdateServicePrimaryTaskSet(c.ctx,
		&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: ptr(s.clusterName(c)), Service: &name,
			PrimaryTaskSet: one.Id})
	c.requireCall("make it primary", err)
	_, err = s.ecs.DeleteTaskSet(c.ctx, &awsecs.DeleteTaskSetInput{Cluster: ptr(s.clusterName(c)), Service: &name,
		TaskSet: one.Id})
	c.expectRefusal("delete the PRIMARY task set without force", err, invalidParameter)
	_, err = s.ecs.DeleteTaskSet(c.ctx, &awsecs.DeleteTaskSetInput{Cluster: ptr(s.clusterName(c)), Service: &name,
		TaskSet: one.Id, Force: aws.Bool(true)})
	c.requireCall("delete it with force", err)
}

func checkClientTokens(c *rowRun) {
	s := c.site
	name := s.makeService(c, s.prefix+"-token")
	token := func(in *awsecs.CreateTaskSetInput) { in.ClientToken = ptr("f81d4fae-7dec-11d0-a765-00a0c91e6bf6") }
	one, err := s.createTaskSet(c, name, token)
	c.requireCall("create a task set with a token", err)
	two, err := s.createTaskSet(c, name, token)
	c.requireCall("create it again", err)
	c.expectSame("the same token returns the same task set", *two.Id, *one.Id)
	_, err = s.createTaskSet(c, name, func(in *awsecs.CreateTaskSetInput) { token(in); in.ExternalId = ptr("other") })
	c.expectRefusal("the same token with other parameters", err, invalidParameter)
	_, err = s.createTaskSet(c, name,
		func(in *awsecs.CreateTaskSetInput) { in.ClientToken = ptr(strings.Repeat("x", 37)) })
	c.expectRefusal("a token of 37 characters", err, invalidParameter)
}

func checkCreateTwice(c *rowRun) {
	s := c.site
	name := s.makeService(c, s.prefix+"-twice")
	same, err := s.ecs.CreateService(c.ctx, s.externalInput(c, name))
	c.requireCall("create the same service again", err)
	other := s.externalInput(c, name)
	other.DesiredCount = aws.Int32(1)
	_, err = s.ecs.CreateService(c.ctx, other)
	c.expectRefusal("create a service of that name with another count", err, invalidParameter)
	gone, err := s.ecs.DeleteService(c.ctx, &awsecs.DeleteServiceInput{Cluster: ptr(s.clusterName(c)), Service: &name})
	c.requireCall("delete the service", err)
	c.expectSame("status of a deleted service", *gone.Service.Status, "DRAINING")
	status := func() string {
		out, err := s.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(s.clusterName(c)),
			Services: []string{name}})
		c.requireCall("describe the service", err)
		if len(out.Services) == 0 {
			return "MISSING"
		}
		return aws.ToString(out.Services[0].Status)
	}
	c.expectTrue("it ends INACTIVE", c.waitUntil(2*time.Minute, func() bool { return status() == "INACTIVE" }),
		status())
	again, err := s.ecs.CreateService(c.ctx, s.externalInput(c, name))
	c.requireCall("create it again", err)
	c.expectSame("the ARN of the same service", *same.Service.ServiceArn, *gone.Service.ServiceArn)
	c.expectSame("the ARN of the service that was created again", *again.Service.ServiceArn, *gone.Service.ServiceArn)
}

func checkExternalRefusals(c *rowRun) {
	in := c.site.externalInput(c, c.site.prefix+"-refused")
	in.TaskDefinition = ptr(c.site.definitionARN(c))
	_, err := c.site.ecs.CreateService(c.ctx, in)
	c.expectRefusal("an EXTERNAL service with a task definition", err, invalidParameter)
	in = c.site.externalInput(c, c.site.prefix+"-refused")
	in.LaunchType = "FARGATE"
	_, err = c.site.ecs.CreateService(c.ctx, in)
	c.expectRefusal("an EXTERNAL service with a launch type", err, invalidParameter)
}

func checkBatchLimits(c *rowRun) {
	s := c.site
	_, err := s.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(s.clusterName(c)),
		Services: strings.Fields("a b c d e f g h i j k")})
	c.expectRefusal("DescribeServices of eleven", err, invalidParameter)
	out, err := s.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(s.clusterName(c)),
		Services: []string{"none"}})
	c.requireCall("describe a service that does not exist", err)
	if len(out.Failures) == 1 {
		c.expectSame("the failure of a service that does not exist", aws.ToString(out.Failures[0].Reason), "MISSING")
	} else {
		c.expectSame("failures of a service that does not exist", len(out.Failures), 1)
	}
	_, err = s.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(s.prefix + "-none"),
		Services: []string{"none"}})
	c.expectRefusal("DescribeServices in a cluster that does not exist", err, "ClusterNotFoundException")
	_, err = s.ecs.ListServices(c.ctx, &awsecs.ListServicesInput{Cluster: ptr(s.clusterName(c)),
		MaxResults: aws.Int32(101)})
	c.expectRefusal("ListServices of 101 a page", err, invalidParameter)
}

func checkDefinitionDefaults(c *rowRun) {
	s := c.site
	first := s.definitionARN(c)
	out, err := s.ecs.DescribeTaskDefinition(c.ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: &first})
	c.requireCall("describe the task definition", err)
	d := out.TaskDefinition.ContainerDefinitions[0]
	c.expectSame("essential, omitted", aws.ToBool(d.Essential), true)
	c.expectSame("the protocol of a port mapping, omitted", d.PortMappings[0].Protocol, "tcp")
	c.expectSame("the host port in awsvpc, omitted", aws.ToInt32(d.PortMappings[0].HostPort), 80)
	c.expectSame("environment, omitted", d.Environment == nil, false)
	_, err = s.ecs.DeregisterTaskDefinition(c.ctx, &awsecs.DeregisterTaskDefinitionInput{TaskDefinition: &first})
	c.requireCall("deregister the task definition", err)
	s.objects.definition = ""
	again, err := s.ecs.DescribeTaskDefinition(c.ctx,
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: ptr(s.definitionARN(c))})
	c.requireCall("describe the next revision", err)
	c.expectSame("the revision after a deregistered one", again.TaskDefinition.Revision, out.TaskDefinition.Revision+1)
	_, err = s.ecs.RegisterTaskDefinition(c.ctx, &awsecs.RegisterTaskDefinitionInput{Family: &s.prefix,
		NetworkMode: "awsvpc", Cpu: ptr("256"), Memory: ptr("256"),
		RequiresCompatibilities: []ecstypes.Compatibility{"FARGATE"},
		ContainerDefinitions:    []ecstypes.ContainerDefinition{{Name: ptr("app"), Image: ptr("x")}}})
	c.expectRefusal("256 CPU units with 256 MiB on Fargate", err, "ClientException")
}

func checkServiceTags(c *rowRun) {
	s := c.site
	arn := c.arnOfService(s.serviceName(c))
	_, err := s.ecs.TagResource(c.ctx, &awsecs.TagResourceInput{ResourceArn: &arn,
		Tags: []ecstypes.Tag{{Key: ptr("aws:x"), Value: ptr("y")}}})
	c.expectRefusal("a tag that begins with aws:", err, invalidParameter)
	var many []ecstypes.Tag
	for i := range 51 {
		many = append(many, ecstypes.Tag{Key: ptr(fmt.Sprintf("k%d", i)), Value: ptr("v")})
	}
	_, err = s.ecs.TagResource(c.ctx, &awsecs.TagResourceInput{ResourceArn: &arn, Tags: many})
	c.expectRefusal("51 tags", err, invalidParameter)
}

func (c *rowRun) arnOfService(name string) string {
	out, err := c.site.ecs.DescribeServices(c.ctx, &awsecs.DescribeServicesInput{Cluster: ptr(c.site.clusterName(c)),
		Services: []string{name}})
	c.requireCall("describe the service", err)
	if len(out.Services) == 0 {
		c.requireCall("describe the service", fmt.Errorf("it is %v", out.Failures))
	}
	return aws.ToString(out.Services[0].ServiceArn)
}

func checkEnumerations(c *rowRun) {
	in := c.site.externalInput(c, c.site.prefix+"-refused")
	in.DeploymentController.Type = "NOBODY"
	_, err := c.site.ecs.CreateService(c.ctx, in)
	c.expectRefusal("a deployment controller that does not exist", err, invalidParameter)
	in = c.site.externalInput(c, c.site.prefix+"-refused")
	in.SchedulingStrategy = "SOMETIMES"
	_, err = c.site.ecs.CreateService(c.ctx, in)
	c.expectRefusal("a scheduling strategy that does not exist", err, invalidParameter)
}

func checkForcedDeployment(c *rowRun) {
	s := c.site
	_, err := s.ecs.UpdateService(c.ctx, &awsecs.UpdateServiceInput{Cluster: ptr(s.clusterName(c)),
		Service: ptr(s.serviceName(c)), ForceNewDeployment: true})
	c.expectRefusal("a forced deployment of an EXTERNAL service", err, invalidParameter)
}

func checkDefinitionParameters(c *rowRun) {
	s := c.site
	register := func(edit func(*awsecs.RegisterTaskDefinitionInput)) error {
		in := &awsecs.RegisterTaskDefinitionInput{Family: &s.prefix, NetworkMode: "awsvpc", Cpu: ptr("256"),
			Memory: ptr("512"), RequiresCompatibilities: []ecstypes.Compatibility{"FARGATE"},
			ContainerDefinitions: []ecstypes.ContainerDefinition{{Name: ptr("app"), Image: ptr("x")}}}
		edit(in)
		_, err := s.ecs.RegisterTaskDefinition(c.ctx, in)
		return err
	}
	c.expectRefusal("pidMode host on Fargate", register(func(in *awsecs.RegisterTaskDefinitionInput) {
		in.PidMode = "host"
	}), "ClientException")
	c.expectRefusal("a mount point of an unknown volume", register(func(in *awsecs.RegisterTaskDefinitionInput) {
		in.ContainerDefinitions[0].MountPoints = []ecstypes.MountPoint{{SourceVolume: ptr("none"),
			ContainerPath: ptr("/x")}}
	}), "ClientException")
	c.expectRefusal("a privileged container on Fargate", register(func(in *awsecs.RegisterTaskDefinitionInput) {
		in.ContainerDefinitions[0].Privileged = aws.Bool(true)
	}), "ClientException")
}

func checkDaemonCount(c *rowRun) {
	in := &awsecs.CreateServiceInput{Cluster: ptr(c.site.clusterName(c)), ServiceName: ptr(c.site.prefix + "-refused"),
		TaskDefinition: ptr(c.site.definitionARN(c)), SchedulingStrategy: "DAEMON", DesiredCount: aws.Int32(1)}
	_, err := c.site.ecs.CreateService(c.ctx, in)
	c.expectRefusal("a daemon with a desired count", err, invalidParameter)
}
