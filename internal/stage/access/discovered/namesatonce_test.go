package discovered_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// namedAtOnce is a canary by name without a stage that shifts traffic.
const namedAtOnce = `
pipeline:
  stages:
    - {name: ECS_CANARY_ROLLOUT, with: {scale: 50}}
    - {name: ECS_PRIMARY_ROLLOUT}
    - {name: ECS_CANARY_CLEAN}
`

// Callers resolve the canary from its rollout on, in addition to every task of the primary. The plan
// has that share, and callers get it.
func TestACanaryWithoutRoutingServesAtOnce(t *testing.T) {
	for controller, count := range map[string]int{"EXTERNAL": 10, "ECS": 5} {
		t.Run(controller, func(t *testing.T) {
			stagetest.RunByName(t, stagetest.Named{Controller: controller, Count: count}, func(b *stagetest.NameBench) {
				p, _ := startHeld(b, heldAfter(strings.Replace(namedAtOnce, "scale: 50", "scale: 60", 1), 1))
				share, canary := p.Stages[0].Share, count*6/10
				// 8 and 5 would be nearer to the planned 38% than 10 and 6
				if share == nil || share.Tasks != (plan.Split{Primary: count, Canary: canary}) || share.Deregistered != 0 {
					b.Fatalf("planned %v", share)
				}
				if b.Found() != fmt.Sprintf("%d primary, %d canary", count, canary) {
					b.Errorf("found %s\n%s", b.Found(), b.EventLog())
				}
				measureShare(b, share)
				b.ExpectNobodyLost()
			})
		})
	}
}

// Four kinds of callers lose no request, there and back from each stage, on each hosting.
func TestACanaryThatServesAtOnceLosesNoRequest(t *testing.T) {
	ways := []backs{{}}
	for n := 1; n <= 3; n++ {
		ways = append(ways, backs{stage: n}, backs{stage: n, within: true})
	}
	for _, controller := range []string{"EXTERNAL", "ECS"} {
		for _, w := range ways {
			t.Run(fmt.Sprintf("%s, %s", controller, w), func(t *testing.T) {
				for seed := range uint64(tries(1)) {
					stagetest.RunByName(t, stagetest.Named{Controller: controller, Seed: seed, Image: needs("canary", controller)},
						func(b *stagetest.NameBench) { deployAndRollBack(b, namedAtOnce, w) })
				}
			})
		}
	}
}

// A canary that never gets healthy is never registered.
func TestACanaryThatCrashesNeverServes(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{}, func(b *stagetest.NameBench) {
		end := stagetest.Got(b.Engine.Run(context.Background(),
			b.StartNamed("sim/api:v2?crash-after=2s&exit=3&healthy-after=1h", namedAtOnce), engine.Options{}))(b)
		b.ExpectNamed(end, sluice.RolledBack, "exit code 3", stagetest.NamedV1, "4 primary, 0 canary")
		if strings.Contains(b.EventLog(), "servicediscovery:RegisterInstance") {
			b.Errorf("the canary was registered\n%s", b.EventLog())
		}
		b.ExpectNobodyLost()
	})
}

// New tasks of primary and canary are registered, and none of the primary is deregistered, when the
// desired count rises while the canary serves.
func TestACanaryThatServesAtOnceGrowsWithTheService(t *testing.T) {
	stagetest.RunByName(t, stagetest.Named{Count: 2}, func(b *stagetest.NameBench) {
		ctx := context.Background()
		ran := b.RunBeside(b.Engine, b.Start(b.NamedFiles("sim/api:v2", strings.Replace(namedAtOnce,
			"    - {name: ECS_PRIMARY", "    - {name: WAIT, with: {duration: 10m}}\n    - {name: ECS_PRIMARY", 1))))
		b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
		stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("api"), DesiredCount: aws.Int32(6)}))(b)
		b.Until("all are registered", func() bool { return b.Found() == "6 primary, 3 canary" })
		b.Until("it is over", func() bool { return ran.Done })
		if ran.Outcome != sluice.Succeeded || b.Found() != "6 primary, 0 canary" {
			b.Errorf("%s: %s; %s\n%s", ran.Outcome, ran.Cause, b.Found(), b.EventLog())
		}
		b.ExpectNobodyLost()
	})
}
