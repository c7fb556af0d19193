package stage_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// Every way of deploying rolls a version back whose tasks die after they were healthy: if they die before the stages
// end, or within the bake time of the application. The stages themselves see healthy tasks.
func TestVersionThatDiesLaterIsRolledBack(t *testing.T) {
	canary := stagetest.Pipeline(stagetest.CanaryRollout, stagetest.PrimaryRollout, stagetest.CleanCanary)
	for _, c := range []struct{ image, bake string }{{"sim/web:v2-oom-after-50s", ""},
		{"sim/web:v2-crash-after-200s", "bake: 4m\n"}} {
		for name, files := range map[string]func(*stagetest.Bench) fstest.MapFS{
			"quick sync": func(b *stagetest.Bench) fstest.MapFS { return b.Files(c.image, "") },
			"task sets":  func(b *stagetest.Bench) fstest.MapFS { return b.Files(c.image, canary) },
		} {
			t.Run(name+" "+c.image, func(t *testing.T) {
				stagetest.RunPlain(t, func(b *stagetest.Bench) { expectRolledBack(b, files(b), c.bake) })
			})
		}
		for name, files := range map[string]func(*stagetest.Bench) fstest.MapFS{
			"rolling": func(b *stagetest.Bench) fstest.MapFS { return b.RollingFiles(c.image, stagetest.Breaker) },
			"canary service": func(b *stagetest.Bench) fstest.MapFS {
				return b.CanaryServiceFiles(c.image, canary, stagetest.Breaker)
			},
		} {
			t.Run(name+" "+c.image, func(t *testing.T) {
				stagetest.RunRolling(t, func(b *stagetest.Bench) { expectRolledBack(b, files(b), c.bake) })
			})
		}
	}
}

// expectRolledBack deploys, and requires a rollback because of tasks that died.
func expectRolledBack(b *stagetest.Bench, files fstest.MapFS, bake string) {
	b.Helper()
	end := b.Deploy(stagetest.AddLines(files, "sluice.yaml", bake))
	if end.Outcome != sluice.RolledBack || !strings.Contains(b.EventLog(), "tasks stopped: exit code 1") {
		b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
	}
}

// Workers have no load balancer and no health check: only the end of a task shows that it failed. A version whose tasks
// die again and again is rolled back, with and without a circuit breaker.
func TestWorkerThatDiesIsRolledBack(t *testing.T) {
	for _, c := range []struct{ image, bake, more string }{
		{"sim/web:v2-crash-after-20s", "", ""},
		{"sim/web:v2-oom-after-25s", "", stagetest.Breaker},
		{"sim/web:v2-crash-after-70s", "bake: 3m\n", stagetest.Breaker},
		{"sim/web:v2-crash-after-110s", "bake: 3m\n", ""},
	} {
		t.Run(c.image, func(t *testing.T) {
			stagetest.RunWorker(t, func(b *stagetest.Bench) {
				expectRolledBack(b, b.WorkerFiles(c.image, c.more), c.bake)
				if state := b.RollingState(); state != stagetest.RolledV1 {
					t.Error(state)
				}
			})
		})
	}
}

// One task of a worker that dies withholds the success until the others have been stable, and a version without a death
// pays nothing.
func TestOneDeathOfAWorker(t *testing.T) {
	var afterDeath time.Duration
	for _, dies := range []bool{false, true} {
		stagetest.RunWorker(t, func(b *stagetest.Bench) {
			id, died := b.Start(b.WorkerFiles("sim/web:v2", stagetest.Breaker)), time.Time{}
			if dies {
				b.Clock.Go(func() {
					b.Until("v2 runs", func() bool { return strings.Contains(b.RollingState(), "v2 IN_PROGRESS 4 running") })
					stagetest.Must(b, b.Sim.Inject("task-crash web revision=2 exit=137"))
					died = b.Clock.Now()
				})
			}
			end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
			b.ExpectRolled(end, sluice.Succeeded, "", stagetest.RolledV2)
			afterDeath = b.Clock.Now().Sub(died)
			if late := b.Clock.Now().Sub(b.FinishedAt()); !dies && late > 5*time.Second {
				t.Errorf("succeeded %s after ECS\n%s", late, b.EventLog())
			}
		})
	}
	if afterDeath < time.Minute || afterDeath > 3*time.Minute {
		t.Errorf("succeeded %s after the death", afterDeath)
	}
}

// The bake time of a rolling update is no lack of progress, whether the file gives it or ECS computes it from alarms.
func TestLongBakeOfARollingUpdateIsNoStall(t *testing.T) {
	for _, configuration := range []string{"bakeTimeInMinutes: 30",
		"alarms: {alarmNames: [slow], enable: true, rollback: true}"} {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			stagetest.Got(awscw.NewFromConfig(b.Sim.Config()).PutMetricAlarm(context.Background(), &awscw.PutMetricAlarmInput{
				AlarmName: aws.String("slow"), Namespace: aws.String("shop"), MetricName: aws.String("errors"),
				Period: aws.Int32(300), EvaluationPeriods: aws.Int32(5), Threshold: aws.Float64(1),
				Statistic: cwtypes.StatisticSum, TreatMissingData: aws.String("notBreaching"),
				ComparisonOperator: cwtypes.ComparisonOperatorGreaterThanThreshold}))(b)
			b.Sleep(5 * time.Minute) // until the alarm is OK
			end := b.Deploy(b.RollingFiles("sim/web:v2", "deploymentConfiguration: {"+configuration+"}\n"))
			if got := b.CallersGet(); end.Outcome != sluice.Succeeded || got != "v2 200" {
				b.Errorf("%s: %s: %s; callers get %q\n%s", configuration, end.Outcome, end.Cause, got, b.EventLog())
			}
		})
	}
}

// A version whose task dies where no stage looks at it is a success only when its tasks have been stable: the canary,
// which is the same version, and the tasks that serve while a step after the stages runs. Without a death nothing is
// waited for.
func TestDeathsBesideTheStagesWithholdSuccess(t *testing.T) {
	rolling := func(run func(*stagetest.Bench)) { stagetest.RunRolling(t, run) }
	sets := func(run func(*stagetest.Bench)) { stagetest.RunPlain(t, run) }
	for name, c := range map[string]struct {
		run   func(func(*stagetest.Bench))
		files func(*stagetest.Bench) fstest.MapFS
		stage int    // after which a task dies
		of    string // the service of that task
	}{
		"canary": {sets, func(b *stagetest.Bench) fstest.MapFS {
			return b.Files("sim/web:v2", stagetest.CanaryPipeline)
		}, 3, "web"},
		"canary service": {rolling, func(b *stagetest.Bench) fstest.MapFS {
			return b.CanaryServiceFiles("sim/web:v2", stagetest.CanaryPipeline, stagetest.Breaker)
		}, 3, "web-canary"},
		"task sets, step after": {sets, func(b *stagetest.Bench) fstest.MapFS {
			return stagetest.WithSteps(b.Files("sim/web:v2", ""), "", exits0)
		}, 1, "web"},
		"rolling, step after": {rolling, func(b *stagetest.Bench) fstest.MapFS {
			return stagetest.WithSteps(b.RollingFiles("sim/web:v2", stagetest.Breaker), "", exits0)
		}, 1, "web"},
	} {
		t.Run(name, func(t *testing.T) {
			var took [2]time.Duration
			for i, dies := range []bool{false, true} {
				c.run(func(b *stagetest.Bench) {
					began, id := b.Clock.Now(), b.Start(c.files(b))
					if dies {
						b.OnStageEnd(c.stage, func() {
							stagetest.Must(b, b.Sim.Inject("task-crash "+c.of+" revision=2 exit=1"))
						})
					}
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					took[i] = b.Clock.Now().Sub(began)
					held := strings.Contains(b.EventLog(), "1 task stopped by itself: success needs")
					if end.Outcome != sluice.Succeeded || held != dies {
						t.Errorf("dies %t: %s: %s\n%s", dies, end.Outcome, end.Cause, b.EventLog())
					}
				})
			}
			if late := took[1] - took[0]; late < 30*time.Second || late > 6*time.Minute {
				t.Errorf("it took %s, and %s with a death", took[0], took[1])
			}
		})
	}
}

// A pipeline may leave its canary. Its tasks, of the revision that serves, run beside those of the primary: no task was
// replaced, and the success waits for nothing.
func TestCanaryThatStaysWithholdsNoSuccess(t *testing.T) {
	for name, stages := range map[string][]string{
		"canary":     {stagetest.CanaryRollout, stagetest.ShiftFifth, stagetest.PrimaryRollout, stagetest.ShiftBack},
		"blue/green": {fullCanary, "{name: ECS_TRAFFIC_ROUTING, with: {canary: 100}}", stagetest.PrimaryRollout, stagetest.ShiftBack},
		"no routing": {stagetest.CanaryRollout, stagetest.PrimaryRollout},
	} {
		for bake, most := range map[string]time.Duration{"": 5 * time.Minute, "bake: 2m\n": 7 * time.Minute} {
			t.Run(name+" "+bake, func(t *testing.T) {
				stagetest.RunPlain(t, func(b *stagetest.Bench) {
					began := b.Clock.Now()
					end := b.Deploy(stagetest.AddLines(b.Files("sim/web:v2", stagetest.Pipeline(stages...)), "sluice.yaml", bake))
					if took := b.Clock.Now().Sub(began); end.Outcome != sluice.Succeeded || took > most {
						t.Errorf("%s after %s: %s\n%s", end.Outcome, took, end.Cause, b.EventLog())
					}
				})
			})
		}
	}
}

const fullCanary = "{name: ECS_CANARY_ROLLOUT, with: {scale: 100}}"

// Without an automatic rollback the outcome says what callers get: the former version if ECS has restored it, and the new
// one if nobody did.
func TestOutcomeWithoutAutomaticRollback(t *testing.T) {
	for _, c := range []struct {
		more    string
		outcome sluice.Outcome
	}{{stagetest.Breaker, sluice.RolledBack}, {"", sluice.Failed}} {
		stagetest.RunRolling(t, func(b *stagetest.Bench) {
			files := stagetest.AddLines(b.RollingFiles("sim/web:v2-crash-after-2s", c.more), "sluice.yaml", "planner: {autoRollback: false}\n")
			end := b.Deploy(files)
			if got := b.CallersGet(); end.Outcome != c.outcome || got != "v1 200" ||
				strings.Contains(end.Next, "sluice rollback") != (c.outcome == sluice.Failed) {
				b.Errorf("%q: %s: %s; callers get %q; next: %s\n%s", c.more, end.Outcome, end.Cause, got, end.Next, b.EventLog())
			}
		})
	}
}
