package ecs_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestATaskSetFromBirthToDeath(t *testing.T) {
	b := newBench(t, world.Options{})
	v1, v2 := b.register("sim/web:v1"), b.register("sim/web:v2")
	svc := b.external(3)
	if *svc.Status != "ACTIVE" || svc.TaskDefinition != nil || len(svc.Deployments) != 0 ||
		svc.DeploymentController.Type != "EXTERNAL" {
		t.Errorf("new service %+v", svc)
	}
	one := b.set(v1, b.blue, 100)
	if !regexp.MustCompile(`^ecs-svc/\d{19}$`).MatchString(*one.Id) ||
		*one.TaskSetArn != "arn:aws:ecs:eu-west-1:123456789012:task-set/web/api/"+*one.Id {
		t.Errorf("ids %s %s", *one.Id, *one.TaskSetArn)
	}
	if *one.Status != "ACTIVE" || one.ComputedDesiredCount != 3 || one.StabilityStatus != "STABILIZING" ||
		one.Scale.Value != 100 {
		t.Errorf("new task set %+v", one)
	}
	b.steady(1)
	b.promote(one)
	s := b.service()
	if *s.TaskDefinition != v1 || s.LaunchType != "FARGATE" || *s.LoadBalancers[0].TargetGroupArn != b.blue ||
		s.RunningCount != 3 || *s.TaskSets[0].Status != "PRIMARY" {
		t.Errorf("with a primary: %+v", s)
	}
	two := b.set(v2, b.green, 10)
	s = b.steady(2)
	if s.TaskSets[1].ComputedDesiredCount != 1 || s.TaskSets[1].RunningCount != 1 || s.RunningCount != 4 {
		t.Errorf("the second set %+v", s.TaskSets[1])
	}
	refused(b.DeleteTaskSet(b.ctx, &awsecs.DeleteTaskSetInput{Cluster: aws.String("web"), Service: aws.String("api"),
		TaskSet: one.Id}))(t, invalidParameter, "Primary TaskSet cannot be deleted")
	b.scale(two, 100)
	b.steady(2)
	b.promote(two)
	if s := b.service(); *s.TaskSets[0].Status != "ACTIVE" || *s.TaskSets[1].Status != "PRIMARY" ||
		*s.TaskDefinition != v2 {
		t.Errorf("after the promotion %+v", s.TaskSets)
	}
	gone := must(b.DeleteTaskSet(b.ctx, &awsecs.DeleteTaskSetInput{Cluster: aws.String("web"),
		Service: aws.String("api"), TaskSet: one.TaskSetArn}))(t)
	if *gone.TaskSet.Status != "DRAINING" || gone.TaskSet.ComputedDesiredCount != 0 {
		t.Errorf("deleted: %+v", gone.TaskSet)
	}
	b.steady(1)
	out := must(b.DescribeTaskSets(b.ctx, &awsecs.DescribeTaskSetsInput{Cluster: aws.String("web"),
		Service: aws.String("api"), TaskSets: []string{*one.Id, *two.Id}}))(t)
	if len(out.TaskSets) != 1 || *out.Failures[0].Reason != "MISSING" || *out.Failures[0].Arn != *one.TaskSetArn {
		t.Errorf("described %d, failures %v", len(out.TaskSets), out.Failures)
	}
}

func TestScaleZeroTravelsWithoutItsValue(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(2)
	ts := b.set(b.register("sim/web:v1"), b.blue, 100)
	b.steady(1)
	if got := b.scale(ts, 0); got.ComputedDesiredCount != 0 || got.Scale.Value != 0 ||
		got.StabilityStatus != "STABILIZING" {
		t.Errorf("scaled to %v, computed %d, %s", got.Scale.Value, got.ComputedDesiredCount, got.StabilityStatus)
	}
	b.await("no tasks", func(s ecstypes.Service) bool {
		return s.RunningCount == 0 && s.TaskSets[0].StabilityStatus == "STEADY_STATE"
	})
}

func TestNoScaleMeansAllOfIt(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(2)
	in := setInput(b.register("sim/web:v1"), b.blue, 0)
	in.Scale = nil
	if ts := must(b.CreateTaskSet(b.ctx, in))(t).TaskSet; ts.Scale.Value != 100 || ts.ComputedDesiredCount != 2 {
		t.Errorf("%+v", ts)
	}
}

func TestSixTaskSetsAreOneTooMany(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(0)
	v1 := b.register("sim/web:v1")
	var sets []*ecstypes.TaskSet
	for range 5 {
		sets = append(sets, b.set(v1, b.blue, 0))
	}
	text := "5 deployments exist on the service. Unable to create new TaskSet since this exceeds the maximum limit."
	refused(b.CreateTaskSet(b.ctx, setInput(v1, b.blue, 0)))(t, invalidParameter, text)
	must(b.DeleteTaskSet(b.ctx, &awsecs.DeleteTaskSetInput{Cluster: aws.String("web"), Service: aws.String("api"),
		TaskSet: sets[0].Id}))(t)
	refused(b.CreateTaskSet(b.ctx, setInput(v1, b.blue, 0)))(t, invalidParameter, text)
	b.Run(time.Minute)
	b.set(v1, b.blue, 0)
}

func TestTheSameTokenMakesOneTaskSet(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(1)
	in := setInput(b.register("sim/web:v1"), b.blue, 100)
	in.ClientToken, in.ExternalId = aws.String("f81d4fae-7dec-11d0-a765-00a0c91e6bf6"), aws.String("d1/canary/create")
	in.Tags = []ecstypes.Tag{{Key: aws.String("team"), Value: aws.String("a")}}
	one, two := must(b.CreateTaskSet(b.ctx, in))(t), must(b.CreateTaskSet(b.ctx, in))(t)
	if *one.TaskSet.Id != *two.TaskSet.Id || len(b.service().TaskSets) != 1 ||
		*two.TaskSet.ExternalId != "d1/canary/create" {
		t.Errorf("%s and %s", *one.TaskSet.Id, *two.TaskSet.Id)
	}
	in.Scale.Value = 50
	refused(b.CreateTaskSet(b.ctx, in))(t, invalidParameter,
		"The client token was used before with different parameters.")
	in.ClientToken = aws.String(strings.Repeat("x", 37))
	refused(b.CreateTaskSet(b.ctx, in))(t, invalidParameter, "clientToken can have at most 36 characters.")
	d := &awsecs.DescribeTaskSetsInput{Cluster: aws.String("web"), Service: aws.String("api")}
	if out := must(b.DescribeTaskSets(b.ctx, d))(t); len(out.TaskSets[0].Tags) != 0 {
		t.Error("tags are shown unasked")
	}
	d.Include = []ecstypes.TaskSetField{"TAGS"}
	if out := must(b.DescribeTaskSets(b.ctx, d))(t); *out.TaskSets[0].Tags[0].Key != "team" {
		t.Error("tags are not shown")
	}
}

func TestTaskSetsAreRefusedInAWSsWords(t *testing.T) {
	b := newBench(t, world.Options{})
	v1 := b.register("sim/web:v1")
	b.external(1)
	nowhere := b.AddGroup("nowhere")
	b.Do(func(tx *world.Tx) {
		g, _ := tx.TargetGroups.Get(nowhere)
		g.Balancer = ""
	})
	for _, c := range []struct {
		text string
		edit func(*awsecs.CreateTaskSetInput)
	}{
		{"The target group with targetGroupArn " + nowhere + " does not have an associated load balancer.",
			func(in *awsecs.CreateTaskSetInput) { in.LoadBalancers = behind(nowhere) }},
		{"Container Name can not be blank.",
			func(in *awsecs.CreateTaskSetInput) { in.LoadBalancers[0].ContainerName = nil }},
		{"The container db does not exist in the task definition.",
			func(in *awsecs.CreateTaskSetInput) { in.LoadBalancers[0].ContainerName = aws.String("db") }},
		{"The container web did not have a container port 81 defined.",
			func(in *awsecs.CreateTaskSetInput) { in.LoadBalancers[0].ContainerPort = aws.Int32(81) }},
		{"load balancers can have at most 1 items.", func(in *awsecs.CreateTaskSetInput) {
			in.LoadBalancers = append(in.LoadBalancers, behind(b.green)...)
		}},
		{"Network Configuration must be provided when networkMode 'awsvpc' is specified.",
			func(in *awsecs.CreateTaskSetInput) { in.NetworkConfiguration = nil }},
		{"Error retrieving subnet information for [subnet-x]: The subnet ID 'subnet-x' does not exist (ErrorCode: " +
			"InvalidSubnetID.NotFound)", func(in *awsecs.CreateTaskSetInput) {
			in.NetworkConfiguration = &ecstypes.NetworkConfiguration{AwsvpcConfiguration: &ecstypes.AwsVpcConfiguration{Subnets: []string{"subnet-x"}}}
		}},
		{"Scale value must be between 0 and 100.", func(in *awsecs.CreateTaskSetInput) { in.Scale.Value = 101 }},
	} {
		in := setInput(v1, b.blue, 100)
		c.edit(in)
		refused(b.CreateTaskSet(b.ctx, in))(t, invalidParameter, c.text)
	}
	in := setInput("api:9", b.blue, 100)
	refused(b.CreateTaskSet(b.ctx, in))(t, "ClientException", "TaskDefinition not found.")
	must(b.DeregisterTaskDefinition(b.ctx,
		&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("api:1")}))(t)
	in.TaskDefinition = aws.String("api:1")
	refused(b.CreateTaskSet(b.ctx, in))(t, "ClientException", "TaskDefinition is inactive")
	in.Service = aws.String("none")
	refused(b.CreateTaskSet(b.ctx, in))(t, "ServiceNotFoundException", "Service not found.")
	in.Cluster = aws.String("none")
	refused(b.CreateTaskSet(b.ctx, in))(t, "ClusterNotFoundException", "Cluster not found.")
	d := &awsecs.DescribeTaskSetsInput{Cluster: aws.String("web"), Service: aws.String("api"), TaskSets: []string{}}
	refused(b.DescribeTaskSets(b.ctx, d))(t, invalidParameter, "TaskSets cannot be empty.")
	d.TaskSets = []string{"what"}
	refused(b.DescribeTaskSets(b.ctx, d))(t, invalidParameter, "Task Set Identifier is invalid")
	if n := len(b.service().TaskSets); n != 0 {
		t.Errorf("%d task sets came of refusals", n)
	}
}

func TestTaskSetsOnARollingServiceAreRefused(t *testing.T) {
	b := newBench(t, world.Options{})
	v1 := b.register("sim/web:v1")
	must(b.CreateService(b.ctx, rollingInput(v1, 1, b.blue)))(t)
	text := "Amazon ECS only supports task set management on services configured to use external deployment " +
		"controllers."
	refused(b.CreateTaskSet(b.ctx, setInput(v1, b.blue, 1)))(t, invalidParameter, text)
	refused(b.DescribeTaskSets(b.ctx, &awsecs.DescribeTaskSetsInput{Cluster: aws.String("web"),
		Service: aws.String("api")}))(t, invalidParameter, text)
}

func TestDesiredCountReachesEveryTaskSet(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(3)
	v1 := b.register("sim/web:v1")
	b.set(v1, b.blue, 90)
	b.set(v1, b.green, 10)
	b.steady(2)
	s := must(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DesiredCount: aws.Int32(20)}))(t).Service
	if s.TaskSets[0].ComputedDesiredCount != 18 || s.TaskSets[1].ComputedDesiredCount != 2 ||
		s.TaskSets[0].StabilityStatus != "STABILIZING" {
		t.Errorf("%+v", s.TaskSets)
	}
	if s := b.steady(2); s.RunningCount != 20 {
		t.Errorf("%d running", s.RunningCount)
	}
	must(b.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("web"), Service: aws.String("api"),
		DesiredCount: aws.Int32(0)}))(t)
	b.await("none", func(s ecstypes.Service) bool { return s.RunningCount == 0 })
}

func TestEventsAreTheNewestHundred(t *testing.T) {
	b := newBench(t, world.Options{})
	b.external(2)
	b.set(b.register("sim/web:v1-crash-after-1s"), b.blue, 100)
	b.Run(3 * time.Hour)
	events := b.service().Events
	if len(events) != 100 {
		t.Fatalf("%d events", len(events))
	}
	for i := 1; i < len(events); i++ {
		if events[i].CreatedAt.After(*events[i-1].CreatedAt) {
			t.Fatal("events are not newest first")
		}
	}
	ids := map[string]bool{}
	for _, e := range events {
		ids[*e.Id] = true
	}
	if len(ids) != 100 {
		t.Errorf("%d ids", len(ids))
	}
}

// A fresh STEADY_STATE may be of the time before an update.
func TestStabilityIsShownLater(t *testing.T) {
	k := world.DefaultSettings()
	k.StabilityLag = world.Range{Min: 8 * time.Second, Max: 8 * time.Second}
	b := newBench(t, world.Options{Settings: &k})
	b.external(2)
	ts := b.set(b.register("sim/web:v1"), b.blue, 100)
	b.steady(1)
	b.Run(20 * time.Second)
	if got := b.scale(ts, 50); got.ComputedDesiredCount != 1 || got.StabilityStatus != "STEADY_STATE" {
		t.Errorf("at once: computed %d, %s", got.ComputedDesiredCount, got.StabilityStatus)
	}
	b.Run(7 * time.Second)
	if got := b.service().TaskSets[0]; got.StabilityStatus != "STEADY_STATE" {
		t.Errorf("7 s later: %s", got.StabilityStatus)
	}
	b.Run(time.Second)
	if got := b.service().TaskSets[0]; got.StabilityStatus != "STABILIZING" {
		t.Errorf("8 s later: %s", got.StabilityStatus)
	}
}

func TestATokenIsForgotten(t *testing.T) {
	k := world.DefaultSettings()
	k.TokenLifetime = time.Minute
	b := newBench(t, world.Options{Settings: &k})
	b.external(1)
	in := setInput(b.register("sim/web:v1"), b.blue, 100)
	in.ClientToken = aws.String("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
	one := must(b.CreateTaskSet(b.ctx, in))(t)
	b.Run(50 * time.Second)
	if two := must(b.CreateTaskSet(b.ctx, in))(t); *one.TaskSet.Id != *two.TaskSet.Id {
		t.Errorf("%s and %s within a minute", *one.TaskSet.Id, *two.TaskSet.Id)
	}
	b.Run(20 * time.Second)
	if three := must(b.CreateTaskSet(b.ctx, in))(t); *one.TaskSet.Id == *three.TaskSet.Id {
		t.Error("the token is remembered for more than a minute")
	}
}
