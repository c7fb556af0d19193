package canaryservice_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"

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

// guarded reports whether ECS acts on the service's deployments by itself.
func guarded(c *ecstypes.DeploymentConfiguration) bool {
	return c.DeploymentCircuitBreaker != nil && c.DeploymentCircuitBreaker.Enable || c.Alarms != nil &&
		c.Alarms.Enable || len(c.LifecycleHooks) > 0
}

func TestCanaryServiceIsTheServiceWithoutWhatActsByItself(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.CanaryServiceFiles("sim/web:v2",
			stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
				stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary), stagetest.Breaker))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		s := b.CanaryService()
		if s == nil {
			b.Fatalf("no canary service\n%s", b.EventLog())
		}
		if s.DesiredCount != 2 || len(s.LoadBalancers) != 1 || *s.LoadBalancers[0].TargetGroupArn != b.Canary ||
			guarded(s.DeploymentConfiguration) ||
			s.LaunchType != ecstypes.LaunchTypeFargate || len(s.NetworkConfiguration.AwsvpcConfiguration.Subnets) == 0 {
			b.Errorf("the canary service: %+v", s)
		}
		if tag := s.Tags[0]; *tag.Key != plan.CanaryTag || !strings.HasPrefix(*tag.Value, id+"/") {
			b.Errorf("tag %s = %s", *tag.Key, *tag.Value)
		}
		if w := b.Weights(); w != "primary 80 canary 20" {
			b.Errorf("weights: %s", w)
		}
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 2, "ann"))
		b.ExpectCanaryServiceGone(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "",
			stagetest.RolledV2)
	})
}

// A second rollout brings the same service to its scale; after a clean it is
// another one.
func TestSecondCanaryRolloutKeepsTheService(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		all := "{name: ECS_CANARY_ROLLOUT, with: {scale: 100}}"
		end := b.Deploy(b.CanaryServiceFiles("sim/web:v2",
			stagetest.Pipeline(stagetest.CanaryRollout, all, stagetest.ShiftFifth, stagetest.ShiftBack,
				stagetest.CleanCanary, stagetest.CanaryRollout, stagetest.PrimaryRollout,
				stagetest.CleanCanary), stagetest.Breaker))
		b.ExpectCanaryServiceGone(end, sluice.Succeeded, "", stagetest.RolledV2)
		made := 0
		for _, c := range b.Calls {
			if strings.HasSuffix(c.Operation, "CreateService") {
				made++
			}
		}
		if made != 2 {
			b.Errorf("%d services were created, not one before the clean and one after\n%s", made, b.EventLog())
		}
	})
}

func TestQuickSyncTakesAStandingCanaryServiceAway(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.CanaryServiceFiles("sim/web:v2",
			stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
				stagetest.CleanCanary),
			stagetest.Breaker))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		p, err := b.Plan(b.CanaryServiceFiles("sim/web:v3",
			stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout,
				stagetest.ShiftBack, stagetest.CleanCanary), stagetest.Breaker),
			mode.Options{QuickSync: true})
		stagetest.Must(b, err)
		end := stagetest.Got(b.Engine.Run(ctx, stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b),
			engine.Options{}))(b)
		b.ExpectCanaryServiceGone(end, sluice.Succeeded, "", strings.ReplaceAll(stagetest.RolledV2, "v2", "v3"))
	})
}

func TestServiceOfThatNameThatIsNotOursIsRefused(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		_, err := b.ECS.CreateService(context.Background(), &awsecs.CreateServiceInput{Cluster: aws.String("prod"),
			ServiceName:    aws.String("web-canary"),
			TaskDefinition: aws.String("web:1"), LaunchType: ecstypes.LaunchTypeFargate,
			NetworkConfiguration: b.Network(), DesiredCount: aws.Int32(1)})
		stagetest.Must(b, err)
		_, err = b.Plan(b.CanaryServiceFiles("sim/web:v2",
			stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout,
				stagetest.ShiftBack, stagetest.CleanCanary), stagetest.Breaker), mode.Options{})
		if sluice.KindOf(err) != sluice.Conflict ||
			!strings.Contains(err.Error(), "sluice did not create that service") {
			b.Errorf("%v", err)
		}
	})
}

// Nobody calls a worker: its canary is started and taken away, and no share is
// asked for. Nothing but the counts tells that it is well.
func TestWorkersRollOutWithoutRouting(t *testing.T) {
	pipeline := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.PrimaryRollout, stagetest.CleanCanary)
	for name, files := range map[string]func(*stagetest.Bench, string) fstest.MapFS{
		"services": func(b *stagetest.Bench, image string) fstest.MapFS {
			return stagetest.WithoutTraffic(b.CanaryServiceFiles(image, pipeline,
				""))
		},
		"task sets": func(b *stagetest.Bench, image string) fstest.MapFS {
			return stagetest.WithoutTraffic(b.Files(image, pipeline))
		},
	} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
				for _, image := range []string{"sim/web:v1", "sim/web:v2"} {
					if end := b.Deploy(files(b, image)); end.Outcome != sluice.Succeeded {
						b.Fatalf("%s: %s %s\n%s", image, end.Outcome, end.Cause, b.EventLog())
					}
				}
				end := b.Deploy(files(b, "sim/web:v3?crash-after=2s&exit=3&healthy-after=1h"))
				if end.Outcome != sluice.RolledBack || !strings.Contains(end.Cause, "exit code 3") {
					b.Errorf("%s: %s", end.Outcome, end.Cause)
				}
				if s := b.CanaryService(); s != nil {
					b.Error("the canary service is left over")
				}
			})
		})
	}
}

// Wherever the machine was lost with its journal: the canary service goes, requests
// go to the service, and the deployment that follows carries on.
func TestCanaryServiceIsAdoptedWhereTheJournalIsLost(t *testing.T) {
	for n, more := 2, true; more; n += 2 {
		stagetest.RunRolling(t, func(b *stagetest.Bench) { more = adoptCanaryService(b, n) })
	}
}

func adoptCanaryService(b *stagetest.Bench, n int) (more bool) {
	files := b.CanaryServiceFiles("sim/web:v2", stagetest.CanaryPipeline, stagetest.Breaker)
	id := b.Start(files)
	g := b.KillAtWrite(n, true)
	at := b.RunUntilKilled(id)
	g.Left = -1
	if at == "" {
		return false
	}
	ctx := context.Background()
	p := stagetest.Got(b.Plan(files, mode.Options{TakeOver: id, Adopt: true}))(b)
	e := b.StartOnOtherMachine()
	b.ExpectCanaryServiceGone(stagetest.Got(e.Run(ctx, stagetest.Got(e.Start(ctx, p, engine.TriggerManual))(b),
		engine.Options{}))(b),
		sluice.Succeeded, "", stagetest.RolledV2)
	if b.Failed() {
		b.Logf("lost at %s (write %d)", at, n)
	}
	return !b.Failed()
}
