package stage_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func TestCanaryThatCrashesIsTakenAwayAndTrafficStaysPut(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v2?crash-after=2s&exit=3", stagetest.CanaryPipeline))
		b.ExpectEnd(end, sluice.RolledBack, "exit code 3", stagetest.ServesV1)
	})
}

func TestCanaryThatIsNeverHealthyIsTakenAway(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v2?never-healthy=true", stagetest.CanaryPipeline))
		b.ExpectEnd(end, sluice.RolledBack, "Task failed ELB health checks in (target-group web-canary)",
			stagetest.ServesV1)
	})
}

// Somebody scales the canary up while the rollback removes it. Its tasks fail and are replaced, so their
// counts change at every poll, which is no progress.
func TestCanaryScaledUpWhileItDrainsIsRemoved(t *testing.T) {
	t.Run("task sets", func(t *testing.T) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			b.AfterWrite("ecs:UpdateTaskSet", 3*time.Second, func() { b.ScaleTaskSet(false, 50) })
			end := b.Deploy(b.Files("sim/web:v2?never-healthy=true", stagetest.CanaryPipeline))
			b.ExpectEnd(end, sluice.RolledBack, "Task failed ELB health checks", stagetest.ServesV1)
		})
	})
	t.Run("services", func(t *testing.T) {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			b.AfterWrite("ecs:UpdateService", 3*time.Second, func() {
				stagetest.Got(b.ECS.UpdateService(context.Background(), &awsecs.UpdateServiceInput{
					Cluster: aws.String("prod"), Service: aws.String("web-canary"), DesiredCount: aws.Int32(2)}))(b)
			})
			end := b.Deploy(b.CanaryServiceFiles("sim/web:v2?never-healthy=true",
				stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout,
					stagetest.ShiftBack, stagetest.CleanCanary), stagetest.Breaker))
			b.ExpectCanaryServiceGone(end, sluice.RolledBack, "Task failed ELB health checks", stagetest.RolledV1)
		})
	})
}

// Every task of the new primary stops while the old primary drains, and ECS starts others. The
// stage that created it fails: it does not end done on the tasks of the second try.
func TestNewPrimaryThatCrashesDuringTheDrainFailsItsStage(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v2?crash-after=30s&exit=3", stagetest.CanaryPipeline))
		b.ExpectEnd(end, sluice.RolledBack, "2 tasks stopped: exit code 3", stagetest.ServesV1)
		if !strings.Contains(b.EventLog(), `stageEnded {"index":3,"name":"ECS_PRIMARY_ROLLOUT","status":"failed"`) {
			b.Errorf("the primary rollout did not fail\n%s", b.EventLog())
		}
	})
}

// A release replaces the launch type by capacity providers. Its rollback restores the launch type.
func TestRollbackRestoresTheLaunchType(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		stagetest.Got(b.ECS.PutClusterCapacityProviders(ctx, &awsecs.PutClusterCapacityProvidersInput{
			Cluster: aws.String("prod"), CapacityProviders: []string{"FARGATE", "FARGATE_SPOT"},
			DefaultCapacityProviderStrategy: []ecstypes.CapacityProviderStrategyItem{}}))(b)
		files := b.RollingFiles("sim/web:v2", "desiredCount: 4\n"+stagetest.Breaker)
		service := files["servicedef.yaml"]
		service.Data = bytes.Replace(service.Data, []byte("launchType: FARGATE"),
			[]byte("capacityProviderStrategy: [{capacityProvider: FARGATE_SPOT, weight: 1}]"), 1)
		id := b.Start(files)
		if end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		stagetest.Must(b, b.Engine.Reopen(ctx, id))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		out := stagetest.Got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b).Services[0]
		if end.Outcome != sluice.RolledBack || out.LaunchType != "FARGATE" || len(out.CapacityProviderStrategy) > 0 {
			b.Errorf("%s: %s; launch type %q, strategy %v\n%s", end.Outcome, end.Cause, out.LaunchType,
				out.CapacityProviderStrategy, b.EventLog())
		}
	})
}

func TestImageThatDoesNotBootIsNamed(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		end := b.Deploy(b.Files("sim/web:v2?noboot=true", stagetest.CanaryPipeline))
		b.ExpectEnd(end, sluice.RolledBack, "CannotPullContainerError", stagetest.ServesV1)
	})
}

func TestRuleThatSomebodyElseEditedIsNotOverwritten(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		pipeline := strings.Replace(stagetest.CanaryPipeline, "- {name: ECS_PRIMARY_ROLLOUT}",
			"- {name: WAIT_APPROVAL}", 1)
		id := b.Start(b.Files("sim/web:v2", pipeline))
		ctx := context.Background()
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if end.State != journal.Waiting || b.Weights() != "primary 50 canary 50" {
			b.Fatalf("%s %s, weights %s\n%s", end.State, end.Cause, b.Weights(), b.EventLog())
		}
		actions := b.Forward(false)
		actions[0].ForwardConfig.TargetGroups[0].Weight, actions[0].ForwardConfig.TargetGroups[1].Weight = aws.Int32(
			70), aws.Int32(30)
		stagetest.Got(b.ELB.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: aws.String(b.Listener),
			DefaultActions: actions}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Failed || b.Weights() != "primary 70 canary 30" ||
			!strings.Contains(end.Cause, "an external change of the") {
			b.Errorf("%s: %s; weights %s\n%s", end.Outcome, end.Cause, b.Weights(), b.EventLog())
		}
		if !strings.Contains(b.State(), "ACTIVE sim/web:v2") {
			b.Errorf("the canary that gets 30%% was taken away: %s", b.State())
		}
	})
}

// A rule of others sends requests to the canary alone. The advice names the command that gives them to the primary, after
// which the rollback removes the canary: with a weight of 0 for its only group the callers of the rule would get 503.
func TestARuleOnlyToTheCanaryIsLedToThePrimary(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", strings.Replace(stagetest.CanaryPipeline, "- {name: ECS_PRIMARY_ROLLOUT}",
			"- {name: WAIT_APPROVAL}", 1)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		rule := b.AddRule(5, "/a*", elbtypes.Action{Type: "forward", TargetGroupArn: aws.String(b.Canary)})
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Failed || !strings.Contains(end.Next, "aws elbv2 modify-rule --rule-arn "+rule+" ") ||
			!strings.Contains(end.Next, b.Primary) || strings.Contains(end.Next, "to 0") {
			b.Errorf("%s: %s; next: %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
		}
		stagetest.Got(b.ELB.ModifyRule(ctx, &awselb.ModifyRuleInput{RuleArn: aws.String(rule),
			Actions: []elbtypes.Action{{Type: "forward", TargetGroupArn: aws.String(b.Primary)}}}))(b)
		stagetest.Must(b, b.Engine.Reopen(ctx, id))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
	})
}
