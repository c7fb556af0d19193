package ecs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// sized registers a container instance of a size, and a definition whose tasks take 512 CPU units
// and 192 MiB of it.
func (b *bench) sized(size world.Size) {
	b.t.Helper()
	b.Do(func(tx *world.Tx) {
		c, _ := tx.Clusters.Get("web")
		b.room.Scheduler().RegisterInstances(tx, c, 1, size)
	})
	in := onInstances("bridge", "web:1", 0)
	in.ContainerDefinitions[0].Cpu = 512
	must(b.RegisterTaskDefinition(b.ctx, in))(b.t)
}

// Tasks share the CPU and memory of a container instance. The task that does not fit is not placed,
// with AWS's event and reason, until a task leaves.
func TestTasksThatDoNotFitAreNotPlaced(t *testing.T) {
	for _, c := range []struct {
		size          world.Size
		event, reason string
	}{
		{world.Size{CPU: 1024, Memory: 4096}, "has insufficient CPU units available.", "RESOURCE:CPU"},
		{world.Size{CPU: 4096, Memory: 400}, "has insufficient memory available.", "RESOURCE:MEMORY"},
	} {
		b := newBench(t, world.Options{})
		b.sized(c.size)
		must(b.CreateService(b.ctx, onEC2("api:1", 3, "")))(t)
		b.Run(5 * time.Minute)
		s := b.service()
		if s.RunningCount != 2 || !slices.ContainsFunc(s.Events, func(e ecstypes.ServiceEvent) bool {
			return strings.Contains(*e.Message, "(service api) was unable to place a task because no container instance "+
				"met all of its requirements. The closest matching (container-instance ") &&
				strings.HasSuffix(*e.Message, c.event)
		}) {
			t.Errorf("%d tasks, %+v", s.RunningCount, s.Events)
		}
		run := func() *awsecs.RunTaskOutput {
			return must(b.RunTask(b.ctx, &awsecs.RunTaskInput{Cluster: aws.String("web"), TaskDefinition: aws.String("api"),
				LaunchType: "EC2"}))(t)
		}
		if out := run(); len(out.Failures) != 1 || *out.Failures[0].Reason != c.reason {
			t.Errorf("%+v", out)
		}
		b.update(&awsecs.UpdateServiceInput{DesiredCount: aws.Int32(1)})
		b.Run(2 * time.Minute)
		if out := run(); len(out.Tasks) != 1 {
			t.Errorf("after a task has left: %+v", out)
		}
	}
}

// An instance shows what its tasks leave.
func TestRemainingResources(t *testing.T) {
	b := newBench(t, world.Options{})
	b.sized(world.Size{CPU: 2048, Memory: 4096})
	must(b.CreateService(b.ctx, onEC2("api:1", 2, "")))(t)
	b.await("tasks", func(s ecstypes.Service) bool { return s.RunningCount == 2 })
	list := must(b.ListContainerInstances(b.ctx, &awsecs.ListContainerInstancesInput{Cluster: aws.String("web")}))(t)
	i := must(b.DescribeContainerInstances(b.ctx, &awsecs.DescribeContainerInstancesInput{Cluster: aws.String("web"),
		ContainerInstances: list.ContainerInstanceArns}))(t).ContainerInstances[0]
	values := func(all []ecstypes.Resource) [2]int32 { return [2]int32{all[0].IntegerValue, all[1].IntegerValue} }
	if got := values(i.RegisteredResources); got != [2]int32{2048, 4096} {
		t.Errorf("registered %v", got)
	}
	if got := values(i.RemainingResources); got != [2]int32{1024, 4096 - 2*192} {
		t.Errorf("remaining %v", got)
	}
}

// A rolling update on a full instance that may stop one task first waits for its room: the task that
// A rolling update on a full instance waits for the room of the task that it stops: that is no failure.
func TestARollingUpdateWaitsForRoom(t *testing.T) {
	b := newBench(t, world.Options{})
	b.sized(world.Size{CPU: 1024, Memory: 4096})
	in := onEC2("api:1", 2, "")
	in.DeploymentConfiguration = &ecstypes.DeploymentConfiguration{MinimumHealthyPercent: aws.Int32(50),
		MaximumPercent:           aws.Int32(100),
		DeploymentCircuitBreaker: &ecstypes.DeploymentCircuitBreaker{Enable: true, Rollback: true}}
	must(b.CreateService(b.ctx, in))(t)
	b.await("tasks", completed)
	next := onInstances("bridge", "web:2", 0)
	next.ContainerDefinitions[0].Cpu = 512
	must(b.RegisterTaskDefinition(b.ctx, next))(t)
	b.update(&awsecs.UpdateServiceInput{TaskDefinition: aws.String("api:2")})
	s := b.await("deployment", func(s ecstypes.Service) bool { return completed(s) && len(s.Deployments) == 1 })
	if !strings.HasSuffix(*s.TaskDefinition, "/api:2") || s.RunningCount != 2 {
		t.Errorf("%d tasks of %s", s.RunningCount, *s.TaskDefinition)
		for _, e := range s.Events {
			t.Log(*e.Message)
		}
	}
}
