package stage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Whatever goes wrong with calls, the deployment ends as if it had not, nothing
// is made twice and no request is lost.
func TestFaultsOfCalls(t *testing.T) {
	for name, lines := range map[string][]string{
		"throttled now and then": {"throttle *:* p=0.3"},
		"5xx now and then":       {"5xx *:* p=0.15"},
		"create's reply lost":    {"lost-reply ecs:CreateTaskSet times=2"},
		"create's reply lost, and not in the next reads": {"lost-reply ecs:CreateTaskSet times=2",
			"stale ecs:DescribeServices by=8s"},
		"registration's reply lost": {"lost-reply ecs:RegisterTaskDefinition times=1"},
		"every kind of write's reply lost": {"lost-reply ecs:UpdateTaskSet times=1",
			"lost-reply ecs:DeleteTaskSet times=1", "lost-reply ecs:TagResource times=1",
			"lost-reply elasticloadbalancing:ModifyListener times=2",
			"lost-reply ecs:UpdateServicePrimaryTaskSet times=1", "lost-reply ecs:UntagResource times=1"},
		"requests that never arrive": {"no-send *:* p=0.15"},
		"replies lost now and then":  {"lost-reply *:* p=0.1"},
		"stale reads": {"stale ecs:* by=4s",
			"stale elasticloadbalancing:DescribeTargetHealth by=4s"},
		"all of it": {"throttle *:* p=0.1", "5xx *:* p=0.05", "lost-reply *:* p=0.05",
			"stale ecs:DescribeServices by=3s p=0.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				stagetest.Run(t, stagetest.Options{Seed: seed}, func(b *stagetest.Bench) {
					id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
					for _, line := range lines {
						stagetest.Must(b, b.Sim.Inject(line))
					}
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					b.ExpectEnd(end, sluice.Succeeded, "", stagetest.ServesV2)
					b.ExpectNoneLost()
					expectMadeOnce(b)
				})
			}
		})
	}
}

// expectMadeOnce: the deployment made one revision and two task sets, no more.
func expectMadeOnce(b *stagetest.Bench) {
	b.Helper()
	defs := stagetest.Got(b.ECS.ListTaskDefinitions(context.Background(),
		&awsecs.ListTaskDefinitionsInput{FamilyPrefix: aws.String("web")}))(b)
	if len(defs.TaskDefinitionArns) != 2 {
		b.Errorf("%d revisions: %v", len(defs.TaskDefinitionArns), defs.TaskDefinitionArns)
	}
	made := map[string]bool{}
	for _, e := range b.Events {
		if c, ok := e.Open().(sluice.CapacityChanged); ok && c.Revision == "web:2" {
			made[c.TaskSet] = true
		}
	}
	if len(made) != 2 {
		b.Errorf("task sets of the new revision: %v", made)
	}
}

func TestServiceDeletedMeanwhile(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)))
		ctx := context.Background()
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Got(b.ECS.DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"),
			Force:   aws.Bool(true)}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 2, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome == sluice.Succeeded ||
			!strings.Contains(end.Cause, "another process or person deleted the service") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}

func TestTaskSetLimitIsNamed(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		for range 4 {
			stagetest.Got(b.ECS.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), TaskDefinition: aws.String("web:1"),
				LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: b.Network(),
				Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 0}}))(b)
		}
		end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		if end.Outcome != sluice.RolledBack || !strings.Contains(end.Cause, "5 deployments exist on the service") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		b.ExpectNoneLost()
	})
}

func TestNoCapacityEndsInAReason(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(3)))
		ctx := context.Background()
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Must(b, b.Sim.Inject("no-capacity prod"))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 3, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "no progress for 10m0s", stagetest.ServesV1)
		b.ExpectNoneLost()
	})
}

func TestSlowStartIsWaitedFor(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		stagetest.Must(b, b.Sim.Inject("slow-start web by=240s"))
		end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		b.ExpectEnd(end, sluice.Succeeded, "", stagetest.ServesV2)
		b.ExpectNoneLost()
	})
}

// Somebody takes the claim of a running deployment: it stops, and touches
// nothing more.
func TestLostClaimStopsTheDeployment(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)))
		ctx := context.Background()
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		service := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b).Services[0]
		stagetest.Got(b.ECS.TagResource(ctx, &awsecs.TagResourceInput{ResourceArn: service.ServiceArn,
			Tags: []ecstypes.Tag{{Key: aws.String(plan.ClaimTag),
				Value: aws.String("slc-other " + stagetest.StartTime.AddDate(1, 0,
					0).Format("2006-01-02T15:04:05Z"))}}}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 2, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Superseded || !strings.Contains(end.Cause, "slc-other") ||
			b.Weights() != "primary 90 canary 10" {
			b.Errorf("%s: %s; weights %s", end.Outcome, end.Cause, b.Weights())
		}
	})
}
