package stage_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

const (
	exits0 = "sim/job:v1-crash-after-20s-exit-0"
	exits3 = "sim/job:v1-crash-after-20s-exit-3"
)

// standaloneFiles is an application without a service; more goes under its input.
func standaloneFiles(b *stagetest.Bench, image, more string) fstest.MapFS {
	return fstest.MapFS{
		"taskdef.yaml": stagetest.JobTask("job", image),
		"sluice.yaml": &fstest.MapFile{Data: []byte(fmt.Sprintf(`
name: job
region: us-east-1
cluster: prod
input:
  taskDefinitionFile: taskdef.yaml
  awsvpcConfiguration: {subnets: [%s]}
%s`, strings.Join(b.Subnets(), ", "), more))},
	}
}

// ranTasks are the tasks without a service that the world has or had, with who
// started them.
func ranTasks(b *stagetest.Bench) (all []string) {
	stagetest.Must(b, b.Sim.World().Do(stagetest.Key, func(tx *world.Tx) error {
		for _, t := range tx.Tasks.All() {
			if t.Service == nil {
				all = append(all, fmt.Sprintf("%s by %s", t.Definition.Family, t.StartedBy))
			}
		}
		return nil
	}))
	return all
}

func expectOutcome(b *stagetest.Bench, end engine.RunResult, outcome sluice.Outcome, cause string) {
	b.Helper()
	if end.Outcome != outcome || !strings.Contains(end.Cause, cause) || (cause == "") != (end.Cause == "") {
		b.Errorf("%s: %q, want %s: …%s…\n%s", end.Outcome, end.Cause, outcome, cause, b.EventLog())
	}
}

func expectRan(b *stagetest.Bench, want ...string) {
	b.Helper()
	if got := ranTasks(b); fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("ran %v, want %v\n%s", got, want, b.EventLog())
	}
}

func TestAStandaloneTaskRunsToItsEnd(t *testing.T) {
	for image, c := range map[string]struct {
		outcome sluice.Outcome
		cause   string
	}{
		exits0:                             {sluice.Succeeded, ""},
		exits3:                             {sluice.Failed, "container job exited with 3"},
		"sim/job:v1?oom-after=3s":          {sluice.Failed, "exited with 137"},
		"sim/job:v1?noboot=true":           {sluice.Failed, "it did not start: CannotPullContainerError"},
		"sim/job:v1-crash-after-3h-exit-0": {sluice.Succeeded, ""},
		"sim/job:v1-start-delay-15m":       {sluice.Stalled, "has made no progress for 10m"},
		"sim/job:v1?crash-after=7h&exit=0": {sluice.Stalled, "the stage's timeout of 6h0m0s passed"},
	} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			expectOutcome(b, b.Deploy(standaloneFiles(b, image, "")), c.outcome, c.cause)
			expectRan(b, "job by slc-0001/run")
			if strings.Contains(b.EventLog(), stagetest.Secret) {
				b.Error("an event holds the secret")
			}
		})
	}
}

// What the container printed is told before how it ended, the exit code stands in
// an event.
func TestATasksLinesAndExitCodeAreTold(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		b.Deploy(standaloneFiles(b, "sim/job:v1?crash-after=20s&exit=3&prints=row+1+of+2|row+2+of+2", ""))
		var told []string
		for _, e := range b.Events {
			switch ev := e.Open().(type) {
			case sluice.Printed:
				told = append(told, ev.Line)
				if e.Seq != 0 {
					b.Errorf("line %d was kept", e.Seq)
				}
			case sluice.TaskEnded:
				told = append(told, ev.Containers[0].String())
			}
		}
		want := "version v1 starts; row 1 of 2; row 2 of 2; fatal: exit 3; container job exited with 3"
		if got := strings.Join(told, "; "); got != want {
			b.Errorf("%s, want %s\n%s", got, want, b.EventLog())
		}
		kept := stagetest.Got(b.Journal.Events(context.Background(), "slc-0001", 0, 0))(b)
		for _, e := range kept {
			if _, ok := e.Open().(sluice.Printed); ok {
				b.Error("what a container printed is in the journal")
			}
		}
	})
}

// Many tasks: more than one call of RunTask takes, each started once.
func TestManyTasks(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		expectOutcome(b, b.Deploy(standaloneFiles(b, exits0, "  runTask: {count: 23}\n")), sluice.Succeeded, "")
		if n := len(ranTasks(b)); n != 23 {
			b.Errorf("%d tasks ran", n)
		}
	})
}

func TestRegisterOnly(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		files := standaloneFiles(b, exits0, "  runStandaloneTask: false\n")
		expectOutcome(b, b.Deploy(files), sluice.Succeeded, "")
		expectRan(b)
		if p := stagetest.Got(b.Plan(files, mode.Options{}))(b); p.HasChanges() || p.To != "job:1" {
			b.Errorf("afterwards %v, %s", p.Changes, p.To)
		}
	})
}

func TestAPipelineOnAStandaloneTaskIsRefused(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		files := standaloneFiles(b, exits0, stagetest.CanaryPipeline)
		if _, err := b.Plan(files, mode.Options{}); err == nil ||
			!strings.Contains(err.Error(),
				"stage 1 ECS_CANARY_ROLLOUT: a task without a service is only registered and run") {
			b.Error(err)
		}
		if _, err := b.Plan(files, mode.Options{QuickSync: true}); err != nil {
			b.Error(err)
		}
	})
}

// Without room for all, ECS is asked again; in the end its words are the cause.
func TestNoRoomForATask(t *testing.T) {
	for lasts, c := range map[string]struct {
		outcome sluice.Outcome
		cause   string
	}{
		"40s": {sluice.Succeeded, ""},
		"1h":  {sluice.Failed, "ECS had no capacity for 1 task for 10m0s: Capacity is unavailable at this time"},
	} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			stagetest.Must(b, b.Sim.Inject("no-capacity prod for="+lasts))
			expectOutcome(b, b.Deploy(standaloneFiles(b, exits0, "")), c.outcome, c.cause)
		})
	}
}

// An answer of RunTask that is lost is found, and nothing is started twice.
func TestALostAnswerOfRunTask(t *testing.T) {
	for _, fault := range []string{"lost-reply ecs:RunTask times=1", "lost-reply ecs:RunTask times=8",
		"5xx ecs:RunTask times=7", "stale ecs:* by=4s p=0.7"} {
		stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
			stagetest.Must(b, b.Sim.Inject(fault))
			expectOutcome(b, b.Deploy(standaloneFiles(b, exits0, "  runTask: {count: 2}\n")), sluice.Succeeded, "")
			expectRan(b, "job by slc-0001/run", "job by slc-0001/run")
		})
	}
}

// Killed before and after each write, and run again, the task has run once and its
// end is told.
func TestARunKilledAnywhereRunsItsTaskOnce(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n, more := 1, true; more; n++ {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				files := standaloneFiles(b, exits3, "")
				id := b.Start(files)
				g := b.KillAtWrite(n, after)
				at := b.RunUntilKilled(id)
				g.Left = -1
				if more = at != ""; !more {
					return
				}
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				expectOutcome(b, end, sluice.Failed, "container job exited with 3")
				expectRan(b, "job by slc-0001/run")
			})
		}
	}
}

// The same of the journal's rows, of which every third is tried.
func TestARunKilledAtARowRunsItsTaskOnce(t *testing.T) {
	for _, after := range []bool{false, true} {
		for n, more := 1, true; more; n += 3 {
			stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
				id, rows := b.Start(standaloneFiles(b, exits3, "")), 0
				b.Journal.WrapWrites(func(op string, write func() error) error {
					if rows++; rows == n && !after {
						panic(stagetest.Killed{At: "before " + op})
					}
					err := write()
					if rows == n {
						panic(stagetest.Killed{At: "after " + op})
					}
					return err
				})
				at := b.RunUntilKilled(id)
				b.Journal.WrapWrites(func(_ string, write func() error) error { return write() })
				if more = at != ""; !more {
					return
				}
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				expectOutcome(b, end, sluice.Failed, "container job exited with 3")
				expectRan(b, "job by slc-0001/run")
			})
		}
	}
}

// Killed right after RunTask and run again only when ECS has forgotten everything,
// it cannot be told whether the task ran: it is not started again.
func TestWhatECSHasForgottenIsNotRunAgain(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		id := b.Start(standaloneFiles(b, exits0, ""))
		g := b.KillAtWrite(2, true)
		if at := b.RunUntilKilled(id); at != "after RunTask" {
			b.Fatal(at)
		}
		g.Left = -1
		stagetest.Must(b, b.Clock.Sleep(context.Background(), 3*time.Hour))
		expectOutcome(b, stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b), sluice.Failed,
			"cannot determine whether a task ran")
		out := stagetest.Got(b.ECS.ListTasks(context.Background(), &awsecs.ListTasksInput{Cluster: aws.String("prod"),
			StartedBy: aws.String("slc-0001/run")}))(b)
		if len(out.TaskArns) > 0 {
			b.Error("a second task runs")
		}
	})
}

// With NoWait the run returns once ECS has the task; a resume tells its end.
func TestARunThatIsNotWaitedFor(t *testing.T) {
	stagetest.Run(t, stagetest.Options{}, func(b *stagetest.Bench) {
		ctx := context.Background()
		id := b.Start(standaloneFiles(b, exits3, ""))
		end := stagetest.Got(b.Engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		if end.WaitingFor != engine.HandedToECS {
			b.Fatalf("%+v\n%s", end, b.EventLog())
		}
		stagetest.Must(b, b.Clock.Sleep(ctx, 10*time.Minute))
		expectOutcome(b, stagetest.Got(b.Engine.Run(ctx, id, engine.Options{}))(b), sluice.Failed,
			"container job exited with 3")
		expectRan(b, "job by slc-0001/run")
	})
}
