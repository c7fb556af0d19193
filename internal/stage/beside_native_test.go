package stage_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// ECS's own strategies write one rule. Callers of another one lose the service by the deployment: it is refused, and one
// that the file allows fails.
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
