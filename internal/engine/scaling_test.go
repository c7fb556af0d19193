package engine_test

import (
	"context"
	"encoding/json"
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
)

func (b *bench) scaling() *awsaas.Client { return awsaas.NewFromConfig(b.sim.Config()) }

// scalable registers the service from lo to hi, with what is suspended.
func (b *bench) scalable(lo, hi int32, s sluice.Suspension) {
	b.Helper()
	got(b.scaling().RegisterScalableTarget(context.Background(),
		&awsaas.RegisterScalableTargetInput{ServiceNamespace: aastypes.ServiceNamespaceEcs,
			ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
			ResourceId:        aws.String("service/prod/web"),
			MinCapacity:       aws.Int32(lo), MaxCapacity: aws.Int32(hi),
			SuspendedState: &aastypes.SuspendedState{DynamicScalingInSuspended: aws.Bool(s.In),
				DynamicScalingOutSuspended: aws.Bool(s.Out), ScheduledScalingSuspended: aws.Bool(s.Scheduled)}}))(b)
}

// tracked gives the service a policy that keeps its tasks at half of a CPU each,
// and callers who ask for percent of a task's CPU in all.
func (b *bench) tracked(percent float64) {
	b.Helper()
	got(b.scaling().PutScalingPolicy(context.Background(), &awsaas.PutScalingPolicyInput{PolicyName: aws.String("cpu"),
		PolicyType:        aastypes.PolicyTypeTargetTrackingScaling,
		ServiceNamespace:  aastypes.ServiceNamespaceEcs,
		ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
		ResourceId:        aws.String("service/prod/web"),
		TargetTrackingScalingPolicyConfiguration: &aastypes.TargetTrackingScalingPolicyConfiguration{TargetValue: aws.Float64(50), ScaleInCooldown: aws.Int32(60), ScaleOutCooldown: aws.Int32(60),
			PredefinedMetricSpecification: &aastypes.PredefinedMetricSpecification{PredefinedMetricType: aastypes.MetricTypeECSServiceAverageCPUUtilization}}}))(b)
	must(b, b.sim.World().Do(here, func(tx *world.Tx) error {
		svc, _ := tx.Services.Get("prod/web")
		tx.SetDemand(svc, percent)
		return nil
	}))
}

// targets are the scalable targets as AWS shows them, byte for byte.
func (b *bench) targets() string {
	b.Helper()
	out := got(b.scaling().DescribeScalableTargets(context.Background(),
		&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(b)
	return string(got(json.Marshal(out.ScalableTargets))(b))
}

func (b *bench) suspension() sluice.Suspension {
	b.Helper()
	s := got(b.scaling().DescribeScalableTargets(context.Background(),
		&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(
		b).ScalableTargets[0].SuspendedState
	return sluice.Suspension{In: *s.DynamicScalingInSuspended, Out: *s.DynamicScalingOutSuspended,
		Scheduled: *s.ScheduledScalingSuspended}
}

const suspends = "suspendAutoScaling: true\n"

// partly is how scaling is before: somebody suspended a part of it on purpose.
var partly = sluice.Suspension{Scheduled: true}

func (b *bench) asBefore(was string) {
	b.Helper()
	if now := b.targets(); now != was {
		b.Errorf("the scalable targets are %s; they were %s\n%s", now, was, b.log())
	}
	if strings.Contains(b.state(), plan.ScalingTag) {
		b.Errorf("the note on the service is left: %s", b.state())
	}
}

func TestScalingIsSuspendedWhileADeploymentRunsAndGivenBack(t *testing.T) {
	for name, c := range map[string]struct {
		image   string
		outcome sluice.Outcome
	}{"success": {"sim/web:v2", sluice.Succeeded}, "rollback": {"sim/web:v2?crash-after=2s", sluice.RolledBack}} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.scalable(2, 8, partly)
				was := b.targets()
				seen := map[sluice.Suspension]bool{}
				b.engine.OnEvent = func(e sluice.Envelope) {
					b.events = append(b.events, e)
					if e.Kind == "capacityChanged" || e.Kind == "trafficShifted" {
						seen[b.suspension()] = true
					}
				}
				end := b.deploy(b.files(c.image, suspends+canaryPipeline))
				if end.Outcome != c.outcome || len(seen) != 1 || !seen[sluice.AllSuspended] {
					b.Fatalf("%s: %s; meanwhile %v\n%s", end.Outcome, end.Cause, seen, b.log())
				}
				b.asBefore(was)
			})
		})
	}
}

// The first write after the claim suspends, the last before it is given back
// resumes.
func TestSuspensionIsTheFirstWriteAndItsReturnTheLast(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.scalable(2, 8, sluice.Suspension{})
		b.calls = nil
		b.deploy(b.files("sim/web:v2", suspends+canaryPipeline))
		var writes []string
		for _, c := range b.calls {
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

// A deployment that is left gives scaling back: nobody may come for days. Gone on
// with, it suspends again.
func TestScalingIsGivenBackWhenADeploymentIsLeft(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.scalable(2, 8, partly)
		was := b.targets()
		id := b.start(b.files("sim/web:v2", suspends+held(2)))
		ctx, cancel := context.WithCancelCause(context.Background())
		b.clock.Go(func() {
			must(b, b.clock.Sleep(context.Background(), 30*time.Second))
			cancel(fmt.Errorf("interrupt"))
		})
		if end := got(b.engine.Run(ctx, id, engine.Options{}))(b); end.State != journal.Paused {
			b.Fatalf("%s", end.State)
		}
		b.asBefore(was)
		if end := got(b.engine.Run(context.Background(), id,
			engine.Options{NoWait: true}))(b); end.State != journal.Waiting {
			b.Fatalf("%s\n%s", end.State, b.log())
		}
		b.asBefore(was)
		must(b, b.engine.SendCommand(context.Background(), id, journal.Abort, 0, "ann"))
		if end := got(b.engine.Run(context.Background(), id, engine.Options{}))(b); end.Outcome != sluice.Stopped {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		b.asBefore(was)
	})
}

// While it waits for people, a deployment that was left and is gone on with holds
// scaling again.
func TestAWaitThatIsGoneOnWithSuspendsAgain(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.scalable(2, 8, sluice.Suspension{})
		was := b.targets()
		id := b.start(b.files("sim/web:v2", suspends+held(2)))
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		b.asBefore(was)
		b.clock.Go(func() {
			must(b, b.clock.Sleep(ctx, time.Minute))
			if s := b.suspension(); s != sluice.AllSuspended {
				b.Errorf("while it waits: suspended %s", s)
			}
			must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		})
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.asBefore(was)
	})
}

// Left suspended on purpose, the end gives it back all the same.
func TestScalingMayStaySuspendedIfAskedFor(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.scalable(2, 8, sluice.Suspension{})
		was := b.targets()
		p := got(b.scaled(b.files("sim/web:v2", held(2)), appfile.Scaling{Suspend: true, KeepSuspended: true}))(b)
		id := got(b.engine.Start(ctx, p, engine.TriggerManual))(b)
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if s := b.suspension(); s != sluice.AllSuspended {
			b.Errorf("left: suspended %s", s)
		}
		must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.asBefore(was)
	})
}

// scaled is the plan with what else is asked of auto scaling.
func (b *bench) scaled(files fstest.MapFS, s appfile.Scaling) (*plan.Plan, error) {
	if s.Suspend {
		files["sluice.yaml"] = &fstest.MapFile{Data: append([]byte(suspends), files["sluice.yaml"].Data...)}
	}
	return b.plan(files, mode.Options{Scaling: s})
}

// What somebody else changes meanwhile is told and stays, if it is adopted.
func TestScalingThatSomebodyElseChangesIsNotOverwritten(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.scalable(2, 8, sluice.Suspension{Out: true})
		id := b.start(b.files("sim/web:v2", "onOutsideChange: adopt\n"+suspends+strings.Replace(canaryPipeline,
			"ECS_PRIMARY_ROLLOUT}", "ECS_PRIMARY_ROLLOUT}\n    - {name: WAIT_APPROVAL}", 1)))
		b.clock.Go(func() {
			b.until("it waits", func() bool { return got(b.journal.Deployment(ctx, id))(b).State == journal.Waiting })
			b.scalable(3, 9, sluice.Suspension{In: true})
			must(b, b.engine.SendCommand(ctx, id, journal.Approve, 4, "ann"))
		})
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
		now := got(b.scaling().DescribeScalableTargets(ctx,
			&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(b).ScalableTargets[0]
		if s := b.suspension(); s != (sluice.Suspension{In: true}) || *now.MinCapacity != 3 || *now.MaxCapacity != 9 {
			b.Errorf("suspended %s, %d to %d", s, *now.MinCapacity, *now.MaxCapacity)
		}
		if !strings.Contains(b.log(), "external change of the auto scaling of prod/web") {
			b.Errorf("it is not told:\n%s", b.log())
		}
	})
}

// Bounds stay, and go back with a rollback, also one that is asked for later.
func TestBoundsStayUnlessRolledBack(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.scalable(2, 8, sluice.Suspension{In: true})
		was := b.targets()
		lo, hi := 4, 12
		p := got(b.scaled(b.files("sim/web:v2", canaryPipeline), appfile.Scaling{Suspend: true, Resume: true, Min: &lo,
			Max: &hi}))(b)
		id := got(b.engine.Start(ctx, p, engine.TriggerManual))(b)
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
		now := got(b.scaling().DescribeScalableTargets(ctx,
			&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(b).ScalableTargets[0]
		if s := b.suspension(); s != (sluice.Suspension{}) || *now.MinCapacity != 4 || *now.MaxCapacity != 12 {
			b.Errorf("suspended %s, %d to %d\n%s", s, *now.MinCapacity, *now.MaxCapacity, b.log())
		}
		must(b, b.engine.Reopen(ctx, id))
		must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", servesV1)
		b.asBefore(was)
	})
}

// Nothing but auto scaling changes: no task set is made for that.
func TestOnlyScalingChanges(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.deploy(b.files("sim/web:v2", canaryPipeline))
		b.scalable(2, 8, sluice.AllSuspended)
		before := b.state()
		lo := 3
		p := got(b.scaled(b.files("sim/web:v2", canaryPipeline), appfile.Scaling{Resume: true, Min: &lo}))(b)
		if len(p.Stages) != 1 || p.Stages[0].Name != plan.StageScaling || len(p.Changes) != 2 {
			b.Fatalf("%+v", p.Stages)
		}
		b.calls = nil
		id := got(b.engine.Start(ctx, p, engine.TriggerManual))(b)
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", before)
		if s := b.suspension(); s != (sluice.Suspension{}) || !strings.Contains(b.targets(), `"MinCapacity":3`) {
			b.Errorf("%s", b.targets())
		}
		must(b, b.engine.Reopen(ctx, id))
		must(b, b.engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", before)
		if s := b.suspension(); s != sluice.AllSuspended || !strings.Contains(b.targets(), `"MinCapacity":2`) {
			b.Errorf("after the rollback: %s", b.targets())
		}
		for _, c := range b.calls {
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
	}{"that suspends": {files: suspends}, "that does not": {}, "that adopts": {options: mode.Options{Adopt: true}},
		"that only adopts":         {options: mode.Options{Adopt: true, Only: true}},
		"that adopts and suspends": {files: suspends, options: mode.Options{Adopt: true}}} {
		t.Run(name, func(t *testing.T) { givenBackByTheNext(t, c.files, c.options) })
	}
}

func givenBackByTheNext(t *testing.T, more string, o mode.Options) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.scalable(2, 8, partly)
		was := b.targets()
		b.mortal(5, true)
		if at := b.dies(b.start(b.files("sim/web:v2", suspends+canaryPipeline))); at == "" ||
			b.suspension() != sluice.AllSuspended {
			b.Fatalf("killed %q; suspended %s", at, b.suspension())
		}
		must(b, b.clock.Sleep(ctx, time.Hour)) // its claim runs out
		must(b, b.journal.Close())
		fresh := got(journal.Open(journal.Memory, b.clock))(b)
		b.journal, b.engine.Journal = fresh, fresh
		b.mortal(-1, false)
		b.deployments = 7
		p := got(b.plan(b.files("sim/web:v2", more), o))(b)
		if !strings.Contains(strings.Join(p.Warnings, "\n"),
			"an interrupted deployment left auto scaling suspended") {
			b.Errorf("%q", p.Warnings)
		}
		id := got(b.engine.Start(ctx, p, engine.TriggerManual))(b)
		if end := got(b.engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		b.asBefore(was)
	})
}

// Somebody took the claim's tag away: nobody holds the service, and scaling is
// given back all the same.
func TestScalingIsGivenBackWithoutAClaim(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.scalable(2, 8, partly)
		was := b.targets()
		id := b.start(b.files("sim/web:v2", suspends+held(2)))
		b.clock.Go(func() {
			b.until("it waits", func() bool { return got(b.journal.Deployment(ctx, id))(b).State == journal.Waiting })
			arn := got(b.ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
				Services: []string{"web"}}))(b).Services[0].ServiceArn
			got(b.ecs.UntagResource(ctx, &awsecs.UntagResourceInput{ResourceArn: arn,
				TagKeys: []string{plan.ClaimTag}}))(b)
			must(b, b.engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		})
		if end := got(b.engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Stopped {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		b.asBefore(was)
	})
}

// What cannot be given back keeps the deployment from ending: a resume tries again.
func TestADeploymentDoesNotEndWithScalingSuspended(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		b.scalable(2, 8, sluice.Suspension{})
		was := b.targets()
		id := b.start(b.files("sim/web:v2", suspends+canaryPipeline))
		b.engine.OnEvent = func(e sluice.Envelope) {
			b.events = append(b.events, e)
			if ev, ok := e.Open().(sluice.StageEnded); ok && ev.Index == 5 {
				must(b, b.sim.Inject("throttle application-autoscaling:RegisterScalableTarget"))
			}
		}
		end, err := b.engine.Run(ctx, id, engine.Options{})
		if err == nil || end.State != journal.Paused {
			b.Fatalf("%s %v\n%s", end.State, err, b.log())
		}
		b.sim.ClearFaults()
		b.expect(got(b.engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", servesV2)
		b.asBefore(was)
	})
}

// AWS does not hold scale-in back for task sets: while both sets run, each task has
// half the work, and auto scaling takes tasks away from under the traffic.
func TestScaleInStrikesUnlessSuspended(t *testing.T) {
	slow := strings.Replace(canaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}\n",
		"    - {name: WAIT, with: {duration: 40m}}\n    - {name: ECS_PRIMARY_ROLLOUT}\n", 1)
	slow = strings.Replace(slow, "scale: 50", "scale: 100", 1)
	for name, more := range map[string]string{"left alone": "", "suspended": suspends} {
		on(t, options{}, func(b *bench) {
			b.scalable(2, 8, sluice.Suspension{})
			b.tracked(200) // four tasks at 50 percent
			was, least := b.targets(), 4
			files := b.files("sim/web:v2", more+slow)
			p := got(b.plan(files, mode.Options{}))(b)
			warned := strings.Contains(strings.Join(p.Warnings, "\n"), "may scale in while traffic shifts")
			b.clock.Go(func() {
				for range 60 {
					must(b, b.clock.Sleep(context.Background(), time.Minute))
					s := got(b.ecs.DescribeServices(context.Background(),
						&awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
							Services: []string{"web"}}))(b).Services[0]
					least = min(least, int(s.DesiredCount))
				}
			})
			if end := b.deploy(files); end.Outcome != sluice.Succeeded {
				b.Fatalf("%s: %s: %s", name, end.Outcome, end.Cause)
			}
			b.noneLost()
			if struck := least < 4; struck != (more == "") || warned != (more == "") {
				b.Errorf("%s: least desired count %d, warned %t", name, least, warned)
			}
			b.asBefore(was)
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
						b.scalable(2, 8, partly)
						was := b.targets()
						if more = b.killAndResume(n, after, b.files(c.image, suspends+canaryPipeline), c.end); more {
							b.asBefore(was)
						}
					})
				}
			})
		}
	}
}
