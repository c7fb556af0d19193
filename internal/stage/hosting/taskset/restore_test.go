package taskset_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// The old primary is deleted, and the canary has a share and misses tasks when a rollback begins. The
// canary keeps its tasks until the restored primary gets its requests.
func TestCanaryWithAShareServesUntilTheOldRevisionIsRestored(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
			"{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: false}}", stagetest.Approval, stagetest.ShiftBack,
			stagetest.CleanCanary)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		b.ScaleTaskSet(false, 100)
		b.Until("ECS starts tasks of the canary", func() bool {
			out := stagetest.Got(b.ECS.DescribeTaskSets(ctx, &awsecs.DescribeTaskSetsInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), TaskSets: []string{*b.TaskSetID(false)}}))(b)
			return out.TaskSets[0].PendingCount > 0
		})
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
		b.ExpectNoneLost()
	})
}

// A rollback starts the tasks of the old primary again while the targets of its stopped tasks drain, and ECS
// starts them so fast that no poll shows fewer tasks. The targets of the new tasks count, not the draining ones.
func TestRollbackDuringTheDrainCountsTheNewTasks(t *testing.T) {
	settings := world.NoDelays()
	stagetest.Run(t, stagetest.Options{Settings: &settings}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
			stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary)))
		b.AfterWrite("ecs:UpdateTaskSet", 2*time.Second, func() {
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		})
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
		b.ExpectNoneLost()
	})
}
