package taskset_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

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
		id := startWithShare(b)
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

// A canary without requests stops before the first restored task runs, also if all its tasks run: ECS starts a limited
// number of tasks a minute, and would replace those that fail.
func TestCanaryWithoutRequestsLeavesTheStarts(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout,
			"{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: false}}", stagetest.Approval, stagetest.CleanCanary)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		canary := *b.TaskSetID(false)
		find := func(id string) (found ecstypes.TaskSet) {
			for _, set := range taskSetsOf(b) {
				if *set.Id == id {
					found = set
				}
			}
			return found
		}
		if set := find(canary); set.RunningCount == 0 || set.RunningCount != set.ComputedDesiredCount {
			b.Fatalf("the canary has %d of %d tasks", set.RunningCount, set.ComputedDesiredCount)
		}
		wanted := int32(-1)
		b.AfterWrite("ecs:CreateTaskSet", 0, func() {
			b.Until("a restored task runs", func() bool {
				for _, set := range taskSetsOf(b) {
					if sluice.RevisionOf(*set.TaskDefinition) == "web:1" && set.RunningCount > 0 {
						return true
					}
				}
				return false
			})
			wanted = find(canary).ComputedDesiredCount
		})
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
		if wanted != 0 {
			b.Errorf("%d tasks of the canary were desired\n%s", wanted, b.EventLog())
		}
		b.ExpectNoneLost()
	})
}

// Another actor deletes the task set that a rollback has started again. The next rollback starts one more.
func TestRestoredSetThatIsDeletedIsStartedAgain(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := startWithShare(b)
		known := map[string]bool{}
		for _, set := range taskSetsOf(b) {
			known[*set.Id] = true
		}
		b.AfterWrite("ecs:CreateTaskSet", 5*time.Second, func() {
			for _, set := range taskSetsOf(b) {
				if !known[*set.Id] {
					stagetest.Got(b.ECS.DeleteTaskSet(ctx, &awsecs.DeleteTaskSetInput{Cluster: aws.String("prod"),
						Service: aws.String("web"), TaskSet: set.Id, Force: aws.Bool(true)}))(b)
				}
			}
		})
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "deleted it during the deployment") {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		stagetest.Must(b, b.Engine.Reopen(ctx, id))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
		b.ExpectNoneLost()
	})
}

// startWithShare runs a deployment until its approval: the canary has a share, the new primary serves, and the old one is
// deleted.
func startWithShare(b *stagetest.Bench) (id string) {
	id = b.Start(b.Files("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
		"{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: false}}", stagetest.Approval, stagetest.ShiftBack,
		stagetest.CleanCanary)))
	stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{NoWait: true}))(b)
	return id
}

func taskSetsOf(b *stagetest.Bench) []ecstypes.TaskSet {
	out := stagetest.Got(b.ECS.DescribeTaskSets(context.Background(), &awsecs.DescribeTaskSetsInput{
		Cluster: aws.String("prod"), Service: aws.String("web")}))(b)
	return out.TaskSets
}

// The old primary is deleted, and ECS starts no task of the restored one for a minute: the canary, whose tasks may take the
// starts, gets no requests any more, because the new primary can serve them.
func TestCanaryGivesItsRequestsUpIfNoRestoredTaskStarts(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := startWithShare(b)
		stagetest.Must(b, b.Sim.Inject("no-capacity prod for=80s"))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
		if !strings.Contains(b.EventLog(), "the canary gets no requests any more") {
			b.Errorf("the canary kept its requests\n%s", b.EventLog())
		}
		b.ExpectNoneLost()
	})
}
