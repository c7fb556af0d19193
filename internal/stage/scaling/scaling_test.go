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
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// trackCPU gives the service a policy that keeps its tasks at half of a CPU each,
// and callers who ask for percent of a task's CPU in all.
func trackCPU(b *stagetest.Bench, percent float64) {
	b.Helper()
	stagetest.Got(b.AutoScaling().PutScalingPolicy(context.Background(),
		&awsaas.PutScalingPolicyInput{PolicyName: aws.String("cpu"),
			PolicyType:        aastypes.PolicyTypeTargetTrackingScaling,
			ServiceNamespace:  aastypes.ServiceNamespaceEcs,
			ScalableDimension: aastypes.ScalableDimensionECSServiceDesiredCount,
			ResourceId:        aws.String("service/prod/web"),
			TargetTrackingScalingPolicyConfiguration: &aastypes.TargetTrackingScalingPolicyConfiguration{TargetValue: aws.Float64(50), ScaleInCooldown: aws.Int32(60), ScaleOutCooldown: aws.Int32(60),
				PredefinedMetricSpecification: &aastypes.PredefinedMetricSpecification{PredefinedMetricType: aastypes.MetricTypeECSServiceAverageCPUUtilization}}}))(b)
	stagetest.Must(b, b.Sim.World().Do(stagetest.Key, func(tx *world.Tx) error {
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
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				b.Scalable(2, 8, stagetest.PartlySuspended)
				was := b.ScalableTargets()
				seen := map[sluice.Suspension]bool{}
				b.Engine.OnEvent = func(e sluice.Envelope) {
					b.Events = append(b.Events, e)
					if e.Kind == "capacityChanged" || e.Kind == "trafficShifted" {
						seen[b.Suspension()] = true
					}
				}
				end := b.Deploy(b.Files(c.image, stagetest.SuspendsScaling+stagetest.CanaryPipeline))
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
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		b.Scalable(2, 8, sluice.Suspension{})
		b.Calls = nil
		b.Deploy(b.Files("sim/web:v2", stagetest.SuspendsScaling+stagetest.CanaryPipeline))
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
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{})
		was := b.ScalableTargets()
		p := stagetest.Got(planScaled(b, b.Files("sim/web:v2", stagetest.PipelineHeldAfter(2)),
			appfile.Scaling{Suspend: true, KeepSuspended: true}))(b)
		id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if s := b.Suspension(); s != sluice.AllSuspended {
			b.Errorf("left: suspended %s", s)
		}
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
			stagetest.ServesV1)
		b.ExpectScalingAsBefore(was)
	})
}

// planScaled is the plan with what else is asked of auto scaling.
func planScaled(b *stagetest.Bench, files fstest.MapFS, s appfile.Scaling) (*plan.Plan, error) {
	if s.Suspend {
		files["sluice.yaml"] = &fstest.MapFile{Data: append([]byte(stagetest.SuspendsScaling),
			files["sluice.yaml"].Data...)}
	}
	return b.Plan(files, mode.Options{Scaling: s})
}

// What somebody else changes meanwhile is told and stays, if it is adopted.
func TestScalingThatSomebodyElseChangesIsNotOverwritten(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{Out: true})
		pipeline := strings.Replace(stagetest.CanaryPipeline, "ECS_PRIMARY_ROLLOUT}",
			"ECS_PRIMARY_ROLLOUT}\n    - {name: WAIT_APPROVAL}", 1)
		id := b.Start(b.Files("sim/web:v2", "onOutsideChange: adopt\n"+stagetest.SuspendsScaling+pipeline))
		b.Clock.Go(func() {
			b.Until("it waits", func() bool {
				return stagetest.Got(b.Journal.Deployment(ctx,
					id))(b).State == journal.Waiting
			})
			b.Scalable(3, 9, sluice.Suspension{In: true})
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Approve, 4, "ann"))
		})
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", stagetest.ServesV2)
		now := stagetest.Got(b.AutoScaling().DescribeScalableTargets(ctx,
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
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{In: true})
		was := b.ScalableTargets()
		lo, hi := 4, 12
		p := stagetest.Got(planScaled(b, b.Files("sim/web:v2", stagetest.CanaryPipeline),
			appfile.Scaling{Suspend: true, Resume: true, Min: &lo,
				Max: &hi}))(b)
		id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", stagetest.ServesV2)
		now := stagetest.Got(b.AutoScaling().DescribeScalableTargets(ctx,
			&awsaas.DescribeScalableTargetsInput{ServiceNamespace: aastypes.ServiceNamespaceEcs}))(b).ScalableTargets[0]
		if s := b.Suspension(); s != (sluice.Suspension{}) || *now.MinCapacity != 4 || *now.MaxCapacity != 12 {
			b.Errorf("suspended %s, %d to %d\n%s", s, *now.MinCapacity, *now.MaxCapacity, b.EventLog())
		}
		stagetest.Must(b, b.Engine.Reopen(ctx, id))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
			stagetest.ServesV1)
		b.ExpectScalingAsBefore(was)
	})
}

// Nothing but auto scaling changes: no task set is made for that.
func TestOnlyScalingChanges(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		b.Scalable(2, 8, sluice.AllSuspended)
		before := b.State()
		lo := 3
		p := stagetest.Got(planScaled(b, b.Files("sim/web:v2", stagetest.CanaryPipeline),
			appfile.Scaling{Resume: true, Min: &lo}))(b)
		if len(p.Stages) != 1 || p.Stages[0].Name != plan.StageScaling || len(p.Changes) != 2 {
			b.Fatalf("%+v", p.Stages)
		}
		b.Calls = nil
		id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Succeeded, "", before)
		if s := b.Suspension(); s != (sluice.Suspension{}) ||
			!strings.Contains(b.ScalableTargets(), `"MinCapacity":3`) {
			b.Errorf("%s", b.ScalableTargets())
		}
		stagetest.Must(b, b.Engine.Reopen(ctx, id))
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "", before)
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
	}{"that suspends": {files: stagetest.SuspendsScaling}, "that does not": {},
		"that adopts":              {options: mode.Options{Adopt: true}},
		"that only adopts":         {options: mode.Options{Adopt: true, Only: true}},
		"that adopts and suspends": {files: stagetest.SuspendsScaling, options: mode.Options{Adopt: true}}} {
		t.Run(name, func(t *testing.T) { givenBackByTheNext(t, c.files, c.options) })
	}
}

func givenBackByTheNext(t *testing.T, more string, o mode.Options) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.Scalable(2, 8, stagetest.PartlySuspended)
		was := b.ScalableTargets()
		b.KillAtWrite(5, true)
		if at := b.RunUntilKilled(b.Start(b.Files("sim/web:v2",
			stagetest.SuspendsScaling+stagetest.CanaryPipeline))); at == "" ||
			b.Suspension() != sluice.AllSuspended {
			b.Fatalf("killed %q; suspended %s", at, b.Suspension())
		}
		stagetest.Must(b, b.Clock.Sleep(ctx, time.Hour)) // its claim runs out
		stagetest.Must(b, b.Journal.Close())
		fresh := stagetest.Got(journal.Open(journal.Memory, b.Clock))(b)
		b.Journal, b.Engine.Journal = fresh, fresh
		b.KillAtWrite(-1, false)
		b.Deployments = 7
		p := stagetest.Got(b.Plan(b.Files("sim/web:v2", more), o))(b)
		if !strings.Contains(strings.Join(p.Warnings, "\n"),
			"an interrupted deployment left auto scaling suspended") {
			b.Errorf("%q", p.Warnings)
		}
		id := stagetest.Got(b.Engine.Start(ctx, p, engine.TriggerManual))(b)
		if end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Succeeded {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		b.ExpectScalingAsBefore(was)
	})
}

// serviceTag returns a tag of the service; empty: it has none.
func serviceTag(b *stagetest.Bench, key string) string {
	b.Helper()
	out := stagetest.Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{
		Cluster: aws.String("prod"), Services: []string{"web"}, Include: []ecstypes.ServiceField{"TAGS"}}))(b)
	for _, t := range out.Services[0].Tags {
		if aws.ToString(t.Key) == key {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

// Another tool removes the tag with the former auto scaling, alone or with the claim. Sluice writes it again, so that it
// serves a deployment without this journal, and at the end auto scaling is as before.
func TestRemovedTagOfScalingIsWrittenAgain(t *testing.T) {
	for name, c := range map[string]struct {
		image   string
		keys    []string
		outcome sluice.Outcome
	}{"alone": {"sim/web:v2", []string{plan.ScalingTag}, sluice.Succeeded},
		"with the claim": {"sim/web:v2", []string{plan.ScalingTag, plan.ClaimTag}, sluice.Succeeded},
		"before a failure": {"sim/web:v2?crash-after=2s", []string{plan.ScalingTag, plan.ClaimTag},
			sluice.RolledBack}} {
		t.Run(name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				b.Scalable(2, 8, stagetest.PartlySuspended)
				was, tag, again := b.ScalableTargets(), "", ""
				b.AfterWrite("ecs:CreateTaskSet", time.Second, func() {
					tag = serviceTag(b, plan.ScalingTag)
					untagService(b, c.keys...)
				})
				b.AfterWrite("elasticloadbalancing:ModifyListener", time.Second, func() {
					again = serviceTag(b, plan.ScalingTag)
				})
				end := b.Deploy(b.Files(c.image, stagetest.SuspendsScaling+stagetest.CanaryPipeline))
				if end.Outcome != c.outcome || tag == "" || c.outcome == sluice.Succeeded && again != tag {
					b.Errorf("%s: %s; tag %q, then %q\n%s", end.Outcome, end.Cause, tag, again, b.EventLog())
				}
				b.ExpectScalingAsBefore(was)
				if left := serviceTag(b, plan.ScalingTag) + serviceTag(b, plan.ClaimTag); left != "" {
					b.Errorf("left over: %s", left)
				}
			})
		})
	}
}

// Somebody took the claim's tag away: nobody holds the service, and scaling is
// given back all the same.
func TestScalingIsGivenBackWithoutAClaim(t *testing.T) {
	abortAfter(t, func(b *stagetest.Bench) { untagService(b, plan.ClaimTag) })
}

// Another deployment took the claim, promoted a version, gave auto scaling back and removed its note. Nothing is left to
// do: without a claim sluice writes only what differs.
func TestScalingThatSomebodyElseGaveBack(t *testing.T) {
	calls := abortAfter(t, func(b *stagetest.Bench) {
		b.PromoteAnother("slc-other/3 ECS_PRIMARY_ROLLOUT/create task set")
		b.Scalable(2, 8, stagetest.PartlySuspended)
		untagService(b, plan.ClaimTag, plan.ScalingTag)
	})
	for _, c := range calls {
		if c.Write {
			t.Errorf("it wrote %s", c.Operation)
		}
	}
}

// abortAfter aborts a deployment that has suspended auto scaling, after others did something while it waited. It requires
// that auto scaling is as before, and returns the calls that followed.
func abortAfter(t *testing.T, do func(*stagetest.Bench)) (calls []account.Call) {
	t.Helper()
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.Scalable(2, 8, stagetest.PartlySuspended)
		was := b.ScalableTargets()
		id := b.Start(b.Files("sim/web:v2", stagetest.SuspendsScaling+stagetest.PipelineHeldAfter(2)))
		b.Clock.Go(func() {
			b.Until("it waits", func() bool {
				return stagetest.Got(b.Journal.Deployment(ctx, id))(b).State == journal.Waiting
			})
			do(b)
			b.Calls = nil
			stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Abort, 0, "ann"))
		})
		if end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b); end.Outcome != sluice.Stopped {
			b.Fatalf("%s: %s", end.Outcome, end.Cause)
		}
		b.ExpectScalingAsBefore(was)
		calls = b.Calls
	})
	return calls
}

// untagService removes tags of the service.
func untagService(b *stagetest.Bench, keys ...string) {
	b.Helper()
	stagetest.Got(b.ECS.UntagResource(context.Background(), &awsecs.UntagResourceInput{ResourceArn: b.ServiceARN(),
		TagKeys: keys}))(b)
}

// Two that claim the service at the same moment both lose it. Another deployment that wrote its claim, and released it
// again without a write, restores nothing: the first one does. While the other claim stays, auto scaling is left to it.
func TestScalingIsGivenBackAfterBothLostTheClaim(t *testing.T) {
	for _, released := range []bool{true, false} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			b.Scalable(2, 8, stagetest.PartlySuspended)
			was := b.ScalableTargets()
			ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2", stagetest.SuspendsScaling+stagetest.WatchedPipeline)))
			b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
			stagetest.Got(b.ECS.TagResource(context.Background(), &awsecs.TagResourceInput{ResourceArn: b.ServiceARN(),
				Tags: []ecstypes.Tag{{Key: aws.String(plan.ClaimTag), Value: aws.String("slc-other 2100-01-01T01:00:00Z")}}}))(b)
			b.Until("it notices", func() bool { return strings.Contains(b.EventLog(), `"outcome":"superseded"`) })
			if released {
				untagService(b, plan.ClaimTag)
			}
			b.Until("it is over", func() bool { return ran.Done })
			if stagetest.Must(b, ran.Err); ran.Outcome != sluice.Superseded {
				b.Errorf("outcome %s (%s), want superseded", ran.Outcome, ran.Cause)
			}
			told := strings.Contains(b.EventLog(), "is not restored: ")
			if released {
				b.ExpectScalingAsBefore(was)
			} else if s := b.Suspension(); s != sluice.AllSuspended || !told {
				b.Errorf("suspended is %s, want all as the other deployment found it; told: %t", s, told)
			}
			if released && told {
				b.Errorf("it warns although auto scaling is restored\n%s", b.EventLog())
			}
		})
	}
}

// Another deployment suspends auto scaling after the service was read and before auto scaling is. Its tag is
// read again, so that auto scaling is given back as it was before both.
func TestSuspensionThatIsNewerThanTheReadOfItsTag(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.Scalable(2, 8, stagetest.PartlySuspended)
		was := b.ScalableTargets()
		id, suspended := b.Start(b.Files("sim/web:v2", stagetest.SuspendsScaling+stagetest.CanaryPipeline)), false
		b.WatchAttempts(&stagetest.Attempts{Before: func(operation string) error {
			if operation != "DescribeScalableTargets" || suspended {
				return nil
			}
			suspended = true
			stagetest.Got(b.ECS.TagResource(ctx, &awsecs.TagResourceInput{ResourceArn: b.ServiceARN(),
				Tags: []ecstypes.Tag{{Key: aws.String(plan.ScalingTag), Value: aws.String(sluice.Suspensions([]sluice.Scalable{
					{Dimension: "ecs:service:DesiredCount", Min: 2, Max: 8, Suspended: stagetest.PartlySuspended}}))}}}))(b)
			b.Scalable(2, 8, sluice.AllSuspended)
			return nil
		}})
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b)
		if !suspended || end.Outcome != sluice.Succeeded {
			b.Errorf("%t %s: %s", suspended, end.Outcome, end.Cause)
		}
		b.ExpectScalingAsBefore(was)
	})
}

// AWS does not hold scale-in back for task sets: while both sets run, each task has
// half the work, and auto scaling takes tasks away from under the traffic.
func TestScaleInStrikesUnlessSuspended(t *testing.T) {
	slow := strings.Replace(stagetest.CanaryPipeline, "    - {name: ECS_PRIMARY_ROLLOUT}\n",
		"    - {name: WAIT, with: {duration: 40m}}\n    - {name: ECS_PRIMARY_ROLLOUT}\n", 1)
	slow = strings.Replace(slow, "scale: 50", "scale: 100", 1)
	for name, more := range map[string]string{"left alone": "", "suspended": stagetest.SuspendsScaling} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			b.Scalable(2, 8, sluice.Suspension{})
			trackCPU(b, 200) // four tasks at 50 percent
			was, least := b.ScalableTargets(), 4
			files := b.Files("sim/web:v2", more+slow)
			p := stagetest.Got(b.Plan(files, mode.Options{}))(b)
			warned := strings.Contains(strings.Join(p.Warnings, "\n"), "may scale in while traffic shifts")
			b.Clock.Go(func() {
				for range 60 {
					stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
					s := stagetest.Got(b.ECS.DescribeServices(context.Background(),
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
		"rollback": {"sim/web:v2?crash-after=2s", "rolled back: " + stagetest.ServesV1},
	} {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/after=%v", name, after), func(t *testing.T) {
				t.Parallel()
				for n, more := 1, true; more; n++ {
					stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
						b.Scalable(2, 8, stagetest.PartlySuspended)
						was := b.ScalableTargets()
						if more = b.KillAndResume(n, after,
							b.Files(c.image, stagetest.SuspendsScaling+stagetest.CanaryPipeline),
							c.end); more {
							b.ExpectScalingAsBefore(was)
						}
					})
				}
			})
		}
	}
}
