package stage_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// While a stage waits minutes for other tasks to drain, the tasks of the new version that already get requests lose
// their targets. Callers get errors, so the rollback begins within half a minute, not after the drain.
func TestNewVersionIsWatchedWhileOthersDrain(t *testing.T) {
	const drain = 5 * time.Minute
	sets := func(b *stagetest.Bench) fstest.MapFS { return b.Files("sim/web:v2", stagetest.CanaryPipeline) }
	services := func(b *stagetest.Bench) fstest.MapFS {
		return b.CanaryServiceFiles("sim/web:v2", stagetest.CanaryPipeline, stagetest.Breaker)
	}
	for name, c := range map[string]struct {
		run   func(testing.TB, func(*stagetest.Bench))
		files func(*stagetest.Bench) fstest.MapFS
		waits string // what the stage waits for then
		fails func(*stagetest.Bench) string
	}{
		"the canary's share, while the former primary drains": {stagetest.RunPlain, sets,
			"the old task set of primary to drain", func(b *stagetest.Bench) string { return b.Canary }},
		"the new primary, while the former one drains": {stagetest.RunPlain, sets, "the old task set of primary to drain",
			func(b *stagetest.Bench) string { return b.Primary }},
		"the new primary, while the canary drains": {stagetest.RunPlain, sets, "the task set of canary to drain",
			func(b *stagetest.Bench) string { return b.Primary }},
		"the share of a canary service, while ECS rolls the service": {stagetest.RunRolling, services, "",
			func(b *stagetest.Bench) string { return b.Canary }},
	} {
		t.Run(name, func(t *testing.T) {
			c.run(t, func(b *stagetest.Bench) {
				for _, group := range []string{b.Primary, b.Canary} {
					stagetest.Got(b.ELB.ModifyTargetGroupAttributes(t.Context(), &awselb.ModifyTargetGroupAttributesInput{
						TargetGroupArn: aws.String(group), Attributes: []elbtypes.TargetGroupAttribute{
							{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("300")}}}))(b)
				}
				var failed, began time.Time
				stage := ""
				b.OnEvent(func(e sluice.Event) bool {
					if s, ok := e.(sluice.StageStarted); ok {
						stage = s.Name
					}
					if x, ok := e.(sluice.CapacityChanged); ok && c.waits == "" {
						return stage == "ECS_PRIMARY_ROLLOUT" && x.Variant == sluice.Primary && x.Running > 0
					}
					w, ok := e.(sluice.Waiting)
					return ok && c.waits != "" && strings.HasPrefix(w.For, c.waits)
				}, func() {
					deregisterAll(b, c.fails(b))
					failed = b.Clock.Now()
				})
				b.OnEvent(func(e sluice.Event) bool { _, ok := e.(sluice.RollbackStarted); return ok },
					func() { began = b.Clock.Now() })
				end := b.Deploy(c.files(b))
				if late := began.Sub(failed); end.Outcome != sluice.RolledBack || late < 0 || late > 30*time.Second {
					b.Errorf("%s: the rollback began %s after the targets were deregistered, in a drain of %s\n%s",
						end.Outcome, late, drain, b.EventLog())
				}
				if got := b.CallersGet(); got != "v1 200" {
					b.Errorf("callers get %q", got)
				}
			})
		})
	}
}
