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
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another process deletes the listener during a deployment. The rollback removes what
// it can, says what it cannot restore and fails. A rollback after that does the same: callers do not get
// the former version without the listener.
func TestRollbackAfterTheListenerWasDeleted(t *testing.T) {
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprintf("after stage %d", n), func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				ctx := context.Background()
				id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(n)))
				stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
				stagetest.Got(b.ELB.DeleteListener(ctx,
					&awselb.DeleteListenerInput{ListenerArn: aws.String(b.Listener)}))(b)
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, n, "ann"))
				end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				expectFailedWithout(b, end, b.Listener)
				stagetest.Must(b, b.Engine.Reopen(ctx, id))
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
				end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
				if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "its listener was deleted") {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
			})
		})
	}
}

// expectFailedWithout wants a deployment that failed with the name of what was deleted, and
// only the former version left.
func expectFailedWithout(b *stagetest.Bench, end engine.RunResult, deleted string) {
	b.Helper()
	if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, deleted) {
		b.Errorf("%s: %s, want failed with %s\n%s", end.Outcome, end.Cause, deleted, b.EventLog())
	}
	if sets := b.TaskSets(); sets != "PRIMARY sim/web:v1 100% 4 running" {
		b.Errorf("%s\n%s", sets, b.EventLog())
	}
}

// The old primary is deleted when the listener is: AWS starts no task set in a target
// group without a listener. The canary is removed; what serves stays, until a rollback
// finds a listener again.
func TestRollbackWaitsForANewListener(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(4)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Got(b.ELB.DeleteListener(ctx, &awselb.DeleteListenerInput{ListenerArn: aws.String(b.Listener)}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 4, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if sets := b.TaskSets(); end.Outcome != sluice.Failed || !strings.Contains(end.Cause, b.Listener) ||
			sets != "PRIMARY sim/web:v2 100% 4 running" {
			b.Errorf("%s: %s\n%s\n%s", end.Outcome, end.Cause, sets, b.EventLog())
		}
		stagetest.Got(b.ELB.CreateListener(ctx, &awselb.CreateListenerInput{LoadBalancerArn: aws.String(b.Balancer),
			Port: aws.Int32(80), Protocol: elbtypes.ProtocolEnumHttp, DefaultActions: b.Forward(false)}))(b)
		stagetest.Must(b, b.Engine.Reopen(ctx, id))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end = stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if sets := b.TaskSets(); sets != "PRIMARY sim/web:v1 100% 4 running" {
			b.Errorf("%s: %s\n%s\n%s", end.Outcome, end.Cause, sets, b.EventLog())
		}
	})
}

// Another process deletes the rule that steers the service, and the canary's target
// group with it.
func TestRollbackAfterARuleAndATargetGroupWereDeleted(t *testing.T) {
	stagetest.Run(t, stagetest.Options{PrimaryOnly: true}, func(b *stagetest.Bench) {
		ctx := context.Background()
		out := stagetest.Got(b.ELB.CreateRule(ctx, &awselb.CreateRuleInput{ListenerArn: aws.String(b.Listener),
			Priority: aws.Int32(5), Actions: b.Forward(false),
			Conditions: []elbtypes.RuleCondition{{Field: aws.String("path-pattern"), Values: []string{"/web/*"}}}}))(b)
		rule := *out.Rules[0].RuleArn
		id := b.Start(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Got(b.ELB.DeleteRule(ctx, &awselb.DeleteRuleInput{RuleArn: aws.String(rule)}))(b)
		stagetest.Got(b.ELB.DeleteTargetGroup(ctx,
			&awselb.DeleteTargetGroupInput{TargetGroupArn: aws.String(b.Canary)}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 2, "ann"))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		expectFailedWithout(b, end, rule)
		expectFailedWithout(b, end, b.Canary)
		b.ExpectNoneLost()
	})
}

// A service of that name is being deleted, and ECS never ends it.
func TestServiceThatStaysDrainingIsNotWaitedForForEver(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		id := b.Start(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		b.Engine.Account = b.OpenAccount(stagetest.ServiceStaysDraining)
		began := b.Clock.Now()
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if took := b.Clock.Now().Sub(began); end.Outcome == sluice.Succeeded || took > time.Hour ||
			!strings.Contains(end.Cause, "it is DRAINING with 4 running tasks") {
			b.Errorf("%s after %s: %s\n%s", end.Outcome, took, end.Cause, b.EventLog())
		}
	})
}

// The service is deleted while ECS rolls it. With and without an automatic rollback the deployment is gone, and each line
// that advises says to deploy again.
func TestServiceThatIsDeletedWhileItRolls(t *testing.T) {
	for _, back := range []bool{true, false} {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			b.AfterWrite("ecs:UpdateService", 10*time.Second, func() {
				stagetest.Got(b.ECS.DeleteService(context.Background(), &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
					Service: aws.String("web"), Force: aws.Bool(true)}))(b)
			})
			files := b.RollingFiles("sim/web:v2", stagetest.Breaker)
			app := files["sluice.yaml"]
			app.Data = append(app.Data, fmt.Sprintf("\nplanner: {autoRollback: %t}\n", back)...)
			end := b.Deploy(files)
			if end.Outcome != sluice.Gone || end.Next != "run sluice deploy to create the service again" ||
				strings.Contains(b.EventLog(), "then wait again") ||
				strings.Contains(b.EventLog(), "rollbackStarted") != back {
				b.Errorf("autoRollback %t: %s, next: %s\n%s", back, end.Outcome, end.Next, b.EventLog())
			}
		})
	}
}

// Somebody deletes the service between the plan and the first write. Nothing is written, and
// nothing counts as rolled back: callers get no response.
func TestServiceThatIsDeletedBeforeTheFirstWrite(t *testing.T) {
	deploy := func(b *stagetest.Bench, files fstest.MapFS) {
		id := b.Start(files)
		stagetest.Got(b.ECS.DeleteService(context.Background(), &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), Force: aws.Bool(true)}))(b)
		before := string(stagetest.Got(b.Registered())(b))
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if end.Outcome != sluice.Gone || !strings.Contains(end.Cause, "deleted the service") ||
			!strings.Contains(end.Next, "create the service again") {
			b.Errorf("%s: %s; %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
		}
		if after := string(stagetest.Got(b.Registered())(b)); after != before {
			b.Errorf("registered: %s, before %s", after, before)
		}
	}
	t.Run("rolling", func(t *testing.T) {
		stagetest.RunRolling(t, func(b *stagetest.Bench) { deploy(b, b.RollingFiles("sim/web:v2", stagetest.Breaker)) })
	})
	t.Run("task sets", func(t *testing.T) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			deploy(b, b.Files("sim/web:v2", stagetest.PipelineHeldAfter(1)))
		})
	})
}
