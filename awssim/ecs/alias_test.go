package ecs_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim/ecs"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// The room is called directly here: neither a request nor an answer that its
// owner changes afterwards may reach the world.
func TestRequestsAndAnswersAreNotTheWorlds(t *testing.T) {
	b := worldtest.NewHarness(world.Options{})
	room, ctx := ecs.New(b.World), world.WithKey(t.Context(), worldtest.Key)
	group := b.AddGroup("blue")
	must(room.CreateCluster(ctx, &awsecs.CreateClusterInput{ClusterName: aws.String("web")}))(t)
	reg := fargate("api", "sim/web:v1")
	out := must(room.RegisterTaskDefinition(ctx, reg))(t)
	*reg.ContainerDefinitions[0].Image, *out.TaskDefinition.ContainerDefinitions[0].Image = "changed", "changed"
	d := must(room.DescribeTaskDefinition(ctx,
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: aws.String("api")}))(t)
	if got := *d.TaskDefinition.ContainerDefinitions[0].Image; got != "sim/web:v1" {
		t.Errorf("the definition's image became %q", got)
	}
	must(room.CreateService(ctx, externalInput(1)))(t)
	in := setInput("api", group, 100)
	set := must(room.CreateTaskSet(ctx, in))(t).TaskSet
	*in.LoadBalancers[0].ContainerPort, set.NetworkConfiguration.AwsvpcConfiguration.Subnets[0] = 1, "changed"
	in.NetworkConfiguration.AwsvpcConfiguration.SecurityGroups[0] = "changed"
	got := must(room.DescribeTaskSets(ctx, &awsecs.DescribeTaskSetsInput{Cluster: aws.String("web"),
		Service: aws.String("api")}))(t).TaskSets[0]
	v := got.NetworkConfiguration.AwsvpcConfiguration
	if *got.LoadBalancers[0].ContainerPort != 8080 || v.Subnets[0] != worldtest.Subnets[0] ||
		v.SecurityGroups[0] != "sg-1" {
		t.Errorf("the task set became %+v %+v", got.LoadBalancers, v)
	}
}
