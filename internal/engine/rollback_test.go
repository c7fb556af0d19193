package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
)

const servesV1 = "PRIMARY sim/web:v1 100% 4 running; primary 100 canary 0"

func (b *bench) expect(end engine.RunResult, outcome sluice.Outcome, cause, state string) {
	b.Helper()
	if end.Outcome != outcome || !strings.Contains(end.Cause, cause) {
		b.Fatalf("%s: %s; want %s: …%s…\n%s", end.Outcome, end.Cause, outcome, cause, b.log())
	}
	if b.state() != state {
		b.Errorf("%s, want %s\n%s", b.state(), state, b.log())
	}
}

func TestCanaryThatCrashesIsTakenAwayAndTrafficStaysPut(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v2?crash-after=2s&exit=3", canaryPipeline))
		b.expect(end, sluice.RolledBack, "exit code 3", servesV1)
	})
}

func TestCanaryThatIsNeverHealthyIsTakenAway(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v2?never-healthy=true", canaryPipeline))
		b.expect(end, sluice.RolledBack, "Task failed ELB health checks in (target-group web-canary)", servesV1)
	})
}

// Every task of the new primary stops while the old primary drains, and ECS starts others. The
// stage that created it fails: it does not end done on the tasks of the second try.
func TestNewPrimaryThatCrashesDuringTheDrainFailsItsStage(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v2?crash-after=30s&exit=3", canaryPipeline))
		b.expect(end, sluice.RolledBack, "4 of 4 tasks stopped: exit code 3", servesV1)
		if !strings.Contains(b.log(), `stageEnded {"index":3,"name":"ECS_PRIMARY_ROLLOUT","status":"failed"`) {
			b.Errorf("the primary rollout did not fail\n%s", b.log())
		}
	})
}

func TestImageThatDoesNotBootIsNamed(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v2?noboot=true", canaryPipeline))
		b.expect(end, sluice.RolledBack, "CannotPullContainerError", servesV1)
	})
}

func TestRollbackAfterSuccessStartsTheOldRevisionAgain(t *testing.T) {
	on(t, options{}, func(b *bench) {
		end := b.deploy(b.files("sim/web:v2", canaryPipeline))
		ctx := context.Background()
		must(b, b.engine.Reopen(ctx, end.ID))
		must(b, b.engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
		end = got(b.engine.Run(ctx, end.ID, engine.Options{}))(b)
		b.expect(end, sluice.RolledBack, "", servesV1)
	})
}

func TestRuleThatSomebodyElseEditedIsNotOverwritten(t *testing.T) {
	on(t, options{}, func(b *bench) {
		pipeline := strings.Replace(canaryPipeline, "- {name: ECS_PRIMARY_ROLLOUT}", "- {name: WAIT_APPROVAL}", 1)
		id := b.start(b.files("sim/web:v2", pipeline))
		ctx := context.Background()
		end := got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if end.State != journal.Waiting || b.weights() != "primary 50 canary 50" {
			b.Fatalf("%s %s, weights %s\n%s", end.State, end.Cause, b.weights(), b.log())
		}
		actions := b.forward(false)
		actions[0].ForwardConfig.TargetGroups[0].Weight, actions[0].ForwardConfig.TargetGroups[1].Weight = aws.Int32(
			70), aws.Int32(30)
		got(b.elb.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: aws.String(b.listener),
			DefaultActions: actions}))(b)
		must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		end = got(b.engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Failed || b.weights() != "primary 70 canary 30" ||
			!strings.Contains(end.Cause, "an external change of the") {
			b.Errorf("%s: %s; weights %s\n%s", end.Outcome, end.Cause, b.weights(), b.log())
		}
		if !strings.Contains(b.state(), "ACTIVE sim/web:v2") {
			b.Errorf("the canary that gets 30%% was taken away: %s", b.state())
		}
	})
}

func TestAbortLeavesItAsItStands(t *testing.T) {
	on(t, options{}, func(b *bench) {
		pipeline := strings.Replace(canaryPipeline, "- {name: ECS_PRIMARY_ROLLOUT}", "- {name: WAIT_APPROVAL}", 1)
		id := b.start(b.files("sim/web:v2", pipeline))
		ctx := context.Background()
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
		b.expect(end, sluice.Stopped, "aborted",
			"ACTIVE sim/web:v2 50% 2 running; PRIMARY sim/web:v1 100% 4 running; primary 50 canary 50")
	})
}

// What an abort left can still be put back.
func TestRollbackAfterAbort(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		id := b.start(b.files("sim/web:v2", held(2)))
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		if end := got(b.engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Stopped {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		must(b, b.engine.Reopen(ctx, id))
		must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.noneLost()
	})
}
