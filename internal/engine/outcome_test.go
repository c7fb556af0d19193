package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

// onStageEnd does something as soon as the n-th stage has ended, in the same moment.
func (b *bench) onStageEnd(n int, do func()) {
	watch := b.engine.OnEvent
	b.engine.OnEvent = func(e sluice.Envelope) {
		watch(e)
		if ev, ok := e.Open().(sluice.StageEnded); ok && ev.Index == n-1 {
			do()
		}
	}
}

// Another deployment that takes the place of ours after its last stage decides what
// serves, so that ours is not told as succeeded.
func TestNoSuccessOverARevisionThatDoesNotServe(t *testing.T) {
	rolls(t, func(b *bench) {
		ctx := context.Background()
		td := got(b.ecs.RegisterTaskDefinition(ctx, taskDefinition(b, "sim/web:v3")))(b)
		id := b.start(b.rolling("sim/web:v2", breaker))
		b.onStageEnd(1, func() {
			got(b.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
		})
		end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Superseded ||
			!strings.Contains(end.Cause, "web:2 is PRIMARY: another deployment replaced this one") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.log())
		}
	})
}

// A person promotes the new task set again after the rollback has ended.
func TestNoRollbackOverARevisionThatDoesNotServe(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.start(b.files("sim/web:v2?never-healthy=true", canaryPipeline))
		td := got(b.ecs.RegisterTaskDefinition(ctx, taskDefinition(b, "sim/web:v3")))(b)
		b.onStageEnd(7, func() {
			set := got(b.ecs.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn,
				LaunchType: "FARGATE", NetworkConfiguration: b.network()}))(b)
			got(b.ecs.UpdateServicePrimaryTaskSet(ctx,
				&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
					PrimaryTaskSet: set.TaskSet.Id}))(b)
		})
		end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Superseded ||
			!strings.Contains(end.Cause, "is PRIMARY: another deployment replaced this one") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.log())
		}
	})
}

// A deployment that changes the desired count alone makes no deployment of ECS's. Its
// rollback must not stop the deployment that others began before.
func TestRollbackLeavesTheDeploymentBeforeAlone(t *testing.T) {
	rolls(t, func(b *bench) {
		ctx := context.Background()
		td := got(b.ecs.RegisterTaskDefinition(ctx, taskDefinition(b, "sim/web:v2")))(b)
		got(b.ecs.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
			TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
		id := b.start(b.rolling("sim/web:v2", "desiredCount: 6\n"+breaker))
		b.afterWrite("ecs:UpdateService", time.Second,
			func() { must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann")) })
		end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.RolledBack || b.deployed() != rolledV2 {
			b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.deployed(), b.log())
		}
		list := got(b.ecs.ListServiceDeployments(ctx, &awsecs.ListServiceDeploymentsInput{Cluster: aws.String("prod"),
			Service: aws.String("web")}))(b)
		for _, d := range list.ServiceDeployments {
			if d.Status != "SUCCESSFUL" {
				b.Errorf("service deployment %s: %s", *d.ServiceDeploymentArn, d.Status)
			}
		}
	})
}

// A desired count that others set during a deployment stays, also in a rollback.
func TestRollbackLeavesACountOfOthers(t *testing.T) {
	scale := func(b *bench) {
		got(b.ecs.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), DesiredCount: aws.Int32(5)}))(b)
	}
	left := func(b *bench, end engine.RunResult) {
		out := got(b.ecs.DescribeServices(context.Background(),
			&awsecs.DescribeServicesInput{Cluster: aws.String("prod"), Services: []string{"web"}}))(b)
		if n := out.Services[0].DesiredCount; end.Outcome != sluice.RolledBack || n != 5 {
			b.Errorf("%s: %s; desired count %d\n%s", end.Outcome, end.Cause, n, b.log())
		}
	}
	t.Run("rolling", func(t *testing.T) {
		rolls(t, func(b *bench) {
			id := b.start(b.rolling("sim/web:v2", "desiredCount: 6\n"+breaker))
			b.afterWrite("ecs:UpdateService", 2*time.Second, func() {
				scale(b)
				must(b, b.engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
			})
			left(b, got(b.engine.Run(context.Background(), id, engine.Options{}))(b))
		})
	})
	t.Run("task sets", func(t *testing.T) {
		on(t, options{}, func(b *bench) {
			files := b.files("sim/web:v2", "")
			files["servicedef.yaml"].Data = append(files["servicedef.yaml"].Data, "desiredCount: 6\n"...)
			id := b.start(files)
			b.afterWrite("ecs:UpdateService", 2*time.Second, func() {
				scale(b)
				must(b, b.engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
			})
			left(b, got(b.engine.Run(context.Background(), id, engine.Options{}))(b))
		})
	})
}
