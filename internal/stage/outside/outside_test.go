package outside_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

func deleteTaskSet(b *stagetest.Bench, primary bool) {
	b.Helper()
	stagetest.Got(b.ECS.DeleteTaskSet(context.Background(), &awsecs.DeleteTaskSetInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), TaskSet: b.TaskSetID(primary), Force: aws.Bool(true)}))(b)
}

func setDesiredCount(b *stagetest.Bench, n int32) {
	b.Helper()
	stagetest.Got(b.ECS.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
		Service: aws.String("web"), DesiredCount: aws.Int32(n)}))(b)
}

// cell is what becomes of a deployment under one policy.
type cell struct {
	outcome sluice.Outcome
	says    string // in the events
	state   string
}

// Each object that somebody else may change, under each policy: the table of
// docs/reference/external-changes.md.
func TestOutsideChange(t *testing.T) {
	const six = "PRIMARY sim/web:v2 100% 6 running; primary 100 canary 0"
	back := func(says string) cell { return cell{sluice.RolledBack, says, stagetest.ServesV1} }
	on2 := func(says string) cell { return cell{sluice.Succeeded, says, stagetest.ServesV2} }
	for name, c := range map[string]struct {
		do                    func(*stagetest.Bench)
		file, lines           string // added to the application
		stop, reassert, adopt cell
		loses                 bool // what was done loses requests itself
	}{
		"a rule is put back": {do: func(b *stagetest.Bench) { b.SetRule(100, 0) },
			stop: back("another process or person edited the rule"), reassert: on2("sluice writes the rule again"),
			adopt: on2("a rollback returns to it")},
		"a rule gets other weights": {do: func(b *stagetest.Bench) { b.SetRule(70, 30) },
			stop: cell{sluice.Failed, "an external change of the",
				"ACTIVE sim/web:v2 50% 2 running; PRIMARY sim/web:v1 100% 4 running; primary 70 canary 30"},
			reassert: on2("sluice writes the rule again"), adopt: on2("a rollback returns to it")},
		"a rule loses the canary group": {do: func(b *stagetest.Bench) { b.SetRule(100, -1) },
			stop: cell{sluice.RolledBack, "another process or person edited the rule",
				"PRIMARY sim/web:v1 100% 4 running; primary 1"},
			reassert: on2("sluice writes the rule again"), adopt: cell{sluice.Succeeded, "a rollback returns to it",
				"PRIMARY sim/web:v2 100% 4 running; primary 1"}},
		"the canary is scaled": {do: func(b *stagetest.Bench) { b.ScaleTaskSet(false, 25) },
			stop: back("scaled from 50% to 25%"), reassert: on2("sluice reverts it"), adopt: on2("sluice keeps it")},
		"the canary is scaled to nothing": {do: func(b *stagetest.Bench) { b.ScaleTaskSet(false, 0) }, loses: true,
			stop: back("scaled from 50% to 0%"), reassert: on2("sluice reverts it"), adopt: on2("sluice keeps it")},
		"the canary is deleted": {do: func(b *stagetest.Bench) { deleteTaskSet(b, false) }, loses: true,
			stop: back("task set of canary was deleted"), reassert: on2("sluice reverts it"),
			adopt: on2("sluice keeps it")},
		"the canary is promoted": {do: func(b *stagetest.Bench) { b.PromoteCanary() },
			stop: back("was made PRIMARY"), reassert: on2("sluice reverts it"), adopt: on2("sluice keeps it")},
		"what serves is scaled": {do: func(b *stagetest.Bench) { b.ScaleTaskSet(true, 50) },
			stop: back("scaled from 100% to 50%"), reassert: on2("sluice reverts it"), adopt: on2("sluice keeps it")},
		"what serves is deleted": {do: func(b *stagetest.Bench) { b.PromoteCanary(); deleteTaskSet(b, false) },
			loses: true,
			stop:  back("was deleted"), reassert: back("was deleted"), adopt: back("was deleted")},
		"the desired count, which the file gives": {do: func(b *stagetest.Bench) { setDesiredCount(b, 6) },
			file:  "servicedef.yaml",
			lines: "desiredCount: 4\n",
			stop: cell{sluice.RolledBack, "the desired count was set from 4 to 6",
				"PRIMARY sim/web:v1 100% 6 running; primary 100 canary 0"},
			reassert: on2("sluice reverts it"), adopt: cell{sluice.Succeeded, "sluice keeps it", six}},
		"the desired count, which others set": {do: func(b *stagetest.Bench) { setDesiredCount(b, 6) },
			stop: cell{sluice.Succeeded, "", six}, reassert: cell{sluice.Succeeded, "", six},
			adopt: cell{sluice.Succeeded, "", six}},
	} {
		for policy, want := range map[sluice.OnOutside]cell{sluice.StopOnChange: c.stop,
			sluice.ReassertChange: c.reassert, sluice.AdoptChange: c.adopt} {
			t.Run(name+"/"+string(policy), func(t *testing.T) {
				t.Parallel()
				stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
					ctx := context.Background()
					files := stagetest.AddLines(b.Files("sim/web:v2", stagetest.WatchedPipeline), "sluice.yaml",
						"onOutsideChange: "+string(policy)+"\n")
					if c.file != "" {
						stagetest.AddLines(files, c.file, c.lines)
					}
					ran := b.RunBeside(b.Engine, b.Start(files))
					b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
					stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
					did := b.Clock.Now()
					c.do(b)
					b.Until("it is over", func() bool { return ran.Done })
					stagetest.Must(b, ran.Err)
					b.ExpectEnd(ran.RunResult, want.outcome, "", want.state)
					if !strings.Contains(b.EventLog(), want.says) {
						b.Errorf("nobody is told %q\n%s", want.says, b.EventLog())
					}
					if want.outcome == sluice.RolledBack && ran.RunResult.Deployment.Ended.Sub(did) > 8*time.Minute {
						b.Errorf("it was noticed %s later, after the wait\n%s", ran.RunResult.Deployment.Ended.Sub(did),
							b.EventLog())
					}
					if !c.loses {
						b.ExpectNoneLost()
					}
				})
			})
		}
	}
}

// A service that somebody deletes is gone under any policy, and noticed during the
// wait.
func TestServiceDeletedDuringAWait(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ran := b.RunBeside(b.Engine, b.Start(stagetest.AddLines(b.Files("sim/web:v2", stagetest.WatchedPipeline),
			"sluice.yaml",
			"onOutsideChange: reassert\n")))
		b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
		began := b.Clock.Now()
		stagetest.Got(b.ECS.DeleteService(context.Background(), &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), Force: aws.Bool(true)}))(b)
		b.Until("it is over", func() bool { return ran.Done })
		if ran.Outcome != sluice.Gone || b.Clock.Now().Sub(began) > 2*time.Minute {
			b.Errorf("%s: %s, after %s\n%s", ran.Outcome, ran.Cause, b.Clock.Now().Sub(began), b.EventLog())
		}
	})
}

// A version that is healthy first and fails while time passes is taken back before
// the wait is over, with the reason.
func TestVersionThatFailsDuringAWaitIsTakenBack(t *testing.T) {
	approval := strings.Replace(stagetest.WatchedPipeline, "{name: WAIT, with: {duration: 10m}}",
		"{name: WAIT_APPROVAL}", 1)
	for name, c := range map[string]struct{ image, pipeline, cause string }{
		"unhealthy":            {"sim/web:v2?unhealthy-after=60s", stagetest.WatchedPipeline, "Health checks failed"},
		"crashes":              {"sim/web:v2?crash-after=70s&exit=3", stagetest.WatchedPipeline, "exit code 3"},
		"out of memory":        {"sim/web:v2?oom-after=70s", stagetest.WatchedPipeline, "OutOfMemoryError"},
		"awaiting an approval": {"sim/web:v2?unhealthy-after=60s", approval, "Health checks failed"},
		"before it has traffic": {"sim/web:v2?crash-after=70s&exit=3",
			strings.Replace(stagetest.WatchedPipeline, "    - {name: ECS_TRAFFIC_ROUTING, with: {canary: 10}}\n", "",
				1),
			"exit code 3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				ran := b.RunBeside(b.Engine, b.Start(b.Files(c.image, c.pipeline)))
				b.Until("it is over", func() bool { return ran.Done })
				b.ExpectEnd(ran.RunResult, sluice.RolledBack, c.cause, stagetest.ServesV1)
				if strings.Contains(b.EventLog(), "ECS_PRIMARY_ROLLOUT] stageStarted") {
					b.Errorf("it came past the wait\n%s", b.EventLog())
				}
			})
		})
	}
}

// One task that falls and comes back is no failure, and the wait does not pass
// while it is missing.
func TestTaskLostDuringAWaitIsWaitedFor(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2",
			strings.Replace(stagetest.WatchedPipeline, "10m", "2m", 1))))
		b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "2m0s to pass") })
		stagetest.Must(b, b.Clock.Sleep(context.Background(), 110*time.Second))
		tasks := stagetest.Got(b.ECS.ListTasks(context.Background(), &awsecs.ListTasksInput{Cluster: aws.String("prod"),
			StartedBy: b.TaskSetID(false)}))(b)
		stagetest.Got(b.ECS.StopTask(context.Background(), &awsecs.StopTaskInput{Cluster: aws.String("prod"),
			Task: aws.String(tasks.TaskArns[0])}))(b)
		b.Until("it is over", func() bool { return ran.Done })
		b.ExpectEnd(ran.RunResult, sluice.Succeeded, "", stagetest.ServesV2)
		if !strings.Contains(b.EventLog(), "the serving version to be healthy again") {
			b.Errorf("it did not wait\n%s", b.EventLog())
		}
	})
}

// While a long wait lasts nothing is read more often than it helps, and the claim
// is kept.
func TestWaitReadsLittle(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		ran := b.RunBeside(b.Engine, b.Start(b.Files("sim/web:v2",
			strings.Replace(stagetest.WatchedPipeline, "10m", "2h", 1))))
		b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "2h0m0s to pass") })
		stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Minute))
		b.Calls = nil
		stagetest.Must(b, b.Clock.Sleep(ctx, time.Hour))
		if n := len(b.Calls); n < 3*180 || n > 5*180 {
			b.Errorf("%d calls in an hour", n)
		}
		if ran.Done || !strings.Contains(b.State(), "tag sluice:deployment") {
			b.Errorf("%s: %s", ran.Outcome, ran.Cause)
		}
		stagetest.Must(b, b.Engine.SendCommand(ctx, "slc-0001", journal.Rollback, 0, "ann"))
		b.Until("it is over", func() bool { return ran.Done })
		b.ExpectEnd(ran.RunResult, sluice.RolledBack, "", stagetest.ServesV1)
	})
}

// A rolling service is watched while time passes, too.
func TestRollingServiceIsWatchedDuringAWait(t *testing.T) {
	const waits = "pipeline: {stages: [{name: ECS_SYNC}, {name: WAIT, with: {duration: 10m}}]}\n"
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ran := b.RunBeside(b.Engine, b.Start(stagetest.AddLines(
			b.RollingFiles("sim/web:v2?unhealthy-after=90s", stagetest.Breaker), "sluice.yaml", waits)))
		b.Until("it is over", func() bool { return ran.Done })
		if ran.Outcome != sluice.RolledBack ||
			!strings.HasSuffix(b.RollingState(), "PRIMARY sim/web:v1 COMPLETED 4 running") {
			b.Errorf("%s: %s; %s\n%s", ran.Outcome, ran.Cause, b.RollingState(), b.EventLog())
		}
	})
}

// Somebody else deploys a service while ECS rolls it for us.
func TestRollingServiceUpdatedByOthers(t *testing.T) {
	for policy, want := range map[sluice.OnOutside]struct {
		outcome sluice.Outcome
		state   string
	}{
		sluice.StopOnChange:   {sluice.Superseded, "PRIMARY sim/web:v3 COMPLETED 4 running"},
		sluice.ReassertChange: {sluice.Succeeded, stagetest.RolledV2},
		sluice.AdoptChange:    {sluice.Succeeded, "PRIMARY sim/web:v3 COMPLETED 4 running"},
	} {
		for name, more := range map[string]string{"while it rolls": "",
			"in a wait": "pipeline: {stages: [{name: ECS_SYNC}, {name: WAIT, with: {duration: 10m}}]}\n"} {
			t.Run(string(policy)+"/"+name, func(t *testing.T) {
				t.Parallel()
				stagetest.RunRolling(t, func(b *stagetest.Bench) {
					ctx := context.Background()
					files := stagetest.AddLines(b.RollingFiles("sim/web:v2", stagetest.Breaker), "sluice.yaml",
						more+"onOutsideChange: "+string(policy)+"\n")
					ran := b.RunBeside(b.Engine, b.Start(files))
					if more == "" {
						stagetest.Must(b, b.Clock.Sleep(ctx, 30*time.Second))
					} else {
						b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
						stagetest.Must(b, b.Clock.Sleep(ctx, time.Minute))
					}
					td := stagetest.Got(b.ECS.RegisterTaskDefinition(ctx, stagetest.TaskDefinition(b, "sim/web:v3")))(b)
					stagetest.Got(b.ECS.UpdateService(ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
						Service: aws.String("web"), TaskDefinition: td.TaskDefinition.TaskDefinitionArn}))(b)
					b.Until("it is over", func() bool { return ran.Done })
					stagetest.Must(b, ran.Err)
					stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Minute))
					b.ExpectRolled(ran.RunResult, want.outcome, "", want.state)
					b.ExpectNoneLost()
				})
			})
		}
	}
}

// resumedScaling deploys with each policy over suspended auto scaling, which resume resumes as somebody else does. The
// deployment must end as the policy says, with auto scaling on.
func resumedScaling(t *testing.T, resume func(b *stagetest.Bench, policy sluice.OnOutside, id string) *stagetest.Result) {
	for policy, want := range map[sluice.OnOutside]sluice.Outcome{sluice.StopOnChange: sluice.RolledBack,
		sluice.ReassertChange: sluice.Succeeded, sluice.AdoptChange: sluice.Succeeded} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			b.Scalable(2, 8, sluice.Suspension{Out: true})
			ran := resume(b, policy, b.Start(b.Files("sim/web:v2",
				stagetest.SuspendsScaling+stagetest.WatchedPipeline+"onOutsideChange: "+string(policy)+"\n")))
			b.Until("it is over", func() bool { return ran.Done })
			if stagetest.Must(b, ran.Err); ran.Outcome != want {
				b.Errorf("%s: outcome %s (%s), want %s\n%s", policy, ran.Outcome, ran.Cause, want, b.EventLog())
			}
			if s := b.Suspension(); s == sluice.AllSuspended {
				b.Errorf("%s: it is still suspended", policy)
			}
			b.ExpectNoneLost()
		})
	}
}

// Somebody else lets auto scaling go on that the deployment had suspended.
func TestScalingResumedByOthersDuringAWait(t *testing.T) {
	resumedScaling(t, func(b *stagetest.Bench, policy sluice.OnOutside, id string) *stagetest.Result {
		ran := b.RunBeside(b.Engine, id)
		b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
		b.Scalable(2, 8, sluice.Suspension{})
		stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
		if s := b.Suspension(); (s == sluice.AllSuspended) != (policy == sluice.ReassertChange) &&
			policy != sluice.StopOnChange {
			b.Errorf("%s: a minute later suspended is %s", policy, s)
		}
		return ran
	})
}

// A process is killed right after it suspended auto scaling, and somebody resumes auto scaling before the next process
// continues. That process tells the change as it sets auto scaling; the policy applies to it as to any other.
func TestScalingResumedByOthersBetweenTwoProcesses(t *testing.T) {
	resumedScaling(t, func(b *stagetest.Bench, _ sluice.OnOutside, id string) *stagetest.Result {
		killer := b.KillAtWrite(3, true) // the claim, the tag of auto scaling, auto scaling
		if at := b.RunUntilKilled(id); !strings.Contains(at, "RegisterScalableTarget") {
			b.Fatalf("killed at %q, want at the suspension", at)
		}
		killer.Left = -1
		b.Scalable(2, 8, sluice.Suspension{})
		return b.RunBeside(b.Engine, id)
	})
}

// A change of auto scaling that is kept does not begin the wait again at every check: a version that crashes again and
// again is taken back as without the change.
func TestKeptChangeOfScalingDoesNotHideACrashLoop(t *testing.T) {
	stagetest.RunRolling(t, func(b *stagetest.Bench) {
		ctx := context.Background()
		b.Scalable(2, 8, sluice.Suspension{Out: true})
		began := b.Clock.Now()
		ran := b.RunBeside(b.Engine, b.Start(stagetest.AddLines(
			b.RollingFiles("sim/web:v2-crash-after-40s-exit-1", stagetest.Breaker), "sluice.yaml",
			stagetest.SuspendsScaling+"onOutsideChange: adopt\n")))
		b.Until("the update", func() bool { return strings.Contains(b.EventLog(), "ecs:UpdateService") })
		b.Scalable(2, 8, sluice.Suspension{})
		for !ran.Done && b.Clock.Now().Sub(began) < time.Hour {
			stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Second))
		}
		if took := b.Clock.Now().Sub(began); !ran.Done || took > 15*time.Minute {
			b.Fatalf("done %t after %s, want at most 15 minutes\n%s", ran.Done, took, b.EventLog())
		}
		if ran.Outcome != sluice.RolledBack ||
			!strings.HasSuffix(b.RollingState(), "PRIMARY sim/web:v1 COMPLETED 4 running") {
			b.Errorf("outcome %s (%s), state %s; want rolled back to v1", ran.Outcome, ran.Cause, b.RollingState())
		}
		if n := strings.Count(b.EventLog(), `[1 ECS_SYNC] warned {"message":"external change of the auto scaling`); n != 1 {
			b.Errorf("the stage tells the change %d times, want once\n%s", n, b.EventLog())
		}
	})
}

// A canary service that somebody deletes or empties while time passes.
func TestCanaryServiceChangedByOthersDuringAWait(t *testing.T) {
	name := aws.String("web-canary")
	for what, do := range map[string]func(*stagetest.Bench){
		"deleted": func(b *stagetest.Bench) {
			stagetest.Got(b.ECS.DeleteService(context.Background(),
				&awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
					Service: name, Force: aws.Bool(true)}))(b)
		},
		"emptied": func(b *stagetest.Bench) {
			stagetest.Got(b.ECS.UpdateService(context.Background(),
				&awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
					Service: name, DesiredCount: aws.Int32(0)}))(b)
		},
	} {
		for policy, outcome := range map[sluice.OnOutside]sluice.Outcome{sluice.StopOnChange: sluice.RolledBack,
			sluice.ReassertChange: sluice.Succeeded, sluice.AdoptChange: sluice.Succeeded} {
			t.Run(what+"/"+string(policy), func(t *testing.T) {
				stagetest.RunRolling(t, func(b *stagetest.Bench) {
					wait := "{name: WAIT, with: {duration: 10m}}"
					files := stagetest.AddLines(b.CanaryServiceFiles("sim/web:v2",
						stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, wait,
							stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary), stagetest.Breaker),
						"sluice.yaml", "onOutsideChange: "+string(policy)+"\n")
					ran := b.RunBeside(b.Engine, b.Start(files))
					b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
					stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
					do(b)
					b.Until("it is over", func() bool { return ran.Done })
					stagetest.Must(b, ran.Err)
					want := stagetest.RolledV2
					if outcome == sluice.RolledBack {
						want = stagetest.RolledV1
					}
					b.ExpectRolled(ran.RunResult, outcome, "", want)
					if s := b.CanaryService(); s != nil && *s.Status == "ACTIVE" {
						b.Errorf("%s is left over", *s.ServiceName)
					}
				})
			})
		}
	}
}

// A canary service that somebody scales while time passes, up or down.
func TestCanaryServiceScaledByOthersDuringAWait(t *testing.T) {
	for count, scaled := range map[int32]string{3: "from 2 tasks to 3", 1: "from 2 tasks to 1"} {
		for policy, c := range map[sluice.OnOutside]struct {
			outcome sluice.Outcome
			ends    string
			soon    int32 // tasks of the canary service a minute and a half later
		}{sluice.StopOnChange: {sluice.RolledBack, stagetest.RolledV1, 0},
			sluice.ReassertChange: {sluice.Succeeded, stagetest.RolledV2, 2},
			sluice.AdoptChange:    {sluice.Succeeded, stagetest.RolledV2, count}} {
			t.Run(fmt.Sprintf("%d/%s", count, policy), func(t *testing.T) {
				stagetest.RunRolling(t, func(b *stagetest.Bench) {
					wait := "{name: WAIT, with: {duration: 10m}}"
					files := stagetest.AddLines(b.CanaryServiceFiles("sim/web:v2",
						stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth, wait,
							stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary), stagetest.Breaker),
						"sluice.yaml", "onOutsideChange: "+string(policy)+"\n")
					ran := b.RunBeside(b.Engine, b.Start(files))
					b.Until("the wait", func() bool { return strings.Contains(b.EventLog(), "10m0s to pass") })
					stagetest.Got(b.ECS.UpdateService(context.Background(),
						&awsecs.UpdateServiceInput{Cluster: aws.String("prod"), Service: aws.String("web-canary"),
							DesiredCount: aws.Int32(count)}))(b)
					stagetest.Must(b, b.Clock.Sleep(context.Background(), 90*time.Second))
					if s := b.CanaryService(); policy != sluice.StopOnChange && s.DesiredCount != c.soon {
						b.Errorf("a minute and a half later it has %d tasks, want %d", s.DesiredCount, c.soon)
					}
					b.Until("it is over", func() bool { return ran.Done })
					stagetest.Must(b, ran.Err)
					b.ExpectRolled(ran.RunResult, c.outcome, "", c.ends)
					if !strings.Contains(b.EventLog(), "the canary service was scaled "+scaled) {
						b.Errorf("nobody is told\n%s", b.EventLog())
					}
					b.ExpectNoneLost()
				})
			})
		}
	}
}
