package taskset_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"
	awselb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// together reports whether callers got two versions at the same time.
func together(r loadgen.Report, x, y string) bool {
	return slices.ContainsFunc(r.History, func(c loadgen.ShareChange) bool {
		has := func(version string) bool {
			return slices.ContainsFunc(c.Shares, func(s loadgen.VersionShare) bool {
				return s.Version == version &&
					s.Share > 0
			})
		}
		return has(x) && has(y)
	})
}

// answered is how many requests a version answered.
func answered(r loadgen.Report, version string) (n float64) {
	for _, l := range r.Lines {
		if l.Version == version {
			n += l.Count
		}
	}
	return n
}

// What an earlier deployment left is listed in the plan, and removed before the next
// canary is started: callers never get both.
func TestLeftoverCanaryIsRemovedBeforeTheNextOne(t *testing.T) {
	next := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout,
		stagetest.ShiftBack, stagetest.CleanCanary)
	for _, c := range []struct{ name, left string }{
		{"without requests", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.Approval, stagetest.ShiftFifth,
			stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary)},
		{"with requests", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
			stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary)},
	} {
		t.Run("task sets/"+c.name, func(t *testing.T) {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				b.AbortAtApproval(b.Files("sim/web:v2", c.left))
				expectRemovalFirst(b, b.Files("sim/web:v3", next), c.left)
				b.ExpectEnd(b.Deploy(b.Files("sim/web:v3", next)), sluice.Succeeded, "",
					"PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
				expectNeverTogether(b, c.name == "without requests")
			})
		})
		t.Run("services/"+c.name, func(t *testing.T) {
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				b.AbortAtApproval(b.CanaryServiceFiles("sim/web:v2", c.left, stagetest.Breaker))
				expectRemovalFirst(b, b.CanaryServiceFiles("sim/web:v3", next, stagetest.Breaker), c.left)
				b.ExpectCanaryServiceGone(b.Deploy(b.CanaryServiceFiles("sim/web:v3", next, stagetest.Breaker)),
					sluice.Succeeded, "", strings.ReplaceAll(stagetest.RolledV2, "v2", "v3"))
				expectNeverTogether(b, c.name == "without requests")
			})
		})
		for _, controller := range []string{"EXTERNAL", "ECS"} {
			t.Run("by name/"+controller+"/"+c.name, func(t *testing.T) {
				o := stagetest.Named{Controller: controller, Check: 5e9, Image: "?term=80s"}
				stagetest.RunByName(t, o, func(b *stagetest.NameBench) {
					b.AbortAtApproval(b.NamedFiles("sim/api:v2?term=80s", c.left))
					p := stagetest.Got(b.Plan(b.NamedFiles("sim/api:v3?term=80s", stagetest.NamedBlueGreen),
						mode.Options{}))(b)
					if p.Stages[0].Name != "ECS_ADOPT" {
						t.Errorf("the first stage is %s", p.Stages[0].Name)
					}
					end := stagetest.Got(b.Engine.Run(context.Background(),
						stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b),
						engine.Options{}))(b)
					if end.Outcome != sluice.Succeeded || b.Found() != "4 primary, 0 canary" {
						t.Errorf("%s %s; %s\n%s", end.Outcome, end.Cause, b.Found(), b.EventLog())
					}
					b.ExpectNobodyLost()
				})
			})
		}
	}
}

// A person leads all callers to a canary that was left, with a rule in front of the one that deployments write: the
// next deployment would remove what serves them, and is refused.
func TestLeftoverCanaryThatServesAllStays(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		files := b.Files("sim/web:v3", stagetest.CanaryPipeline)
		b.AbortAtApproval(b.Files("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.Approval,
			stagetest.PrimaryRollout, stagetest.CleanCanary)))
		rule := b.AddRule(5, "/*", stagetest.ForwardTo(b.Canary))
		b.Sleep(time.Minute)
		_, err := b.Plan(files, mode.Options{})
		if err == nil || !strings.Contains(err.Error(), "rule 5 of port 80, which forwards to web-canary") ||
			!strings.Contains(sluice.NextStep(err), rule) {
			b.Errorf("%v, want a refusal for rule 5", err)
		}
		stagetest.Got(b.ELB.DeleteRule(context.Background(), &awselb.DeleteRuleInput{RuleArn: &rule}))(b)
		b.ExpectEnd(b.Deploy(files), sluice.Succeeded, "", "PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
	})
}

// expectRemovalFirst checks that a plan begins by removing what was left, and says so.
func expectRemovalFirst(b *stagetest.Bench, files fstest.MapFS, left string) {
	b.Helper()
	p := stagetest.Got(b.Plan(files, mode.Options{}))(b)
	if p.Stages[0].Name != "ECS_ADOPT" {
		b.Errorf("the first stage is %s", p.Stages[0].Name)
	}
	var writes, changes []string
	for _, w := range p.Stages[0].Writes {
		writes = append(writes, w.String())
	}
	for _, c := range p.Changes {
		changes = append(changes, c.Path)
	}
	if text := strings.Join(writes, ", "); !strings.Contains(text, "ecs:DeleteTaskSet") &&
		!strings.Contains(text, "ecs:DeleteService") {
		b.Errorf("its writes: %s", text)
	}
	if text := strings.Join(changes, ", "); !strings.Contains(text, "task set ecs-svc/") &&
		!strings.Contains(text, "canary service web-canary") {
		b.Errorf("the changes: %s", text)
	}
	if text := strings.Join(p.Warnings, "\n"); !strings.Contains(text, "left by an earlier deployment") {
		b.Errorf("warnings: %s", text)
	}
}

func expectNeverTogether(b *stagetest.Bench, unseen bool) {
	b.Helper()
	r := b.Tally.Report()
	if together(r, "v2", "v3") {
		b.Errorf("callers got v2, which was left, and v3 at the same time\n%s", b.EventLog())
	}
	if n := answered(r, "v2"); unseen && n > 0 {
		b.Errorf("v2, which was left, answered %.0f requests\n%s", n, b.EventLog())
	}
	b.ExpectNoneLost()
}

// Killed while it removes what was left, or rolled back after it, a deployment leaves
// the service as it was, without what was left.
func TestRollbackAfterALeftoverWasRemoved(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.AbortAtApproval(b.Files("sim/web:v2", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
			stagetest.Approval, stagetest.PrimaryRollout,
			stagetest.ShiftBack, stagetest.CleanCanary)))
		id := b.Start(b.Files("sim/web:v3", stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
			stagetest.Approval, stagetest.PrimaryRollout, stagetest.ShiftBack,
			stagetest.CleanCanary)))
		stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		stagetest.Must(b, b.Engine.SendCommand(ctx, id, journal.Rollback, 0, "ann"))
		b.ExpectEnd(stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.RolledBack, "",
			stagetest.ServesV1)
		b.ExpectNoneLost()
	})
	for _, after := range []bool{false, true} {
		for n, more := 1, true; more; n++ {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				b.AbortAtApproval(b.Files("sim/web:v2",
					stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.Approval,
						stagetest.PrimaryRollout,
						stagetest.ShiftBack, stagetest.CleanCanary)))
				id := b.Start(b.Files("sim/web:v3", stagetest.CanaryPipeline))
				g := b.KillAtWrite(n, after)
				at := b.RunUntilKilled(id)
				g.Left = -1
				if more = at != ""; !more {
					return
				}
				b.ExpectEnd(stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b),
					sluice.Succeeded, "",
					"PRIMARY sim/web:v3 100% 4 running; primary 100 canary 0")
				b.ExpectNoneLost()
				if more = !b.Failed(); !more {
					b.Logf("killed at %s (write %d)", at, n)
				}
			})
		}
	}
}

// createForeignSet makes a task set of somebody else's in a group.
func createForeignSet(b *stagetest.Bench, image, group, externalID string) string {
	b.Helper()
	ctx := context.Background()
	td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, image)))(b)
	in := &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"), Service: aws.String("web"),
		TaskDefinition: td.TaskDefinition.TaskDefinitionArn,
		LaunchType:     ecstypes.LaunchTypeFargate, NetworkConfiguration: b.Network(),
		Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 50}}
	if externalID != "" {
		in.ExternalId = aws.String(externalID)
	}
	if group != "" {
		in.LoadBalancers = []ecstypes.LoadBalancer{{TargetGroupArn: aws.String(group), ContainerName: aws.String("web"),
			ContainerPort: aws.Int32(8080)}}
	}
	set := stagetest.Got(b.ECS.CreateTaskSet(ctx, in))(b).TaskSet
	b.Until("the task set runs", func() bool {
		return strings.Contains(b.State(), fmt.Sprintf("ACTIVE %s 50%% 2 running", image))
	})
	return *set.Id
}

// A task set of others that gets requests stops every deployment before anything is
// written. The file can let it stay, or have it removed.
func TestTaskSetOfOthersInOurGroups(t *testing.T) {
	for _, group := range []string{"primary", "canary"} {
		for _, pipeline := range []string{stagetest.CanaryPipeline, ""} {
			in := func(t *testing.T, key string, f func(*stagetest.Bench, fstest.MapFS)) {
				t.Run(fmt.Sprintf("%s/%v/%s", group, pipeline != "", key), func(t *testing.T) {
					stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
						arn := map[string]string{"primary": b.Primary, "canary": b.Canary}[group]
						createForeignSet(b, "sim/web:v9", arn, "other-tool/1")
						files := b.Files("sim/web:v2", pipeline)
						if key != "" {
							files = stagetest.AddLines(files, "sluice.yaml", "\nonOtherTargets: "+key+"\n")
						}
						b.Calls = nil
						f(b, files)
						b.ExpectNoneLost()
					})
				})
			}
			in(t, "", func(b *stagetest.Bench, files fstest.MapFS) {
				_, err := b.Plan(files, mode.Options{})
				if sluice.KindOf(err) != sluice.Conflict ||
					!strings.Contains(err.Error(), "sluice did not create it") ||
					!strings.Contains(sluice.NextStep(err), "onOtherTargets") {
					b.Errorf("%v; next: %s", err, sluice.NextStep(err))
				}
				for _, c := range b.Calls {
					if c.Write {
						b.Errorf("%s was written", c.Operation)
					}
				}
			})
			in(t, "allow", func(b *stagetest.Bench, files fstest.MapFS) {
				b.ExpectEnd(b.Deploy(files), sluice.Succeeded, "",
					"ACTIVE sim/web:v9 50% 2 running; PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0")
			})
			in(t, "remove", func(b *stagetest.Bench, files fstest.MapFS) {
				b.ExpectEnd(b.Deploy(files), sluice.Succeeded, "", stagetest.ServesV2)
			})
		}
	}
}

// A task set of others outside our groups gets none of our requests: no deployment
// touches it, ECS_SYNC neither.
func TestTaskSetOfOthersOutsideOurGroupsSurvives(t *testing.T) {
	for name, pipeline := range map[string]string{"quick sync": "", "canary": stagetest.CanaryPipeline} {
		for _, key := range []string{"stop", "remove"} {
			t.Run(name+"/"+key, func(t *testing.T) {
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					createForeignSet(b, "sim/web:v9", "", "other-tool/1")
					files := stagetest.AddLines(b.Files("sim/web:v2", pipeline), "sluice.yaml",
						"\nonOtherTargets: "+key+"\n")
					b.ExpectEnd(b.Deploy(files), sluice.Succeeded, "",
						"ACTIVE sim/web:v9 50% 2 running; PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0")
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// A target that is no task of the service gets requests too: it stops a deployment.
func TestTargetOfOthersInOurGroups(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		stagetest.Got(b.ELB.RegisterTargets(ctx, &awselb.RegisterTargetsInput{TargetGroupArn: aws.String(b.Canary),
			Targets: []elbtypes.TargetDescription{{Id: aws.String("10.0.0.250"), Port: aws.Int32(8080),
				AvailabilityZone: aws.String("all")}}}))(b)
		_, err := b.Plan(b.Files("sim/web:v2", stagetest.CanaryPipeline), mode.Options{})
		if sluice.KindOf(err) != sluice.Conflict || !strings.Contains(err.Error(), "10.0.0.250 in web-canary") {
			b.Errorf("%v", err)
		}
		if _, err := b.Plan(stagetest.AddLines(b.Files("sim/web:v2", stagetest.CanaryPipeline), "sluice.yaml",
			"\nonOtherTargets: allow\n"),
			mode.Options{}); err != nil {
			b.Error(err)
		}
	})
}
