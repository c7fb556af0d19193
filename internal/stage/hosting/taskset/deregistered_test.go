package taskset_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another process deregisters a revision during a deployment: ECS starts no task of it
// any more. The deployment ends fully new or fully old without losing a request: a rollback
// registers a copy of the old revision.
func TestARevisionIsDeregisteredDuringTheDeployment(t *testing.T) {
	const old, fresh = "PRIMARY sim/web:v1 100% 4 running", "PRIMARY sim/web:v2 100% 4 running"
	for _, c := range []struct {
		after    int
		revision string
		back     bool
		outcome  sluice.Outcome
		cause    string
		sets     string
	}{
		{2, "web:2", false, sluice.RolledBack, "TaskDefinition is inactive", old},
		{2, "web:2", true, sluice.RolledBack, "requested by a user", old},
		{2, "web:1", false, sluice.Succeeded, "", fresh},
		{2, "web:1", true, sluice.RolledBack, "requested by a user", old},
		{4, "web:2", false, sluice.Succeeded, "", fresh},
		{4, "web:1", true, sluice.RolledBack, "requested by a user", old},
		{5, "web:1", true, sluice.RolledBack, "requested by a user", old},
	} {
		t.Run(fmt.Sprintf("%s after stage %d, back %t", c.revision, c.after, c.back), func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				ctx := context.Background()
				id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(c.after)))
				stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
				stagetest.Got(b.ECS.DeregisterTaskDefinition(ctx,
					&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String(c.revision)}))(b)
				kind, stage := journal.Approve, c.after
				if c.back {
					kind, stage = journal.Rollback, 0
				}
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, kind, stage, "ann"))
				end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				if sets := b.TaskSets(); end.Outcome != c.outcome || !strings.Contains(end.Cause, c.cause) ||
					sets != c.sets {
					b.Errorf("%s: %s\n%s\n%s", end.Outcome, end.Cause, sets, b.EventLog())
				}
				b.ExpectNoneLost()
			})
		})
	}
}

// If the copy of the old revision cannot be registered, the new version gets all requests and the canary is removed.
func TestCopyOfADeregisteredRevisionIsRefused(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(4)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Got(b.ECS.DeregisterTaskDefinition(ctx,
			&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("web:1")}))(b)
		stagetest.Must(b, b.Sim.Inject("denied ecs:RegisterTaskDefinition"))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.Failed, "no copy of it is registered: ", stagetest.ServesV2)
		if !strings.Contains(end.Next, "run sluice deploy") {
			b.Errorf("next: %s", end.Next)
		}
		b.ExpectNoneLost()
	})
}

// So it is where ECS rolls the service.
func TestRollingBackToADeregisteredRevision(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		end := b.Deploy(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		stagetest.Got(b.ECS.DeregisterTaskDefinition(ctx,
			&awsecs.DeregisterTaskDefinitionInput{TaskDefinition: aws.String("web:1")}))(b)
		stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
		stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		end = stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b)
		b.ExpectRolled(end, sluice.RolledBack, "", stagetest.RolledV1)
		if !strings.Contains(b.EventLog(), "sluice restores its copy web:3") {
			b.Error(b.EventLog())
		}
		b.ExpectNoneLost()
	})
}
