package capacity_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// What goes drains at the same time: a rollback of canary and new primary takes little
// longer than one of the canary alone. It is measured in AWS's time.
func TestRollbackOfTwoTakesLittleLongerThanOfOne(t *testing.T) {
	took := func(stages ...string) (d time.Duration) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			ctx := context.Background()
			id := b.Start(b.Files("sim/web:v2", stagetest.Pipeline(stages...)))
			stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
			from := b.Clock.Now()
			end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
			d = b.Clock.Now().Sub(from)
			if end.Outcome != sluice.RolledBack || strings.Contains(b.State(), "v2") {
				b.Fatalf("%s %s: %s\n%s", end.Outcome, end.Cause, b.State(), b.EventLog())
			}
			b.ExpectNoneLost()
		})
		return d
	}
	one := took(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
		"{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: true}}", stagetest.ShiftBack,
		stagetest.CleanCanary)
	two := took(stagetest.CanaryRollout, stagetest.ShiftFifth, "{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: true}}",
		stagetest.Approval, stagetest.ShiftBack,
		stagetest.CleanCanary)
	if t.Logf("one: %s, two: %s", one, two); two > one*13/10 {
		t.Errorf("a rollback of two took %s, of one %s", two, one)
	}
}

// A clean and a sync drain at the same time what they remove.
func TestCleanAndSyncDrainTogether(t *testing.T) {
	took := func(keep bool, files func(*stagetest.Bench) fstest.MapFS) (d time.Duration) {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			if keep {
				b.AbortAtApproval(b.Files("sim/web:v2",
					stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
						stagetest.CleanCanary)))
			}
			from := b.Clock.Now()
			end := b.Deploy(files(b))
			d = b.Clock.Now().Sub(from)
			if end.Outcome != sluice.Succeeded {
				b.Fatalf("%s %s\n%s", end.Outcome, end.Cause, b.EventLog())
			}
			b.ExpectNoneLost()
		})
		return d
	}
	sync := func(b *stagetest.Bench) fstest.MapFS { return b.Files("sim/web:v3", "") }
	if one, two := took(false, sync), took(true, sync); two > one*13/10 {
		t.Errorf("a sync that removes two took %s, one that removes one %s", two, one)
	}
	kept := func(keep string) func(*stagetest.Bench) fstest.MapFS {
		return func(b *stagetest.Bench) fstest.MapFS {
			return b.Files("sim/web:v3", stagetest.Pipeline(stagetest.CanaryRollout,
				"{name: ECS_PRIMARY_ROLLOUT, with: {keepOld: "+keep+"}}",
				stagetest.CleanCanary))
		}
	}
	if one, two := took(false, kept("false")), took(false, kept("true")); two > one {
		t.Errorf("a clean of canary and old primary took %s, a removal of each by itself %s", two, one)
	}
}

// A drain of five minutes is not polled: AWS keeps a target for the whole deregistration delay. Its end is noticed within
// seconds, with stale answers too.
func TestLongDrainIsReadAtItsEnd(t *testing.T) {
	const delay = 5 * time.Minute
	for name, fault := range map[string]string{"current answers": "", "stale answers": "stale elasticloadbalancing:* by=4s"} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				for _, group := range []string{b.Primary, b.Canary} {
					stagetest.Got(b.ELB.ModifyTargetGroupAttributes(t.Context(), &awselb.ModifyTargetGroupAttributesInput{
						TargetGroupArn: aws.String(group), Attributes: []elbtypes.TargetGroupAttribute{
							{Key: aws.String("deregistration_delay.timeout_seconds"), Value: aws.String("300")}}}))(b)
				}
				var began, ended time.Time
				from, reads := 0, 0
				b.OnEvent(func(e sluice.Event) bool {
					x, ok := e.(sluice.CapacityChanged)
					return ok && x.Variant == sluice.Leaving && x.Running == 0 && x.Draining > 0
				}, func() { began, from = b.Clock.Now(), len(b.Calls) })
				b.OnEvent(func(e sluice.Event) bool {
					w, ok := e.(sluice.Writing)
					return ok && w.Operation == "ecs:DeleteTaskSet"
				}, func() {
					ended = b.Clock.Now()
					for _, c := range b.Calls[from:] {
						if c.Operation == "DescribeTargetHealth" {
							reads++
						}
					}
				})
				if fault != "" {
					stagetest.Must(b, b.Sim.Inject(fault))
				}
				end := b.Deploy(b.Files("sim/web:v2", ""))
				b.Sim.ClearFaults()
				b.ExpectEnd(end, sluice.Succeeded, "", stagetest.ServesV2)
				took := ended.Sub(began)
				if took < delay-10*time.Second || took > delay+10*time.Second || reads > 30 {
					b.Errorf("the drain took %s with %d reads of target health, want %s and at most 30\n%s", took, reads, delay,
						b.EventLog())
				}
				b.ExpectNoneLost()
			})
		})
	}
}
