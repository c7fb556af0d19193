package stagetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// Breaker turns on ECS's circuit breaker in a service definition.
const Breaker = "deploymentConfiguration: {deploymentCircuitBreaker: {enable: true, rollback: true}}\n"

// RollingFiles returns an application whose service ECS rolls. It appends more to the service
// definition.
func (b *Bench) RollingFiles(image, more string) fstest.MapFS { return b.ecsFiles(image, "", more) }

// ecsFiles returns an application whose service ECS deploys. It appends balancer to the load balancer of the service
// definition, and more to its end.
func (b *Bench) ecsFiles(image, balancer, more string) fstest.MapFS {
	files := b.Files(image, "")
	files["servicedef.yaml"] = &fstest.MapFile{Data: []byte(fmt.Sprintf(`
serviceName: web
cluster: prod
launchType: FARGATE
networkConfiguration: {awsvpcConfiguration: {subnets: [%s]}}
loadBalancers: [{targetGroupArn: %q, containerName: web, containerPort: 8080%s}]
%s`, strings.Join(b.Subnets(), ", "), b.Primary, balancer, more))}
	return files
}

// RunRolling runs f in a new world whose service ECS rolls and serves v1.
func RunRolling(t testing.TB, f func(*Bench)) {
	t.Helper()
	Run(t, Options{NoService: true}, func(b *Bench) {
		end := b.Deploy(b.RollingFiles("sim/web:v1", "desiredCount: 4\n"+Breaker))
		if end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		b.AttachCallers()
		b.Events, b.Calls = nil, nil
		f(b)
	})
}

// WorkerFiles returns an application without a load balancer, whose service ECS rolls. It appends more to the service
// definition.
func (b *Bench) WorkerFiles(image, more string) fstest.MapFS {
	files := b.RollingFiles(image, more)
	text, after, _ := strings.Cut(string(files["servicedef.yaml"].Data), "loadBalancers:")
	_, after, _ = strings.Cut(after, "\n")
	files["servicedef.yaml"] = &fstest.MapFile{Data: []byte(text + after)}
	text, _, _ = strings.Cut(string(files["sluice.yaml"].Data), "  targetGroups:")
	files["sluice.yaml"] = &fstest.MapFile{Data: []byte(text)}
	return files
}

// RunWorker runs f in a new world whose service has no load balancer, is rolled by ECS and runs v1.
func RunWorker(t testing.TB, f func(*Bench)) {
	t.Helper()
	Run(t, Options{NoService: true}, func(b *Bench) {
		b.ExpectRolled(b.Deploy(b.WorkerFiles("sim/web:v1", "desiredCount: 4\n"+Breaker)), sluice.Succeeded, "", RolledV1)
		b.Events, b.Calls = nil, nil
		f(b)
	})
}

// RollingState returns the deployments and the tags of the rolling service as text.
func (b *Bench) RollingState() string {
	b.Helper()
	out := Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}, Include: []ecstypes.ServiceField{ecstypes.ServiceFieldTags}}))(b)
	var lines []string
	for _, d := range out.Services[0].Deployments {
		td := Got(b.ECS.DescribeTaskDefinition(context.Background(),
			&awsecs.DescribeTaskDefinitionInput{TaskDefinition: d.TaskDefinition}))(b)
		lines = append(lines, fmt.Sprintf("%s %s %s %d running", *d.Status,
			*td.TaskDefinition.ContainerDefinitions[0].Image, d.RolloutState, d.RunningCount))
	}
	for _, tag := range out.Services[0].Tags {
		lines = append(lines, "tag "+*tag.Key)
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}

// ExpectRolled is ExpectEnd for a service that ECS rolls.
func (b *Bench) ExpectRolled(end engine.RunResult, outcome sluice.Outcome, cause, state string) {
	b.Helper()
	if end.Outcome != outcome || !strings.Contains(end.Cause, cause) || b.RollingState() != state {
		b.Errorf("%s: %s; %s\nwant %s: …%s…; %s\n%s", end.Outcome, end.Cause, b.RollingState(), outcome, cause, state,
			b.EventLog())
	}
}

// States of a service that ECS has rolled.
const (
	RolledV1 = "PRIMARY sim/web:v1 COMPLETED 4 running"
	RolledV2 = "PRIMARY sim/web:v2 COMPLETED 4 running"
)

// LeaveToECS starts a rolling deployment, hands it over to ECS and returns its ID.
func (b *Bench) LeaveToECS(image, more string) string {
	id := b.Start(b.RollingFiles(image, more))
	end := Got(b.Engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
	if end.State != journal.Waiting || end.WaitingFor != engine.HandedToECS {
		b.Fatalf("%s, waiting for %q\n%s", end.State, end.WaitingFor, b.EventLog())
	}
	return id
}
