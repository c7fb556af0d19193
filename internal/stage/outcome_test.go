package stage_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A deployment that changes the desired count alone makes no deployment of ECS's. Its
// rollback must not stop the deployment that others began before.
func TestRollbackLeavesTheDeploymentBeforeAlone(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, "sim/web:v2")))(b)
		stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service:        aws.String("web"),
			TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
		id := b.Start(b.RollingFiles("sim/web:v2", "desiredCount: 6\n"+stagetest.Breaker))
		b.AfterWrite("ecs:UpdateService", time.Second,
			func() { stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann")) })
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.RolledBack || b.RollingState() != stagetest.RolledV2 {
			b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.RollingState(), b.EventLog())
		}
		list := stagetest.Got(b.ECS.ListServiceDeployments(ctx,
			&awsecs.ListServiceDeploymentsInput{Cluster: aws.String("prod"),
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
	scale := func(b *stagetest.Bench) {
		stagetest.Got(b.ECS.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), DesiredCount: aws.Int32(5)}))(b)
	}
	left := func(b *stagetest.Bench, end engine.RunResult) {
		out := stagetest.Got(b.ECS.DescribeServices(context.Background(),
			&awsecs.DescribeServicesInput{Cluster: aws.String("prod"), Services: []string{"web"}}))(b)
		if n := out.Services[0].DesiredCount; end.Outcome != sluice.RolledBack || n != 5 {
			b.Errorf("%s: %s; desired count %d\n%s", end.Outcome, end.Cause, n, b.EventLog())
		}
	}
	t.Run("rolling", func(t *testing.T) {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			id := b.Start(b.RollingFiles("sim/web:v2", "desiredCount: 6\n"+stagetest.Breaker))
			b.AfterWrite("ecs:UpdateService", 2*time.Second, func() {
				scale(b)
				stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
			})
			left(b, stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b))
		})
	})
	t.Run("task sets", func(t *testing.T) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			files := b.Files("sim/web:v2", "")
			files["servicedef.yaml"].Data = append(files["servicedef.yaml"].Data, "desiredCount: 6\n"...)
			id := b.Start(files)
			b.AfterWrite("ecs:UpdateService", 2*time.Second, func() {
				scale(b)
				stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
			})
			left(b, stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b))
		})
	})
}
