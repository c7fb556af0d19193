package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
)

// Another deployment that takes the place of ours after its last stage decides what
// serves, so that ours is not told as succeeded.
func TestNoSuccessOverARevisionThatDoesNotServe(t *testing.T) {
	rolls(t, func(b *bench) {
		ctx := context.Background()
		td := got(b.ECS.RegisterTaskDefinition(ctx, taskDefinition(b, "sim/web:v3")))(b)
		id := b.Start(b.RollingFiles("sim/web:v2", breaker))
		b.OnStageEnd(1, func() {
			got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
		})
		end := got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Superseded ||
			!strings.Contains(end.Cause, "web:2 is PRIMARY: another deployment replaced this one") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		if !strings.HasPrefix(end.Next, "run sluice wait to wait for the newer deployment") {
			b.Errorf("the next step is %q, want a wait for the newer deployment", end.Next)
		}
	})
}

// A person promotes the new task set again after the rollback has ended.
func TestNoRollbackOverARevisionThatDoesNotServe(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2?never-healthy=true", canaryPipeline))
		td := got(b.ECS.RegisterTaskDefinition(ctx, taskDefinition(b, "sim/web:v3")))(b)
		b.OnStageEnd(7, func() {
			set := got(b.ECS.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn,
				LaunchType: "FARGATE", NetworkConfiguration: b.Network()}))(b)
			got(b.ECS.UpdateServicePrimaryTaskSet(ctx,
				&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
					PrimaryTaskSet: set.TaskSet.Id}))(b)
		})
		end := got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Superseded ||
			!strings.Contains(end.Cause, "is PRIMARY: another deployment replaced this one") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}
