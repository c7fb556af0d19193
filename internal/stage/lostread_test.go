package stage_test

import (
	"context"
	"testing"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// One answer that says that a listener or target group does not exist is not believed:
// the deployment and its rollback go on as if it had not been given.
func TestOneAnswerThatSomethingIsGoneIsNotBelieved(t *testing.T) {
	for _, c := range [][2]string{{"DescribeListeners", "ListenerNotFound"}, {"DescribeRules", "ListenerNotFound"},
		{"DescribeTargetHealth", "TargetGroupNotFound"}} {
		stagetest.DenyEachCall(t, c[0], c[1], func(t *testing.T, n int) (reached bool) {
			on(t, options{}, func(b *bench) {
				id := b.Start(b.Files("sim/web:v2", canaryPipeline))
				denied := b.DenyCall(n, c[0], c[1])
				b.ExpectEnd(got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Succeeded, "",
					servesV2)
				b.ExpectNoneLost()
				reached = denied()
			})
			return reached
		})
		stagetest.DenyEachCall(t, "rollback/"+c[0], c[1], func(t *testing.T, n int) (reached bool) {
			on(t, options{}, func(b *bench) {
				ctx := context.Background()
				id := b.RunToApproval(b.Files("sim/web:v2", heldAfterStage(3)))
				must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
				denied := b.DenyCall(n, c[0], c[1])
				b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
				b.ExpectNoneLost()
				reached = denied()
			})
			return reached
		})
	}
}
