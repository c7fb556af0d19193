package stage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// ECS's own strategies write one rule. Callers of another one lose the service by the deployment: it is refused, and
// one that the file allows fails.
func TestRuleThatECSDoesNotWrite(t *testing.T) {
	configuration := stagetest.Strategies["BLUE_GREEN"]
	stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
		files := b.NativeFiles("sim/web:v2", configuration)
		serving, idle := b.Primary, b.Canary
		if b.Healthy(serving) == 0 {
			serving, idle = idle, serving
		}
		to := func(group string) []elbtypes.Action {
			actions := b.Forward(true)
			actions[0].ForwardConfig.TargetGroups[0].TargetGroupArn = aws.String(group)
			return actions
		}
		b.AddRule(4, "/", to(serving)...)
		b.AddRule(5, "/unused", to(idle)...)
		_, err := b.Plan(files, mode.Options{})
		if err == nil || !strings.Contains(err.Error(), "rule 4 of port 80 forwards to ") ||
			!strings.Contains(err.Error(), " 1 too, and ECS does not write this rule") {
			b.Errorf("%v, want a refusal for rule 4", err)
		}
		five := 5
		for name, o := range map[string]mode.Options{"unchanged files": {}, "another count": {Tasks: &five}} {
			if _, err := b.Plan(b.NativeFiles("sim/web:v1", configuration), o); err != nil {
				b.Errorf("%s: %v, want a plan: no task moves to the other group", name, err)
			}
		}
		if _, err := b.Plan(b.NativeFiles("sim/web:v1", configuration), mode.Options{Force: true}); err == nil {
			b.Error("the tasks are replaced: want a refusal for rule 4")
		}
		end := b.Deploy(stagetest.AddLines(files, "sluice.yaml", "onUnhealthyRoute: allow\n"))
		if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "rule 4 of port 80 sends 100 % of the requests to ") {
			b.Errorf("%s: %q, want failed: rule 4\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		if got := b.CallersGet(); got != "503" {
			b.Errorf("callers get %q, want 503", got)
		}
	})
}

// A listener that a person adds during a deployment or a rollback, and whose group loses its tasks by it: no outcome
// says that callers get a version. The next plan warns, and a deployment that leaves the rule as it was tells of it.
func TestListenerThatIsAddedAfterThePlan(t *testing.T) {
	configuration := stagetest.Strategies["BLUE_GREEN"]
	const lost = "default rule of port 443 sends 100 % of the requests to "
	expect := func(b *stagetest.Bench, end engine.RunResult) {
		b.Helper()
		if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "callers do not get it: "+lost) {
			b.Errorf("%s: %q, want failed: port 443\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		if got := b.CallersOfPort(443); got != "503" {
			b.Errorf("callers of port 443 get %q, want 503", got)
		}
	}
	addsAt := func(b *stagetest.Bench, stage string) {
		b.Clock.Go(func() {
			b.UntilStage(stage)
			serving := b.Primary
			if b.Healthy(serving) == 0 {
				serving = b.Canary
			}
			b.AddListener(443, stagetest.ForwardTo(serving))
		})
	}
	t.Run("deployment", func(t *testing.T) {
		stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
			id := b.Start(b.NativeFiles("sim/web:v2", configuration))
			addsAt(b, "SCALE_UP")
			expect(b, stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b))
			p := stagetest.Got(b.Plan(b.NativeFiles("sim/web:v2", configuration), mode.Options{}))(b)
			if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, lost) {
				b.Errorf("warnings: %s", all)
			}
			end := b.Deploy(b.NativeFiles("sim/web:v3", configuration))
			if got := b.CallersOfPort(443); end.Outcome != sluice.Succeeded || end.Cause != "" || got != "v3 200" {
				b.Errorf("%s: %s; callers of port 443 get %q", end.Outcome, end.Cause, got)
			}
		})
	})
	t.Run("rollback", func(t *testing.T) {
		stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
			ctx := context.Background()
			end := b.Deploy(b.NativeFiles("sim/web:v2", configuration))
			stagetest.Must(b, b.Engine.Reopen(ctx, end.ID))
			stagetest.Must(b, b.Engine.SendCommand(ctx, end.ID, journal.Rollback, 0, "ann"))
			addsAt(b, "SCALE_UP")
			expect(b, stagetest.Got(b.Engine.Run(ctx, end.ID, engine.Options{}))(b))
		})
	})
}
