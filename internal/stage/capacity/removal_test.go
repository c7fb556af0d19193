package capacity_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// countLeaving is how many tasks still run of task sets and canary services that have no
// capacity any more, and how many targets of both groups have open connections.
func countLeaving(b *stagetest.Bench) (n int) {
	b.Helper()
	ctx := context.Background()
	for _, s := range stagetest.Got(b.ECS.DescribeServices(ctx,
		&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web", "web-canary"}}))(b).Services {
		if s.DesiredCount == 0 {
			n += int(s.RunningCount + s.PendingCount)
		}
		for _, set := range s.TaskSets {
			if set.Scale.Value == 0 {
				n += int(set.RunningCount + set.PendingCount)
			}
		}
	}
	for _, group := range []string{b.Primary, b.Canary} {
		out := stagetest.Got(b.ELB.DescribeTargetHealth(ctx,
			&awselb.DescribeTargetHealthInput{TargetGroupArn: aws.String(group)}))(b)
		for _, t := range out.TargetHealthDescriptions {
			if t.TargetHealth.State == elbtypes.TargetHealthStateEnumDraining {
				n++
			}
		}
	}
	return n
}

// A task set or a canary service is deleted only when the connections of its targets
// have ended.
func TestDeletedOnlyWhenDrained(t *testing.T) {
	for _, hosting := range []string{"task sets", "services"} {
		t.Run(hosting, func(t *testing.T) {
			in, deletes := stagetest.RunPlain, "DeleteTaskSet"
			if hosting == "services" {
				in, deletes = stagetest.RunRolling, "DeleteService"
			}
			in(t, func(b *stagetest.Bench) {
				deleted := 0
				b.WatchAttempts(&stagetest.Attempts{Before: func(operation string) error {
					if operation != deletes {
						return nil
					}
					if deleted++; countLeaving(b) > 0 {
						b.Errorf("%s while %d tasks and targets are left\n%s", operation, countLeaving(b), b.EventLog())
					}
					return nil
				}})
				files := b.Files("sim/web:v2", stagetest.CanaryPipeline)
				if hosting == "services" {
					files = b.CanaryServiceFiles("sim/web:v2", stagetest.CanaryPipeline, stagetest.Breaker)
				}
				if end := b.Deploy(files); end.Outcome != sluice.Succeeded || deleted == 0 {
					b.Errorf("%s: %s; %d were deleted\n%s", end.Outcome, end.Cause, deleted, b.EventLog())
				}
				b.ExpectNoneLost()
			})
		})
	}
}

// A person promotes the canary while its connections end in a rollback. It is not
// deleted as PRIMARY: what served before is promoted first.
func TestPromotedWhileItDrains(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.RunToApproval(b.Files("sim/web:v2",
			stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
				stagetest.PrimaryRollout,
				stagetest.ShiftBack, stagetest.CleanCanary)))
		canary := b.TaskSetID(false)
		b.AfterWrite("ecs:UpdateTaskSet", 2*time.Second, b.PromoteCanary)
		b.WatchAttempts(&stagetest.Attempts{Before: func(operation string) error {
			if operation == "DeleteTaskSet" && *b.TaskSetID(true) == *canary {
				b.Errorf("the canary is deleted while it is PRIMARY\n%s", b.EventLog())
			}
			return nil
		}})
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
			stagetest.ServesV1)
		b.ExpectNoneLost()
	})
}

// The nodes of a load balancer go by the former weights for a while. A rollback leaves
// the canary its tasks until every node knows that it gets no request.
func TestRollbackRemovesNothingBeforeTheWeightsReachedEveryNode(t *testing.T) {
	k := world.DefaultSettings()
	k.WeightPropagation = world.Range{Min: 9 * time.Second, Max: 9 * time.Second}
	k.SchedulerLoop, k.TargetPropagation = world.Range{}, world.Range{} // ECS and the load balancer act at once
	stagetest.Run(t, stagetest.Options{Settings: &k}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.RunToApproval(b.Files("sim/web:v2",
			stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
				"{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: true}}", stagetest.Approval,
				stagetest.ShiftBack, stagetest.CleanCanary)))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
			stagetest.ServesV1)
		b.ExpectNoneLost()
	})
}

// A task of the new primary stops while the old one is removed. The stage ends when all
// tasks of the new primary are healthy again.
func TestPrimaryRolloutEndsWithAHealthyPrimary(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		healthy := -1
		b.WatchAttempts(&stagetest.Attempts{Before: func(operation string) error {
			if operation != "DeleteTaskSet" || healthy >= 0 {
				return nil
			}
			healthy = 0
			tasks := stagetest.Got(b.ECS.ListTasks(ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod"),
				StartedBy: b.TaskSetID(true)}))(b)
			stagetest.Got(b.ECS.StopTask(ctx, &awsecs.StopTaskInput{Cluster: aws.String("prod"),
				Task: aws.String(tasks.TaskArns[0])}))(b)
			return nil
		}})
		b.OnStageEnd(4, func() { healthy = b.Healthy(b.Primary) })
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.Succeeded, "", stagetest.ServesV2)
		if healthy != 4 {
			b.Errorf("%d targets of the primary were healthy when its rollout ended\n%s", healthy, b.EventLog())
		}
	})
}

// Others promote the new task set and take that back. A read that is older shows it
// PRIMARY: the old task set, which is PRIMARY by then, is not deleted on that.
func TestPromotedAndTakenBackBeforeThePromotion(t *testing.T) {
	for after := 10 * time.Second; after <= 40*time.Second; after += time.Second {
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				ctx := context.Background()
				promote := func(set *string) {
					stagetest.Got(b.ECS.UpdateServicePrimaryTaskSet(ctx,
						&awsecs.UpdateServicePrimaryTaskSetInput{Cluster: aws.String("prod"),
							Service: aws.String("web"), PrimaryTaskSet: set}))(b)
				}
				old := b.TaskSetID(true)
				b.WatchAttempts(&stagetest.Attempts{Before: func(operation string) error {
					if operation == "DeleteTaskSet" && *b.TaskSetID(true) == *old {
						b.Errorf("the old task set is deleted while it is PRIMARY\n%s", b.EventLog())
					}
					return nil
				}})
				b.AfterWrite("ecs:CreateTaskSet", after, func() {
					promote(b.TaskSetID(false))
					stagetest.Must(b, b.Clock.Sleep(ctx, 3*time.Second))
					promote(old)
					stagetest.Must(b, b.Sim.Inject("stale ecs:DescribeServices by=4s for=4s"))
				})
				end := b.Deploy(b.Files("sim/web:v2", ""))
				b.Sim.ClearFaults()
				b.ExpectEnd(end, sluice.Succeeded, "", stagetest.ServesV2)
				b.ExpectNoneLost()
			})
		})
	}
}

// Weight goes only to the group in which the tasks are, although the plan names another one.
func TestAShiftIsToTheGroupOfTheTasks(t *testing.T) {
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		p := stagetest.Got(b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{}))(b)
		p.Primary.ARN, p.Canary.ARN = p.Canary.ARN, p.Primary.ARN
		ctx := context.Background()
		id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "would be lost: the tasks are in ",
			"PRIMARY sim/web:v1 100% 4 running; primary 100 canary 0")
		b.ExpectNoneLost()
	})
}
