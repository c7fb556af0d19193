package scaling_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsaas "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling"
	aastypes "github.com/aws/aws-sdk-go-v2/service/applicationautoscaling/types"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// tracked gives the service a policy that keeps its tasks at half of a CPU each,
// and callers who ask for percent of a task's CPU in all.
func (b *bench) tracked(percent float64) {
	b.Helper()
	got(b.AutoScaling().PutScalingPolicy(context.Background(),
		&awsaas.PutScalingPolicyInput{PolicyName: aws.String("cpu"),
			PolicyType:        aastypes.PolicyTypeTargetTrackingScaling,
			ServiceNamespace:  aastypes.ServiceNamespaceEcs,
			ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
			ResourceId:        aws.String("service/prod/web"),
			TargetTrackingScalingPolicyConfiguration: &aastypes.TargetTrackingScalingPolicyConfiguration{TargetValue: aws.Float64(50), ScaleInCooldown: aws.Int32(60), ScaleOutCooldown: aws.Int32(60),
				PredefinedMetricSpecification: &aastypes.PredefinedMetricSpecification{PredefinedMetricType: aastypes.MetricTypeECSServiceAverageCPUUtilization}}}))(b)
	must(b, b.Sim.World().Do(stagetest.Key, func(tx *world.Tx) error {
		svc, _ := tx.Services.Get("prod/web")
		tx.SetDemand(svc, percent)
		return nil
	}))
}

func TestScalingIsSuspendedWhileADeploymentRunsAndGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		image   string
		outcome sluice.Outcome
	}{"success": {"sim/web:v2", sluice.Succeeded}, "rollback": {"sim/web:v2?crash-after=2s", sluice.RolledBack}} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.Scalable(2, 8, stagetest.PartlySuspended)
				was := b.ScalableTargets()
				seen := map[sluice.Suspension]bool{}
				b.Engine.OnEvent = func(e sluice.Envelope) {
					b.Events = append(b.Events, e)
					if e.Kind == "capacityChanged" || e.Kind == "trafficShifted" {
						seen[b.Suspension()] = true
					}
				}
				end := b.Deploy(b.Files(c.image, suspendsScaling+canaryPipeline))
				if end.Outcome != c.outcome || len(seen) != 1 || !seen[sluice.AllSuspended] {
					b.Fatalf("%s: %s; meanwhile %v\n%s", end.Outcome, end.Cause, seen, b.EventLog())
				}
				b.ExpectScalingAsBefore(was)
			})
		})
	}
}

// The first write after the claim suspends, the last before it is given back
// resumes.
func TestSuspensionIsTheFirstWriteAndItsReturnTheLast(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.Scalable(2, 8, sluice.Suspension{})
		b.Calls = nil
		b.Deploy(b.Files("sim/web:v2", suspendsScaling+canaryPipeline))
		var writes []string
		for _, c := range b.Calls {
			if c.Write {
				writes = append(writes, c.Operation)
			}
		}
		first, last := strings.Join(writes[:3], " "), strings.Join(writes[len(writes)-3:], " ")
		if first != "TagResource TagResource RegisterScalableTarget" ||
			last != "RegisterScalableTarget UntagResource UntagResource" {
			b.Errorf("first %s, last %s", first, last)
		}
		if n := strings.Count(strings.Join(writes, " "), "RegisterScalableTarget"); n != 2 {
			b.Errorf("%d writes of the scalable target", n)
		}
	})
}

// Left suspended on purpose, the end gives it back all the same.
func TestScalingMayStaySuspendedIfAskedFor(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{})
		was := b.ScalableTargets()
		p := got(b.scaled(b.Files("sim/web:v2", heldAfterStage(2)),
			appfile.Scaling{Suspend: true, KeepSuspended: true}))(b)
		id := got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if s := b.Suspension(); s != sluice.AllSuspended {
			b.Errorf("left: suspended %s", s)
		}
		must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.ExpectScalingAsBefore(was)
	})
}

// scaled is the plan with what else is asked of auto scaling.
func (b *bench) scaled(files fstest.MapFS, s appfile.Scaling) (*plan.Plan, error) {
	if s.Suspend {
		files["sluice.yaml"] = &fstest.MapFile{Data: append([]byte(suspendsScaling), files["sluice.yaml"].Data...)}
	}
	return b.Plan(files, mode.Options{Scaling: s})
}

// What somebody else changes meanwhile is told and stays, if it is adopted.
func TestScalingThatSomebodyElseChangesIsNotOverwritten(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{Out: true})
		id := b.Start(b.Files("sim/web:v2", "onOutsideChange: adopt\n"+suspendsScaling+strings.Replace(canaryPipeline,
			"ECS_PRIMARY_ROLLOUT}", "ECS_PRIMARY_ROLLOUT}\n    - {name: WAIT_APPROVAL}", 1)))
		b.Clock.Go(func() {
			b.Until("it waits", func() bool { return got(b.Journal.Deployment(ctx, id))(b).State == journal.Waiting })
			b.Scalable(3, 9, sluice.Suspension{In: true})
			must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 4, "ann"))
		})
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
		now := got(b.AutoScaling().DescribeScalableTargets(ctx,
			&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(b).ScalableTargets[0]
		if s := b.Suspension(); s != (sluice.Suspension{In: true}) || *now.MinCapacity != 3 || *now.MaxCapacity != 9 {
			b.Errorf("suspended %s, %d to %d", s, *now.MinCapacity, *now.MaxCapacity)
		}
		if !strings.Contains(b.EventLog(), "external change of the auto scaling of prod/web") {
			b.Errorf("it is not told:\n%s", b.EventLog())
		}
	})
}

// Bounds stay, and go back with a rollback, also one that is asked for later.
func TestBoundsStayUnlessRolledBack(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{In: true})
		was := b.ScalableTargets()
		lo, hi := 4, 12
		p := got(b.scaled(b.Files("sim/web:v2", canaryPipeline), appfile.Scaling{Suspend: true, Resume: true, Min: &lo,
			Max: &hi}))(b)
		id := got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
		now := got(b.AutoScaling().DescribeScalableTargets(ctx,
			&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(b).ScalableTargets[0]
		if s := b.Suspension(); s != (sluice.Suspension{}) || *now.MinCapacity != 4 || *now.MaxCapacity != 12 {
			b.Errorf("suspended %s, %d to %d\n%s", s, *now.MinCapacity, *now.MaxCapacity, b.EventLog())
		}
		must(b, b.Engine.Reopen(ctx, id))
		must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.ExpectScalingAsBefore(was)
	})
}

// Nothing but auto scaling changes: no task set is made for that.
func TestOnlyScalingChanges(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.Deploy(b.Files("sim/web:v2", canaryPipeline))
		b.Scalable(2, 8, sluice.AllSuspended)
		before := b.State()
		lo := 3
		p := got(b.scaled(b.Files("sim/web:v2", canaryPipeline), appfile.Scaling{Resume: true, Min: &lo}))(b)
		if len(p.Stages) != 1 || p.Stages[0].Name != plan.StageScaling || len(p.Changes) != 2 {
			b.Fatalf("%+v", p.Stages)
		}
		b.Calls = nil
		id := got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", before)
		if s := b.Suspension(); s != (sluice.Suspension{}) || !strings.Contains(b.ScalableTargets(), `"MinCapacity":3`) {
			b.Errorf("%s", b.ScalableTargets())
		}
		must(b, b.Engine.Reopen(ctx, id))
		must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", before)
		if s := b.Suspension(); s != sluice.AllSuspended || !strings.Contains(b.ScalableTargets(), `"MinCapacity":2`) {
			b.Errorf("after the rollback: %s", b.ScalableTargets())
		}
		for _, c := range b.Calls {
			if c.Write && !strings.HasSuffix(c.Operation, "agResource") && c.Operation != "RegisterScalableTarget" {
				b.Errorf("it wrote %s", c.Operation)
			}
		}
	})
}

// A deployment whose journal is lost leaves its note on the service: the next one
// gives back what was before both.
func TestSuspensionOfALostJournalIsGivenBackByTheNext(t *testing.T) {
	for name, c := range map[string]struct {
		files   string
		options mode.Options
	}{"that suspends": {files: suspendsScaling}, "that does not": {},
		"that adopts":              {options: mode.Options{Adopt: true}},
		"that only adopts":         {options: mode.Options{Adopt: true, Only: true}},
		"that adopts and suspends": {files: suspendsScaling, options: mode.Options{Adopt: true}}} {
		t.Run(name, func(t *testing.T) { givenBackByTheNext(t, c.files, c.options) })
	}
}

func givenBackByTheNext(t *testing.T, more string, o mode.Options) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.Scalable(2, 8, stagetest.PartlySuspended)
		was := b.ScalableTargets()
		b.KillAtWrite(5, true)
		if at := b.RunUntilKilled(b.Start(b.Files("sim/web:v2", suspendsScaling+canaryPipeline))); at == "" ||
			b.Suspension() != sluice.AllSuspended {
			b.Fatalf("killed %q; suspended %s", at, b.Suspension())
		}
		must(b, b.Clock.Sleep(ctx, time.Hour)) // its claim runs out
		must(b, b.Journal.Close())
		fresh := got(journal.Open(journal.Memory, b.Clock))(b)
		b.Journal, b.Engine.Journal = fresh, fresh
		b.KillAtWrite(-1, false)
		b.Deployments = 7
		p := got(b.Plan(b.Files("sim/web:v2", more), o))(b)
		if !strings.Contains(strings.Join(p.Warnings, "\n"),
			"an interrupted deployment left auto scaling suspended") {
			b.Errorf("%q", p.Warnings)
		}
		id := got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		if end := got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		b.ExpectScalingAsBefore(was)
	})
}

// Somebody took the claim's tag away: nobody holds the service, and scaling is
// given back all the same.
func TestScalingIsGivenBackWithoutAClaim(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.Scalable(2, 8, stagetest.PartlySuspended)
		was := b.ScalableTargets()
		id := b.Start(b.Files("sim/web:v2", suspendsScaling+heldAfterStage(2)))
		b.Clock.Go(func() {
			b.Until("it waits", func() bool { return got(b.Journal.Deployment(ctx, id))(b).State == journal.Waiting })
			arn := got(b.ECS.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
				Services: []string{"web"}}))(b).Services[0].ServiceArn
			got(b.ECS.UntagResource(ctx, &awsecs.UntagResourceInput{ResourceArn: arn,
				TagKeys: []string{plan.ClaimTag}}))(b)
			must(b, b.Engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		})
		if end := got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Stopped {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		b.ExpectScalingAsBefore(was)
	})
}

// AWS does not hold scale-in back for task sets: while both sets run, each task has
// half the work, and auto scaling takes tasks away from under the traffic.
func TestScaleInStrikesUnlessSuspended(t *testing.T) {
	slow := strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}\n",
		"    - {name: WAIT, with: {duration: 40m}}\n    - {name: ECS_PRIMARY_ROLLOUT}\n", 1)
	slow = strings.Replace(slow, "scale: 50", "scale: 100", 1)
	for name, more := range map[string]string{"left alone": "", "suspended": suspendsScaling} {
		on(t, options{}, func(b *bench) {
			b.Scalable(2, 8, sluice.Suspension{})
			b.tracked(200) // four tasks at 50 percent
			was, least := b.ScalableTargets(), 4
			files := b.Files("sim/web:v2", more+slow)
			p := got(b.Plan(files, mode.Options{}))(b)
			warned := strings.Contains(strings.Join(p.Warnings, "\n"), "may scale in while traffic shifts")
			b.Clock.Go(func() {
				for range 60 {
					must(b, b.Clock.Sleep(context.Background(), time.Minute))
					s := got(b.ECS.DescribeServices(context.Background(),
						&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
							Services: []string{"web"}}))(b).Services[0]
					least = min(least, int(s.DesiredCount))
				}
			})
			if end := b.Deploy(files); end.Outcome != sluice.Succeeded {
				b.Fatalf("%s: %s: %s", name, end.Outcome, end.Cause)
			}
			b.ExpectNoneLost()
			if struck := least < 4; struck != (more == "") || warned != (more == "") {
				b.Errorf("%s: least desired count %d, warned %t", name, least, warned)
			}
			b.ExpectScalingAsBefore(was)
		})
	}
}

// Killed before or after any write and resumed, the scalable targets are as they
// were, byte for byte.
func TestSuspensionKilledAtEveryWriteAndResumed(t *testing.T) {
	for name, c := range map[string]struct{ image, end string }{
		"canary":   {"sim/web:v2", "succeeded: PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"},
		"rollback": {"sim/web:v2?crash-after=2s", "rolled back: " + servesV1},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					on(t, options{}, func(b *bench) {
						b.Scalable(2, 8, stagetest.PartlySuspended)
						was := b.ScalableTargets()
						if more = b.KillAndResume(n, after, b.Files(c.image, suspendsScaling+canaryPipeline),
							c.end); more {
							b.ExpectScalingAsBefore(was)
						}
					})
				}
			})
		}
	}
}
