package stage_test

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Another process or person leads the production rule to the canary's group alone while the new primary starts. The rule
// is still that of callers: it is neither a test rule nor deleted, and the canary that serves them stays.
func TestProductionRuleThatIsLedToTheCanary(t *testing.T) {
	ctx := context.Background()
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		led := false
		watch := b.Engine.OnEvent
		b.Engine.OnEvent = func(e sluice.Envelope) {
			watch(e)
			if e.Kind == "stageStarted" && e.Stage == "4 ECS_PRIMARY_ROLLOUT" {
				led = true
				stagetest.Got(b.ELB.ModifyListener(ctx, &awselb.ModifyListenerInput{ListenerArn: aws.String(b.Listener), DefaultActions: []elbtypes.Action{
					{Type: elbtypes.ActionTypeEnumForward, TargetGroupArn: aws.String(b.Canary)}}}))(b)
			}
		}
		id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if !led || end.Outcome != sluice.Failed || strings.Contains(end.Cause, "no longer exists") ||
			strings.Contains(end.Next, "create the rule") || !strings.Contains(end.Next, "modify-listener") {
			b.Errorf("%s: %s\nnext: %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
		}
		b.ExpectNoneLost()
	})
}
