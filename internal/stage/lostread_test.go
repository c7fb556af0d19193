package stage_test

import (
	"context"
	"testing"
	"time"

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
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
				denied := b.DenyCall(n, c[0], c[1])
				b.ExpectEnd(stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b),
					sluice.Succeeded, "",
					stagetest.ServesV2)
				b.ExpectNoneLost()
				reached = denied()
			})
			return reached
		})
		stagetest.DenyEachCall(t, "rollback/"+c[0], c[1], func(t *testing.T, n int) (reached bool) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				ctx := context.Background()
				id := b.RunToApproval(b.Files("sim/web:v2", stagetest.PipelineHeldAfter(3)))
				stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
				denied := b.DenyCall(n, c[0], c[1])
				b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
					stagetest.ServesV1)
				b.ExpectNoneLost()
				reached = denied()
			})
			return reached
		})
	}
}

// An update that AWS refuses shows in no read: the rollback does not wait for one.
func TestRefusedUpdateIsNotWaitedFor(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		id := b.Start(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		denied, began := b.DenyCall(1, "UpdateService", "InvalidParameterException"), b.Clock.Now()
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		took := b.Clock.Now().Sub(began)
		b.ExpectRolled(end, sluice.RolledBack, "", stagetest.RolledV1)
		if got := b.CallersGet(); !denied() || took > 20*time.Second || got != "v1 200" {
			b.Errorf("denied: %t, ended after %s; callers get %q\n%s", denied(), took, got, b.EventLog())
		}
	})
}

// An update whose first response is lost may have taken effect: a refusal of the second call does not deny that.
func TestRefusalAfterALostResponse(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		id := b.Start(b.RollingFiles("sim/web:v2", stagetest.Breaker))
		stagetest.Must(b, b.Sim.Inject("lost-reply ecs:UpdateService times=1"))
		denied := b.DenyCall(2, "UpdateService", "InvalidParameterException")
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if b.ExpectRolled(end, sluice.Succeeded, "", stagetest.RolledV2); !denied() {
			b.Error("the second call was not refused")
		}
	})
}
