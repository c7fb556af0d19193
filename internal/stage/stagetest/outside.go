package stagetest

import (
	"context"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/sluice-ecs/sluice"
)

// WatchedPipeline is a pipeline with a wait in which another actor can act.
const WatchedPipeline = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 10}}
    - {name: WAIT, with: {duration: 10m}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_TRAFFIC_ROUTING, with: {primary: 100}}
    - {name: ECS_CANARY_CLEAN}
`

// AddLines adds lines to a file of the application.
func AddLines(files fstest.MapFS, file, lines string) fstest.MapFS {
	files[file] = &fstest.MapFile{Data: append(files[file].Data, []byte(lines)...)}
	return files
}

// TaskSetID returns the ID of the PRIMARY task set, or of one that is not.
func (b *Bench) TaskSetID(primary bool) *string {
	b.Helper()
	out := Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}}))(b)
	for _, ts := range out.Services[0].TaskSets {
		if (*ts.Status == "PRIMARY") == primary {
			return ts.Id
		}
	}
	b.Fatal("there is no such task set")
	return nil
}

// SetRule sets the weights of the rule. With a negative weight it leaves the canary's group out.
func (b *Bench) SetRule(primary, canary int32) {
	b.Helper()
	actions := b.Forward(canary < 0)
	if canary >= 0 {
		actions[0].ForwardConfig.TargetGroups[0].Weight, actions[0].ForwardConfig.TargetGroups[1].Weight = aws.Int32(
			primary), aws.Int32(canary)
	}
	Got(b.ELB.ModifyListener(context.Background(), &awselb.ModifyListenerInput{ListenerArn: aws.String(b.Listener),
		DefaultActions: actions}))(b)
}

// ScaleTaskSet sets the scale of a task set.
func (b *Bench) ScaleTaskSet(primary bool, percent float64) {
	b.Helper()
	Got(b.ECS.UpdateTaskSet(context.Background(), &awsecs.UpdateTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), TaskSet: b.TaskSetID(primary),
		Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: percent}}))(b)
}

// PromoteCanary makes the canary's task set PRIMARY.
func (b *Bench) PromoteCanary() {
	b.Helper()
	Got(b.ECS.UpdateServicePrimaryTaskSet(context.Background(),
		&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
			PrimaryTaskSet: b.TaskSetID(false)}))(b)
}

// AfterWrite calls do some time after the first such write of a deployment has been answered.
func (b *Bench) AfterWrite(operation string, d time.Duration, do func()) {
	watch, done := b.Engine.OnEvent, false
	b.Engine.OnEvent = func(e sluice.Envelope) {
		watch(e)
		if w, ok := e.Open().(sluice.Wrote); ok && w.Operation == operation && !done {
			done = true
			b.Clock.Go(func() {
				Must(b, b.Clock.Sleep(context.Background(), d))
				do()
			})
		}
	}
}

// ServiceARN returns the ARN of the service.
func (b *Bench) ServiceARN() *string {
	b.Helper()
	return Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
		Services: []string{"web"}}))(b).Services[0].ServiceArn
}

// PromoteAnother makes a task set of another revision PRIMARY, as another tool does. by is the external ID of the set.
func (b *Bench) PromoteAnother(by string) {
	b.Helper()
	ctx := context.Background()
	td := Got(b.ECS.RegisterTaskDefinition(ctx, TaskDefinition(b, "sim/web:v3")))(b)
	set := Got(b.ECS.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn, LaunchType: "FARGATE",
		NetworkConfiguration: b.Network(), ExternalId: aws.String(by)}))(b)
	Got(b.ECS.UpdateServicePrimaryTaskSet(ctx, &awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), PrimaryTaskSet: set.TaskSet.Id}))(b)
}
