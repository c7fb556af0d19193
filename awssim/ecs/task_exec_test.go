package ecs_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice/awssim/ssm"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// ExecuteCommand needs a running task that allows it.
func TestExecuteCommand(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/web:v1")
	closed, open := runInput("api", 1), runInput("api", 1)
	open.EnableExecuteCommand, open.ClientToken = true, aws.String("token-2")
	without := *must(b.RunTask(b.ctx, closed))(t).Tasks[0].TaskArn
	with := *must(b.RunTask(b.ctx, open))(t).Tasks[0].TaskArn
	execute := func(task, container, command string, interactive bool) (*awsecs.ExecuteCommandOutput, error) {
		in := &awsecs.ExecuteCommandInput{Cluster: aws.String("web"), Task: &task, Command: &command,
			Interactive: interactive}
		if container != "" {
			in.Container = &container
		}
		return b.ExecuteCommand(b.ctx, in)
	}
	if _, err := execute(with, "", "sh", true); err == nil || !strings.Contains(err.Error(), "execute command agent isn") {
		t.Errorf("a task that does not run yet: %v", err)
	}
	b.awaitTask(without, "RUNNING")
	b.awaitTask(with, "RUNNING")
	for _, c := range []struct {
		task, container, command string
		interactive              bool
		want                     string
	}{
		{without, "", "sh", true, "execute command was not enabled"},
		{with, "", "sh", false, "Interactive is the only mode"},
		{with, "", "", true, "Command cannot be empty"},
		{with, "none", "sh", true, "container name is not found"},
		{"0123456789abcdef0123456789abcdef", "", "sh", true, "task was not found"},
	} {
		if _, err := execute(c.task, c.container, c.command, c.interactive); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	out, err := execute(with, "", "sh", true)
	if err != nil || *out.ContainerName != "web" || !strings.HasPrefix(*out.Session.StreamUrl, "wss://127.0.0.1:1/") ||
		*out.Session.TokenValue == "" || *out.TaskArn != with {
		t.Errorf("%+v %v", out, err)
	}
}

// A session of Systems Manager needs a running container that allows ECS Exec, and ports.
func TestSessionsNeedECSExec(t *testing.T) {
	b := newBench(t, world.Options{})
	b.register("sim/web:v1")
	closed, open := runInput("api", 1), runInput("api", 1)
	open.EnableExecuteCommand, open.ClientToken = true, aws.String("token-2")
	targetOf := func(in *awsecs.RunTaskInput) string {
		arn := *must(b.RunTask(b.ctx, in))(t).Tasks[0].TaskArn
		b.awaitTask(arn, "RUNNING")
		out := must(b.DescribeTasks(b.ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("web"), Tasks: []string{arn}}))(t)
		return "ecs:web_" + arn[strings.LastIndex(arn, "/")+1:] + "_" + *out.Tasks[0].Containers[0].RuntimeId
	}
	without, with := targetOf(closed), targetOf(open)
	sessions := ssm.New(b.World)
	ctx, port := world.WithKey(b.ctx, worldtest.Key), map[string][]string{"portNumber": {"80"}}
	for _, c := range []struct {
		in   ssm.StartSessionInput
		want string
	}{
		{ssm.StartSessionInput{Target: without}, "TargetNotConnected"},
		{ssm.StartSessionInput{Target: with + "0"}, "TargetNotConnected"},
		{ssm.StartSessionInput{Target: "i-0123456789abcdef0"}, "TargetNotConnected"},
		{ssm.StartSessionInput{Target: with, DocumentName: "none"}, "InvalidDocument"},
		{ssm.StartSessionInput{Target: with, DocumentName: "AWS-StartPortForwardingSessionToRemoteHost", Parameters: port},
			"InvalidParameters"},
		{ssm.StartSessionInput{Target: with, DocumentName: "AWS-StartPortForwardingSession",
			Parameters: map[string][]string{"portNumber": {"70000"}}}, "InvalidParameters"},
	} {
		_, err := sessions.StartSession(ctx, &c.in)
		if err == nil || !strings.HasPrefix(err.Error(), c.want+":") {
			t.Errorf("%+v: %v, want %s", c.in, err, c.want)
		}
	}
	out, err := sessions.StartSession(ctx, &ssm.StartSessionInput{Target: with,
		DocumentName: "AWS-StartPortForwardingSession", Parameters: port})
	if err != nil || out.SessionId == "" || !strings.HasPrefix(out.StreamUrl, "wss://127.0.0.1:1/") || out.TokenValue == "" {
		t.Errorf("%+v %v", out, err)
	}
}
