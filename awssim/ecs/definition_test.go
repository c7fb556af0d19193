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

func TestTaskDefinitionsAreFilledAsAWSDoes(t *testing.T) {
	b := newBench(t, world.Options{})
	in := fargate("api", "sim/web:v1")
	in.Cpu, in.Memory = aws.String(".5 vCPU"), aws.String("1 GB")
	in.Tags = []ecstypes.Tag{{Key: aws.String("team"), Value: aws.String("a")}}
	in.ContainerDefinitions[0].HealthCheck = &ecstypes.HealthCheck{Command: []string{"CMD", "true"}}
	d := must(b.RegisterTaskDefinition(b.ctx, in))(t).TaskDefinition
	c := d.ContainerDefinitions[0]
	if *d.TaskDefinitionArn != "arn:aws:ecs:eu-west-1:123456789012:task-definition/api:1" || *d.Cpu != "512" ||
		*d.Memory != "1024" || d.Status != "ACTIVE" ||
		len(d.Compatibilities) != 2 || d.Volumes == nil || d.PlacementConstraints == nil || d.RegisteredAt == nil {
		t.Errorf("%+v", d)
	}
	if !*c.Essential || *c.PortMappings[0].HostPort != 8080 || c.PortMappings[0].Protocol != "tcp" ||
		c.MountPoints == nil || c.VolumesFrom == nil ||
		*c.HealthCheck.Interval != 30 || *c.HealthCheck.Retries != 3 {
		t.Errorf("%+v", c)
	}
	out := must(b.DescribeTaskDefinition(b.ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("api"),
		Include: []ecstypes.TaskDefinitionField{"TAGS"}}))(t)
	if *out.Tags[0].Key != "team" {
		t.Errorf("tags %v", out.Tags)
	}
}

func TestRevisionsAreNeverReused(t *testing.T) {
	b := newBench(t, world.Options{})
	for range 3 {
		b.register("sim/web:v1")
	}
	must(b.DeregisterTaskDefinition(b.ctx,
		&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("api:3")}))(t)
	describe := func(id string) *ecstypes.TaskDefinition {
		t.Helper()
		return must(b.DescribeTaskDefinition(b.ctx,
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: &id}))(t).TaskDefinition
	}
	if d := describe("api"); d.Revision != 2 {
		t.Errorf("the family's newest ACTIVE is %d", d.Revision)
	}
	if d := describe("api:3"); d.Status != "INACTIVE" || d.DeregisteredAt == nil {
		t.Errorf("%+v", d)
	}
	del := must(b.DeleteTaskDefinitions(b.ctx,
		&awsecs.DeleteTaskDefinitionsInput{TaskDefinitions: []string{"api:3", "api:2", "api:9", "api"}}))(t)
	if len(del.TaskDefinitions) != 1 || del.TaskDefinitions[0].Status != "DELETE_IN_PROGRESS" ||
		len(del.Failures) != 3 || !strings.Contains(*del.Failures[2].Reason, "identifier is invalid") {
		t.Errorf("%+v", del)
	}
	if arn := b.register("sim/web:v1"); arn[len(arn)-2:] != ":4" {
		t.Errorf("next revision %s", arn)
	}
	refused(b.DescribeTaskDefinition(b.ctx, &awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("none")}))(t,
		"ClientException", "Unable to describe task definition.")
}

func TestTaskDefinitionsAreRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	for _, c := range []struct {
		text string
		edit func(*awsecs.RegisterTaskDefinitionInput)
	}{
		{"Family should not be null or empty.",
			func(in *awsecs.RegisterTaskDefinitionInput) { in.Family = aws.String("") }},
		{"Container.image should not be null or empty.",
			func(in *awsecs.RegisterTaskDefinitionInput) { in.ContainerDefinitions[0].Image = nil }},
		{"Container.name should not be null or empty.",
			func(in *awsecs.RegisterTaskDefinitionInput) { in.ContainerDefinitions[0].Name = nil }},
		{"No Fargate configuration exists for given values: 256 CPU, 4096 memory. See the Amazon ECS documentation " +
			"for the valid values.", func(in *awsecs.RegisterTaskDefinitionInput) { in.Memory = aws.String("4096") }},
		{"Fargate only supports network mode 'awsvpc'.",
			func(in *awsecs.RegisterTaskDefinitionInput) { in.NetworkMode = "bridge" }},
		{"Fargate requires that 'cpu' be defined at the task level.",
			func(in *awsecs.RegisterTaskDefinitionInput) { in.Cpu = nil }},
		{"A task definition must have at least one essential container.",
			func(in *awsecs.RegisterTaskDefinitionInput) { in.ContainerDefinitions[0].Essential = aws.Bool(false) }},
		{"When networkMode=awsvpc, the host ports and container ports in port mappings must match.",
			func(in *awsecs.RegisterTaskDefinitionInput) {
				in.ContainerDefinitions[0].PortMappings[0].HostPort = aws.Int32(1)
			}},
	} {
		in := fargate("api", "sim/web:v1")
		c.edit(in)
		refused(b.RegisterTaskDefinition(b.ctx, in))(t, "ClientException", c.text)
	}
}

func TestListTaskDefinitions(t *testing.T) {
	b := newBench(t, world.Options{})
	for i := range 130 {
		must(b.RegisterTaskDefinition(b.ctx, fargate(fmt.Sprintf("f%d", i%3), "sim/web:v1")))(t)
	}
	must(b.DeregisterTaskDefinition(b.ctx,
		&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("f1:1")}))(t)
	var all []string
	p := awsecs.NewListTaskDefinitionsPaginator(b.Client, &awsecs.ListTaskDefinitionsInput{})
	for p.HasMorePages() {
		all = append(all, must(p.NextPage(b.ctx))(t).TaskDefinitionArns...)
	}
	if len(all) != 129 {
		t.Errorf("%d listed", len(all))
	}
	out := must(b.ListTaskDefinitions(b.ctx, &awsecs.ListTaskDefinitionsInput{FamilyPrefix: aws.String("f1"),
		Sort: "DESC", MaxResults: aws.Int32(1)}))(t)
	if out.TaskDefinitionArns[0] != "arn:aws:ecs:eu-west-1:123456789012:task-definition/f1:43" {
		t.Errorf("the last of f1 is %v", out.TaskDefinitionArns)
	}
	families := must(b.ListTaskDefinitionFamilies(b.ctx,
		&awsecs.ListTaskDefinitionFamiliesInput{FamilyPrefix: aws.String("f"), Status: "ACTIVE"}))(t).Families
	if len(families) != 3 {
		t.Errorf("families %v", families)
	}
}
