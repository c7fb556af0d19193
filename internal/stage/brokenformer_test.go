package stage_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// v1Crashes is a version that runs, and whose tasks stop by themselves again and again.
const v1Crashes = "sim/web:v1-crash-after-20s-exit-4"

// brokenServices start a service whose running version crashes, in each way of deploying, and return the files that
// deploy another image.
func brokenServices() map[string]func(b *stagetest.Bench) func(image string) fstest.MapFS {
	rolled := func(first func(*stagetest.Bench) fstest.MapFS,
		then func(*stagetest.Bench, string) fstest.MapFS) func(*stagetest.Bench) func(string) fstest.MapFS {
		return func(b *stagetest.Bench) func(string) fstest.MapFS {
			if end := b.Deploy(first(b)); end.Outcome != sluice.Failed {
				b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
			}
			return func(image string) fstest.MapFS { return then(b, image) }
		}
	}
	rolling := func(b *stagetest.Bench) fstest.MapFS { return b.RollingFiles(v1Crashes, "desiredCount: 2\n") }
	worker := func(b *stagetest.Bench) fstest.MapFS { return b.WorkerFiles(v1Crashes, "desiredCount: 2\n") }
	sets := func(b *stagetest.Bench) { b.StartService(stagetest.Options{V1: v1Crashes, Desired: 2}) }
	return map[string]func(b *stagetest.Bench) func(image string) fstest.MapFS{
		"task sets": func(b *stagetest.Bench) func(string) fstest.MapFS {
			sets(b)
			return func(image string) fstest.MapFS { return b.Files(image, stagetest.CanaryPipeline) }
		},
		"task sets, quick sync": func(b *stagetest.Bench) func(string) fstest.MapFS {
			sets(b)
			return func(image string) fstest.MapFS { return b.Files(image, "") }
		},
		"canary service": rolled(rolling, func(b *stagetest.Bench, image string) fstest.MapFS {
			return b.CanaryServiceFiles(image, stagetest.CanaryPipeline, "desiredCount: 2\n")
		}),
		"canary service, worker": rolled(worker, func(b *stagetest.Bench, image string) fstest.MapFS {
			return stagetest.WithoutTraffic(b.CanaryServiceFiles(image, stagetest.Pipeline(stagetest.CanaryRollout,
				stagetest.PrimaryRollout, stagetest.CleanCanary), ""))
		}),
		"ECS's own strategy": rolled(func(b *stagetest.Bench) fstest.MapFS {
			return b.NativeFiles(v1Crashes, stagetest.Strategies["BLUE_GREEN"])
		}, func(b *stagetest.Bench, image string) fstest.MapFS {
			return b.NativeFiles(image, stagetest.Strategies["BLUE_GREEN"])
		}),
		"rolling": rolled(rolling, func(b *stagetest.Bench, image string) fstest.MapFS { return b.RollingFiles(image, "") }),
		"rolling, worker": rolled(worker, func(b *stagetest.Bench, image string) fstest.MapFS {
			return b.WorkerFiles(image, "")
		}),
	}
}

// workingServices start a service whose version works, in each way of deploying, and return the files that deploy
// another image.
func workingServices() map[string]func(b *stagetest.Bench) func(image string) fstest.MapFS {
	const four = "desiredCount: 4\n"
	sets := func(pipeline string) func(b *stagetest.Bench) func(string) fstest.MapFS {
		return func(b *stagetest.Bench) func(string) fstest.MapFS {
			b.StartService(stagetest.Options{})
			return func(image string) fstest.MapFS { return b.Files(image, pipeline) }
		}
	}
	rolled := func(files func(*stagetest.Bench, string) fstest.MapFS,
		then func(*stagetest.Bench, string) fstest.MapFS) func(*stagetest.Bench) func(string) fstest.MapFS {
		return func(b *stagetest.Bench) func(string) fstest.MapFS {
			if end := b.Deploy(files(b, "sim/web:v1")); end.Outcome != sluice.Succeeded {
				b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
			}
			return func(image string) fstest.MapFS { return then(b, image) }
		}
	}
	rolling := func(b *stagetest.Bench, image string) fstest.MapFS { return b.RollingFiles(image, four) }
	breaker := func(b *stagetest.Bench, image string) fstest.MapFS {
		return b.RollingFiles(image, four+stagetest.Breaker)
	}
	worker := func(b *stagetest.Bench, image string) fstest.MapFS { return b.WorkerFiles(image, four) }
	all := map[string]func(b *stagetest.Bench) func(image string) fstest.MapFS{
		"task sets":             sets(stagetest.CanaryPipeline),
		"task sets, quick sync": sets(""),
		"rolling":               rolled(rolling, rolling),
		"rolling, breaker":      rolled(breaker, breaker),
		"rolling, worker":       rolled(worker, worker),
		"canary service": rolled(rolling, func(b *stagetest.Bench, image string) fstest.MapFS {
			return b.CanaryServiceFiles(image, stagetest.CanaryPipeline, four)
		}),
	}
	for strategy, configuration := range stagetest.Strategies {
		native := func(b *stagetest.Bench, image string) fstest.MapFS { return b.NativeFiles(image, configuration) }
		all["ECS's own "+strategy] = rolled(native, native)
	}
	return all
}

func runBroken(t *testing.T, names []string, f func(b *stagetest.Bench, files func(image string) fstest.MapFS)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
				files := brokenServices()[name](b)
				b.Sleep(3 * time.Minute)
				b.Events = nil
				f(b, files)
			})
		})
	}
}

// The running version crashes already, and the new one does too. A rollback restores nothing that works, so the outcome
// is a failure, and no advice returns to that version.
func TestRollbackToAVersionThatCrashesIsNoGoodEnd(t *testing.T) {
	t.Parallel()
	var names []string
	for name := range brokenServices() {
		names = append(names, name)
	}
	runBroken(t, names, func(b *stagetest.Bench, files func(string) fstest.MapFS) {
		end := b.Deploy(files("sim/web:v2-crash-after-5s-exit-3"))
		b.ExpectBrokenFormer(end, "exit code 4")
	})
}

// The former version cannot start any more, because its secret was deleted, or its image crashes now. A rollback to it
// ends as soon as enough of its tasks have failed, says so, and leads to no other rollback. Callers keep the tasks that
// serve.
func TestRollbackToAVersionThatBrokeEndsSoon(t *testing.T) {
	t.Parallel()
	for name, start := range workingServices() {
		for image, cause := range map[string]string{"sim/web:v1-no-secret": "unable to pull secrets",
			v1Crashes: "exit code 4"} {
			t.Run(name+", "+cause, func(t *testing.T) {
				t.Parallel()
				stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
					files := start(b)
					id := b.Start(files("sim/web:v2"))
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					if end.Outcome != sluice.Succeeded {
						b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
					}
					b.BreakVersion(1, image)
					b.AttachCallers()
					b.ExpectBrokenFormer(b.RollBackEnded(id), cause)
					if image != v1Crashes && !strings.Contains(name, "worker") {
						b.ExpectNoneLost()
					}
				})
			})
		}
	}
}

// The former version works, and its tasks take minutes to start. A rollback to it is not ended before.
func TestRollbackToASlowVersionEndsWell(t *testing.T) {
	t.Parallel()
	for name, start := range workingServices() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
				files := start(b)
				id := b.Start(files("sim/web:v2"))
				stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				b.BreakVersion(1, "sim/web:v1-start-delay-250s")
				if end := b.RollBackEnded(id); end.Outcome != sluice.RolledBack {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
			})
		})
	}
}

// Tasks of the former version failed before the deployment. A rollback to it counts only what fails from then on.
func TestRollbackToAVersionWhoseTasksFailedBefore(t *testing.T) {
	t.Parallel()
	for name, start := range workingServices() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
				files := start(b)
				stagetest.Must(b, b.Sim.Inject("task-crash web count=4 exit=137"))
				b.Sleep(4 * time.Minute)
				id := b.Start(files("sim/web:v2"))
				stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				if end := b.RollBackEnded(id); end.Outcome != sluice.RolledBack {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
			})
		})
	}
}

// So it is for a task set that still exists, and that the rollback scales up again.
func TestRollbackToATaskSetWhoseTasksFailedBefore(t *testing.T) {
	t.Parallel()
	stagetest.RunPlain(t, func(b *stagetest.Bench) {
		stagetest.Must(b, b.Sim.Inject("task-crash web count=4 exit=137"))
		b.Sleep(4 * time.Minute)
		id := b.Start(b.Files("sim/web:v2", stagetest.CanaryPipeline))
		b.AfterWrite("ecs:UpdateTaskSet", 12*time.Second, func() {
			stagetest.Must(b, b.Engine.SendCommand(context.Background(), id, journal.Rollback, 0, "ann"))
		})
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		b.ExpectEnd(end, sluice.RolledBack, "", stagetest.ServesV1)
	})
}

// The version before the former one worked, as the journal knows. The next step names it, if it is of the files'
// family, and to deploy it works.
func TestRollbackToAVersionThatBrokeNamesOneThatWorked(t *testing.T) {
	t.Parallel()
	for family, want := range map[string]string{"web": "deploy a version that worked: sluice deploy --revision 1",
		"other": "deploy a version that works"} {
		stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
			first := b.RollingFiles("sim/web:v1", "desiredCount: 4\n")
			first["taskdef.yaml"].Data = bytes.Replace(first["taskdef.yaml"].Data, []byte("family: web"), []byte("family: "+family), 1)
			var id string
			for i, files := range []fstest.MapFS{first, b.RollingFiles("sim/web:v2", ""), b.RollingFiles("sim/web:v3", "")} {
				id = b.Start(files)
				end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
				if end.Outcome != sluice.Succeeded {
					b.Fatalf("deployment %d: %s: %s\n%s", i+1, end.Outcome, end.Cause, b.EventLog())
				}
			}
			former := map[string]int{"web": 2, "other": 1}[family] // the revision of v2 in family web
			b.BreakVersion(former, "sim/web:v2-crash-after-5s-exit-4")
			end := b.RollBackEnded(id)
			if end.Outcome != sluice.Failed || !strings.HasSuffix(end.Next, want) {
				b.Errorf("%s: %s; next: %s, want %s\n%s", end.Outcome, end.Cause, end.Next, want, b.EventLog())
			}
			if end = b.Deploy(first); end.Outcome != sluice.Succeeded || b.CallersGet() != "v1 200" {
				b.Errorf("the version that worked: %s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
			}
		})
	}
}

// The new version works, and a stage waits until the running one is healthy, which crashes. The plan says so, the cause
// names the running version, and the next step is a deployment that does not wait for it, which works.
func TestPipelineOverAVersionThatCrashes(t *testing.T) {
	t.Parallel()
	runBroken(t, []string{"task sets", "canary service"}, func(b *stagetest.Bench, files func(string) fstest.MapFS) {
		p := stagetest.Got(b.Plan(files("sim/web:v2"), mode.Options{}))(b)
		if text := strings.Join(p.Warnings, "\n"); !strings.Contains(text, "the running version web:1 does not work: ") ||
			!strings.Contains(text, "exit code 4") || !strings.Contains(text, "sluice deploy --quick-sync") {
			b.Errorf("warnings: %s", text)
		}
		end := b.Deploy(files("sim/web:v2"))
		if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "the running version web:1 does not work: ") ||
			!strings.Contains(end.Cause, "exit code 4") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
		if want := "deploy the new version at once: sluice deploy --quick-sync"; end.Next != want {
			b.Errorf("next: %s, want %s", end.Next, want)
		}
		p = stagetest.Got(b.Plan(files("sim/web:v2"), mode.Options{QuickSync: true}))(b)
		id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
		end = stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if end.Outcome != sluice.Succeeded {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}

// A service without tasks is scaled up, and its version does not work. To return to no task restores nothing, so the
// deployment failed, and the next step is about the version.
func TestScaleOfAVersionThatNeverWorked(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"": "", "with a breaker": stagetest.Breaker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
				b.Deploy(b.RollingFiles(v1Crashes, "desiredCount: 0\n"+more))
				end := b.Deploy(b.RollingFiles(v1Crashes, "desiredCount: 2\n"+more))
				if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "web:1 failed: ") ||
					!strings.Contains(end.Cause, "exit code 4") || strings.Contains(end.Cause, "healthy before") {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				if strings.Contains(end.Next, "deploy again") || !strings.HasSuffix(end.Next, "deploy a version that works") {
					b.Errorf("next: %s", end.Next)
				}
			})
		})
	}
}

// Another person sets the desired count to 0 while ECS rolls the service. No version gets requests then, in every
// way of deploying, with or without a rollback.
func TestCountOfZeroDuringARollingDeployment(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"": "", "without a rollback": "  autoRollback: false\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stagetest.RunRolling(t, func(b *stagetest.Bench) {
				b.AfterWrite("ecs:UpdateService", 10*time.Second, func() {
					stagetest.Got(b.ECS.UpdateService(context.Background(), &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
						Service: aws.String("web"), DesiredCount: aws.Int32(0)}))(b)
				})
				end := b.Deploy(stagetest.AddLines(b.RollingFiles("sim/web:v2", ""), "sluice.yaml", file))
				if end.Outcome != sluice.Gone || !strings.Contains(end.Cause, "the desired count of the service is 0: ") {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
				if want := "raise the desired count: sluice scale --tasks 4"; end.Next != want {
					b.Errorf("next: %s, want %s", end.Next, want)
				}
			})
		})
	}
}

// Tasks of the running version failed some minutes ago, and those in their places work. A pipeline goes on, and a
// rollback restores a version that works.
func TestPipelineOverAVersionThatRecovered(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]sluice.Outcome{"sim/web:v2": sluice.Succeeded,
		"sim/web:v2-crash-after-5s": sluice.RolledBack} {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			stagetest.RunPlain(t, func(b *stagetest.Bench) {
				stagetest.Must(b, b.Sim.Inject("task-crash web count=3 exit=137"))
				b.Sleep(4 * time.Minute)
				files := b.Files(image, stagetest.CanaryPipeline)
				if p := stagetest.Got(b.Plan(files, mode.Options{}))(b); p.Failing != "" {
					b.Errorf("failing: %s", p.Failing)
				}
				end := b.Deploy(files)
				if end.Outcome != want || strings.Contains(end.Cause, "web:1 does not work") {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
			})
		})
	}
}

// All tasks of the running version ended after minutes, and those in their places are healthy, but have not outlived
// them yet. What failed before the deployment does not end it. A version that ends within seconds still does.
func TestPipelineOverAVersionWhoseTasksWereAllReplaced(t *testing.T) {
	t.Parallel()
	for v1, want := range map[string]sluice.Outcome{"sim/web:v1-crash-after-500s": sluice.Succeeded,
		v1Crashes: sluice.Failed} {
		t.Run(v1, func(t *testing.T) {
			t.Parallel()
			stagetest.Run(t, stagetest.Options{V1: v1}, func(b *stagetest.Bench) {
				b.Sleep(610 * time.Second)
				end := b.Deploy(b.Files("sim/web:v2", stagetest.CanaryPipeline))
				if end.Outcome != want {
					b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
				}
			})
		})
	}
}

// ECS gave the running version up, because its tasks stop by themselves, and a scale-out deploys it again. Those tasks
// withhold the success until the new ones have been stable.
func TestScaleOutOfAVersionThatWasGivenUp(t *testing.T) {
	t.Parallel()
	const crashes = "sim/web:v1-crash-after-26s-exit-4"
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		b.Deploy(b.RollingFiles(crashes, "desiredCount: 4\n"+stagetest.Breaker))
		b.Sleep(100 * time.Second)
		s := stagetest.Got(b.ECS.DescribeServices(context.Background(), &awsecs.DescribeServicesInput{
			Cluster: aws.String("prod"), Services: []string{"web"}}))(b).Services[0]
		if s.Deployments[0].RolloutState != "FAILED" {
			b.Errorf("the version was not given up: %s", s.Deployments[0].RolloutState)
		}
		p := stagetest.Got(b.Plan(b.RollingFiles(crashes, "desiredCount: 6\n"+stagetest.Breaker),
			mode.Options{Restart: "web:1 is FAILED"}))(b)
		id := stagetest.Got(b.Engine.Start(context.Background(), p, engine.TriggerManual))(b)
		end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
		if end.Outcome != sluice.Failed || !strings.Contains(end.Cause, "exit code 4") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
		}
	})
}
