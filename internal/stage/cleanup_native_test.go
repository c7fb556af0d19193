package stage_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// While ECS removes the former tasks it does not stop the deployment, and a new deployment could send requests to the
// group of these tasks. A rollback waits for the end, and callers get no error at any time in between.
func TestRollbackWhileECSCleansUp(t *testing.T) {
	for _, later := range []time.Duration{0, 3 * time.Second, 15 * time.Second, 30 * time.Second} {
		configuration := stagetest.Strategies["BLUE_GREEN"]
		stagetest.RunNative(t, configuration, func(b *stagetest.Bench) {
			ctx := context.Background()
			for _, group := range []string{b.Primary, b.Canary} {
				stagetest.Got(b.ELB.ModifyTargetGroupAttributes(ctx, &awselb.ModifyTargetGroupAttributesInput{
					TargetGroupArn: aws.String(group), Attributes: []elbtypes.TargetGroupAttribute{{
						Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("90")}}}))(b)
			}
			id := b.Start(b.NativeFiles("sim/web:v2", configuration))
			b.Clock.Go(func() {
				b.UntilStage("BAKE_TIME") // of this deployment, not of the one before
				b.UntilStage("CLEAN_UP")
				b.Sleep(later)
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
			})
			end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
			b.ExpectNoneLost()
			if got := b.CallersGet(); end.Outcome != sluice.RolledBack || got != "v1 200" {
				b.Errorf("after %s: %s: %s; callers get %q\n%s", later, end.Outcome, end.Cause, got, b.EventLog())
			}
		})
	}
}
