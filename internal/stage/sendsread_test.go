package stage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// A read of the rules that is older than the last write of the weights shows that the
// canary gets no request. It is not removed on that.
func TestCanaryIsNotRemovedOnAnOldReadOfTheRules(t *testing.T) {
	for _, fault := range []string{"stale elasticloadbalancing:DescribeRules by=4s for=10s",
		"stale elasticloadbalancing:DescribeRules by=9s for=20s",
		"stale elasticloadbalancing:DescribeRules by=14s for=40s"} {
		for name, hosting := range map[string]func(testing.TB, func(*stagetest.Bench)){"task sets": stagetest.RunPlain,
			"services": stagetest.RunRolling} {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				hosting(t, func(b *stagetest.Bench) {
					files := b.Files("sim/web:v2",
						stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.CleanCanary))
					if name == "services" {
						files = b.CanaryServiceFiles("sim/web:v2",
							stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.CleanCanary),
							stagetest.Breaker)
					}
					id := b.Start(files)
					b.OnStageEnd(2, func() { stagetest.Must(b, b.Sim.Inject(fault)) })
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					if end.Outcome != sluice.Succeeded || b.Weights() != "primary 100 canary 0" {
						b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.Weights(), b.EventLog())
					}
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// A deployment is aborted right after it gave the canary a share. The next one removes the
// canary, and reads past that write before it does.
func TestLeftoverIsNotRemovedOnAnOldReadOfTheRules(t *testing.T) {
	next := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout,
		stagetest.ShiftBack, stagetest.CleanCanary)
	for _, by := range []string{"4s", "9s", "14s"} {
		for name, hosting := range map[string]func(testing.TB, func(*stagetest.Bench)){"task sets": stagetest.RunPlain,
			"services": stagetest.RunRolling} {
			t.Run(name+"/"+by, func(t *testing.T) {
				t.Parallel()
				hosting(t, func(b *stagetest.Bench) {
					files := func(image, pipeline string) fstest.MapFS {
						if name == "services" {
							return b.CanaryServiceFiles(image, pipeline, stagetest.Breaker)
						}
						return b.Files(image, pipeline)
					}
					b.AbortAtApproval(files("sim/web:v2",
						stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
							stagetest.PrimaryRollout,
							stagetest.ShiftBack, stagetest.CleanCanary)))
					stagetest.Must(b, b.Sim.Inject("stale elasticloadbalancing:DescribeRules by="+by+" for=1m"))
					end := b.Deploy(files("sim/web:v3", next))
					b.Sim.ClearFaults()
					if end.Outcome != sluice.Succeeded || b.Weights() != "primary 100 canary 0" {
						b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.Weights(), b.EventLog())
					}
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// A rollback right after the canary service of an earlier deployment was taken over
// brings it back to what it was, also on reads from before the take-over.
func TestCanaryServiceIsRestoredPastOldReads(t *testing.T) {
	for _, fault := range append(stagetest.StaleReads(), "latency ecs:DescribeServices by=1ms") {
		for _, after := range []time.Duration{time.Second, 3 * time.Second, 6 * time.Second} {
			t.Run(fmt.Sprintf("%s/%s", fault, after), func(t *testing.T) {
				t.Parallel()
				stagetest.RunRolling(t, func(b *stagetest.Bench) {
					ctx := context.Background()
					p := stagetest.Got(b.Plan(b.CanaryServiceFiles("sim/web:v3",
						stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout,
							stagetest.ShiftBack, stagetest.CleanCanary), stagetest.Breaker),
						mode.Options{}))(b)
					b.AbortAtApproval(b.CanaryServiceFiles("sim/web:v2",
						stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
							stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary),
						stagetest.Breaker))
					stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
					b.CanaryService() // the answer that an old read gives
					stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Second))
					id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
					b.AfterWrite("ecs:UpdateService", after, func() {
						stagetest.Must(b, b.Sim.Inject(fault))
						stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
					})
					end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
					b.Sim.ClearFaults()
					stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
					s := b.CanaryService()
					if end.Outcome != sluice.RolledBack || s == nil || s.DesiredCount != 2 ||
						imageOf(b, s.TaskDefinition) != "sim/web:v2" {
						b.Errorf("%s: %s; canary service: %v\n%s", end.Outcome, end.Cause, s != nil, b.EventLog())
					}
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// imageOf is the image of a revision.
func imageOf(b *stagetest.Bench, revision *string) string {
	b.Helper()
	td := stagetest.Got(b.ECS.DescribeTaskDefinition(context.Background(),
		&awsecs.DescribeTaskDefinitionInput{TaskDefinition: revision}))(b)
	return aws.ToString(td.TaskDefinition.ContainerDefinitions[0].Image)
}

// The canary of a lost deployment comes to stand a moment before the service is adopted.
// The adoption finds it, also on old reads.
func TestAdoptionFindsWhatWasMadeAMomentAgo(t *testing.T) {
	for _, hosting := range []string{"task sets", "services"} {
		for _, by := range []string{"4s", "9s", "14s"} {
			t.Run(hosting+"/"+by, func(t *testing.T) {
				t.Parallel()
				stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
					ctx := context.Background()
					files := stagetest.WithoutTraffic(b.Files("sim/web:v1",
						stagetest.Pipeline(stagetest.CanaryRollout, stagetest.PrimaryRollout, stagetest.CleanCanary)))
					if hosting == "services" {
						files = stagetest.WithoutTraffic(b.CanaryServiceFiles("sim/web:v1",
							stagetest.Pipeline(stagetest.CanaryRollout, stagetest.PrimaryRollout,
								stagetest.CleanCanary), ""))
					}
					if end := b.Deploy(files); end.Outcome != sluice.Succeeded {
						b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
					}
					p := stagetest.Got(b.Plan(files, mode.Options{Adopt: true, Only: true}))(b)
					stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
					createCanary(b, hosting, sluice.NewActionID("slc-lost", "canary", "1"))
					stagetest.Must(b, b.Sim.Inject("stale ecs:* by="+by+" for=1m"))
					end := stagetest.Got(b.Engine.Run(ctx,
						stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b),
						engine.Options{}))(b)
					b.Sim.ClearFaults()
					if end.Outcome != sluice.Succeeded || b.CanaryService() != nil ||
						strings.Contains(b.TaskSets(), "ACTIVE") {
						b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, b.TaskSets(), b.EventLog())
					}
				})
			})
		}
	}
}

// createCanary makes a canary without load balancer, as a deployment of sluice does.
func createCanary(b *stagetest.Bench, hosting string, by sluice.ActionID) {
	b.Helper()
	ctx := context.Background()
	revision := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx,
		stagetest.TaskDefinition(b, "sim/web:v2")))(b).TaskDefinition.TaskDefinitionArn
	if hosting == "services" {
		stagetest.Got(b.ECS.CreateService(ctx, &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
			ServiceName: aws.String("web-canary"), TaskDefinition: revision, DesiredCount: aws.Int32(1),
			LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: b.Network(),
			Tags: []ecstypes.Tag{{Key: aws.String(plan.CanaryTag), Value: aws.String(string(by))}}}))(b)
		return
	}
	stagetest.Got(b.ECS.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
		Service:        aws.String("web"),
		TaskDefinition: revision, ExternalId: aws.String(string(by)),
		LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: b.Network(),
		Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 50}}))(b)
}
