package ecs_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func runInput(definition string, count int32) *awsecs.RunTaskInput {
	return &awsecs.RunTaskInput{Cluster: aws.String("web"), TaskDefinition: aws.String(definition),
		Count:      aws.Int32(count),
		LaunchType: "FARGATE", NetworkConfiguration: network(), ClientToken: aws.String("token-1")}
}

// task describes one task.
func (b *bench) task(arn string) ecstypes.Task {
	b.t.Helper()
	out := must(b.DescribeTasks(b.ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("web"),
		Tasks: []string{arn}}))(b.t)
	if len(out.Tasks) != 1 {
		b.t.Fatalf("failures %v", out.Failures)
	}
	return out.Tasks[0]
}

func (b *bench) awaitTask(arn, status string) ecstypes.Task {
	b.t.Helper()
	var x ecstypes.Task
	if err := b.Until(10*time.Minute, func() bool { x = b.task(arn); return *x.LastStatus == status }); err != nil {
		b.t.Fatalf("%s: %v", status, err)
	}
	return x
}

func TestAStandaloneTaskFromBirthToDeath(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/job:v1-crash-after-1m-exit-0")
	in := runInput("api", 1)
	in.StartedBy = aws.String("ci")
	in.Overrides = &ecstypes.TaskOverride{ContainerOverrides: []ecstypes.ContainerOverride{{Name: aws.String("web"),
		Environment: []ecstypes.KeyValuePair{{Name: aws.String("COLOR"), Value: aws.String("green")},
			{Name: aws.String("X"), Value: aws.String("1")}}}}}
	x := must(b.RunTask(b.ctx, in))(t).Tasks[0]
	if *x.LastStatus != "PROVISIONING" || *x.DesiredStatus != "RUNNING" || *x.Group != "family:api" ||
		*x.StartedBy != "ci" || *x.Cpu != "256" {
		t.Errorf("%+v", x)
	}
	b.Do(func(tx *world.Tx) {
		w, _ := tx.Tasks.Get(*x.TaskArn)
		if e := w.Containers[0].Spec.Environment; e["COLOR"] != "green" || e["X"] != "1" ||
			w.Definition.Containers[0].Environment["COLOR"] != "blue" {
			t.Errorf("environment %v", e)
		}
	})
	seen := []string{"PROVISIONING"}
	if err := b.Until(10*time.Minute, func() bool {
		x = b.task(*x.TaskArn)
		if s := *x.LastStatus; s != seen[len(seen)-1] {
			seen = append(seen, s)
		}
		return *x.LastStatus == "RUNNING"
	}); err != nil {
		t.Fatal(err)
	}
	details := map[string]string{}
	for _, d := range x.Attachments[0].Details {
		details[*d.Name] = *d.Value
	}
	c := x.Containers[0]
	if _, err := netip.ParseAddr(details["privateIPv4Address"]); err != nil ||
		*c.NetworkInterfaces[0].PrivateIpv4Address != details["privateIPv4Address"] ||
		details["subnetId"] == "" || details["macAddress"] == "" {
		t.Errorf("attachment %v", details)
	}
	b.Do(func(tx *world.Tx) {
		w, _ := tx.Tasks.Get(*x.TaskArn)
		if details["networkInterfaceId"] != w.InterfaceID() || details["macAddress"] != w.InterfaceMAC() ||
			details["privateDnsName"] != w.PrivateDNSName(tx.Key.Region) {
			t.Errorf("attachment %v, EC2's interface is %s, %s", details, w.InterfaceID(), w.InterfaceMAC())
		}
	})
	if *c.LastStatus != "RUNNING" || *c.RuntimeId == "" || *c.ImageDigest == "" || c.HealthStatus != "UNKNOWN" ||
		*c.Image != "sim/job:v1-crash-after-1m-exit-0" {
		t.Errorf("container %+v", c)
	}
	x = b.awaitTask(*x.TaskArn, "STOPPED")
	if x.StopCode != "EssentialContainerExited" || *x.Containers[0].ExitCode != 0 ||
		*x.StoppedReason != "Essential container in task exited" ||
		x.StoppedAt == nil || x.StoppingAt == nil || x.ExecutionStoppedAt == nil || x.PullStoppedAt == nil ||
		x.ConnectivityAt == nil {
		t.Errorf("%+v", x)
	}
	if got := strings.Join(seen, " "); got != "PROVISIONING PENDING ACTIVATING RUNNING" {
		t.Errorf("statuses %s", got)
	}
	b.Run(61 * time.Minute)
	out := must(b.DescribeTasks(b.ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("web"),
		Tasks: []string{*x.TaskArn}}))(t)
	if len(out.Failures) != 1 || *out.Failures[0].Reason != "MISSING" {
		t.Errorf("after an hour: %+v", out)
	}
}

func TestRunTaskOncePerToken(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/job:v1")
	one, two := must(b.RunTask(b.ctx, runInput("api", 2)))(t), must(b.RunTask(b.ctx, runInput("api", 2)))(t)
	if *one.Tasks[0].TaskArn != *two.Tasks[0].TaskArn || len(two.Tasks) != 2 {
		t.Error("the same token ran other tasks")
	}
	_, err := b.RunTask(b.ctx, runInput("api", 3))
	var conflict *ecstypes.ConflictException
	if !errors.As(err, &conflict) || len(conflict.ResourceIds) != 2 ||
		conflict.ResourceIds[0] != *one.Tasks[0].TaskArn {
		t.Errorf("%v %+v", err, conflict)
	}
}

// ECS forgets a token of RunTask an hour after the task's end: asked again, it
// starts another one.
func TestRunTaskForgetsItsTokenWithTheTask(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/job:v1-crash-after-1m-exit-0")
	one := must(b.RunTask(b.ctx, runInput("api", 1)))(t)
	b.awaitTask(*one.Tasks[0].TaskArn, "STOPPED")
	b.Run(50 * time.Minute)
	if again := must(b.RunTask(b.ctx, runInput("api", 1)))(t); *again.Tasks[0].TaskArn != *one.Tasks[0].TaskArn {
		t.Error("within the hour another task was started")
	}
	b.Run(11 * time.Minute)
	if again := must(b.RunTask(b.ctx, runInput("api", 1)))(t); *again.Tasks[0].TaskArn == *one.Tasks[0].TaskArn {
		t.Error("after the hour no other task was started")
	}
}

// An image does what its command says, the definition's or the caller's.
func TestRunTaskWithAnotherCommand(t *testing.T) {
	job := image.Behaviour{Version: "job", CrashAfter: time.Second, ExitCode: 4}
	b := newBench(t, world.Options{Images: image.Catalog{"shop:v1": {Version: "v1",
		Commands: map[string]image.Behaviour{"./job now": job}}}})
	b.register("shop:v1")
	in := runInput("api", 1)
	in.Overrides = &ecstypes.TaskOverride{ContainerOverrides: []ecstypes.ContainerOverride{{Name: aws.String("web"),
		Command: []string{"./job", "now"}}}}
	if x := b.awaitTask(*must(b.RunTask(b.ctx, in))(t).Tasks[0].TaskArn, "STOPPED"); *x.Containers[0].ExitCode != 4 {
		t.Errorf("exit code %d", *x.Containers[0].ExitCode)
	}
	in.Overrides, in.ClientToken = nil, aws.String("token-2")
	b.awaitTask(*must(b.RunTask(b.ctx, in))(t).Tasks[0].TaskArn, "RUNNING")
}

func TestRunTaskRefusals(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/job:v1")
	for _, c := range []struct {
		text string
		edit func(*awsecs.RunTaskInput)
	}{
		{"Count must be between 1 and 10.", func(in *awsecs.RunTaskInput) { in.Count = aws.Int32(11) }},
		{"Invalid value for propagateTags. SERVICE is not supported when running a task.",
			func(in *awsecs.RunTaskInput) { in.PropagateTags = "SERVICE" }},
		{"Container Override for container named db is not a container in the TaskDefinition.",
			func(in *awsecs.RunTaskInput) {
				in.Overrides = &ecstypes.TaskOverride{ContainerOverrides: []ecstypes.ContainerOverride{{Name: aws.String("db")}}}
			}},
		{"Network Configuration must be provided when networkMode 'awsvpc' is specified.",
			func(in *awsecs.RunTaskInput) { in.NetworkConfiguration = nil }},
		{"Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.",
			func(in *awsecs.RunTaskInput) {
				in.CapacityProviderStrategy = []ecstypes.CapacityProviderStrategyItem{{CapacityProvider: aws.String(
					"FARGATE")}}
			}},
	} {
		in := runInput("api", 1)
		c.edit(in)
		refused(b.RunTask(b.ctx, in))(t, invalidParameter, c.text)
	}
	b.Do(func(tx *world.Tx) { tx.ActiveFaults.NoCapacity = map[string]bool{"*": true} })
	if out := must(b.RunTask(b.ctx, runInput("api", 2)))(t); len(out.Tasks) != 0 || len(out.Failures) != 2 ||
		!strings.HasPrefix(*out.Failures[0].Reason, "Capacity is unavailable") {
		t.Errorf("%+v", out)
	}
	out := must(b.StartTask(b.ctx, &awsecs.StartTaskInput{Cluster: aws.String("web"), TaskDefinition: aws.String("api"),
		NetworkConfiguration: network(), ContainerInstances: []string{"i1"}}))(t)
	if *out.Failures[0].Reason != "MISSING" {
		t.Errorf("%+v", out)
	}
}

func TestStopTask(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/job:v1")
	arn := *must(b.RunTask(b.ctx, runInput("api", 1)))(t).Tasks[0].TaskArn
	b.awaitTask(arn, "RUNNING")
	stop := &awsecs.StopTaskInput{Cluster: aws.String("web"), Task: &arn, Reason: aws.String("enough")}
	if x := must(b.StopTask(b.ctx, stop))(t).Task; *x.DesiredStatus != "STOPPED" || x.StopCode != "UserInitiated" ||
		*x.StoppedReason != "enough" {
		t.Errorf("%+v", x)
	}
	b.awaitTask(arn, "STOPPED")
	must(b.StopTask(b.ctx, stop))(t)
	stop.Task = aws.String("00000000000000000000000000000000")
	refused(b.StopTask(b.ctx, stop))(t, invalidParameter, "The referenced task was not found.")
	must(b.DeleteCluster(b.ctx, &awsecs.DeleteClusterInput{Cluster: aws.String("web")}))(t)
}

func TestListTasks(t *testing.T) {
	b := newBench(t, world.Options{})
	v1 := b.register("sim/web:v1")
	b.external(120)
	ts := b.set(v1, b.blue, 100)
	b.steady(1)
	must(b.RegisterTaskDefinition(b.ctx, fargate("job", "sim/job:v1")))(t)
	job := *must(b.RunTask(b.ctx, runInput("job", 1)))(t).Tasks[0].TaskArn
	list := func(edit func(*awsecs.ListTasksInput)) (all []string, pages int) {
		in := &awsecs.ListTasksInput{Cluster: aws.String("web")}
		edit(in)
		for p := awsecs.NewListTasksPaginator(b.Client, in); p.HasMorePages(); pages++ {
			all = append(all, must(p.NextPage(b.ctx))(t).TaskArns...)
		}
		return all, pages
	}
	for i, c := range []struct {
		edit     func(*awsecs.ListTasksInput)
		n, pages int
	}{
		{func(in *awsecs.ListTasksInput) {}, 121, 2},
		{func(in *awsecs.ListTasksInput) { in.ServiceName = aws.String("api") }, 120, 2},
		{func(in *awsecs.ListTasksInput) { in.StartedBy = ts.Id }, 120, 2},
		{func(in *awsecs.ListTasksInput) { in.Family = aws.String("job") }, 1, 1},
		{func(in *awsecs.ListTasksInput) { in.LaunchType = "EC2" }, 0, 1},
		{func(in *awsecs.ListTasksInput) { in.DesiredStatus = "STOPPED" }, 0, 1},
		{func(in *awsecs.ListTasksInput) { in.DesiredStatus = "PENDING" }, 0, 1},
	} {
		if all, pages := list(c.edit); len(all) != c.n || pages != c.pages {
			t.Errorf("%d: %d tasks on %d pages, want %d on %d", i, len(all), pages, c.n, c.pages)
		}
	}
	if all, _ := list(func(in *awsecs.ListTasksInput) { in.Family = aws.String("job") }); all[0] != job {
		t.Error("another task")
	}
	refused(b.ListTasks(b.ctx, &awsecs.ListTasksInput{Cluster: aws.String("web"), StartedBy: ts.Id,
		Family: aws.String("api")}))(t, invalidParameter, "cannot specify startedBy with other filters.")
	refused(b.ListTasks(b.ctx, &awsecs.ListTasksInput{Cluster: aws.String("web"), ServiceName: aws.String("no")}))(t,
		"ServiceNotFoundException", "Service not found.")
	var ids []string
	for i := range 101 {
		ids = append(ids, fmt.Sprint(i))
	}
	refused(b.DescribeTasks(b.ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("web"), Tasks: ids}))(t,
		invalidParameter, "Tasks cannot have more than 100 elements.")
	refused(b.DeleteCluster(b.ctx, &awsecs.DeleteClusterInput{Cluster: aws.String("web")}))(t,
		"ClusterContainsServicesException", "The Cluster cannot be deleted while Services are active.")
}
