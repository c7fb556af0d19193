package watch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/verdict"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// early are versions whose tasks are healthy, and then stop by themselves before or soon after AWS reports success.
// The tasks of late stop later: only a bake shows it.
const (
	early = "sim/web:v2?oom-after=25s"
	late  = "sim/web:v2?crash-after=70s&exit=1"
)

// A version whose tasks die again and again after they were healthy is no success, with and without a load balancer,
// and whether or not a circuit breaker is on: the circuit breaker does not count such deaths.
func TestTasksThatDieAfterTheyWereHealthy(t *testing.T) {
	for _, c := range []struct {
		image string
		bake  time.Duration
	}{{early, 0}, {late, time.Minute}} {
		for i := range 4 {
			breaker, balanced := i%2 == 0, i/2 == 0
			on(t, options{seed: uint64(i)}, func(b *bench) {
				if balanced {
					b.balance()
				}
				b.serve("web", b.revision("sim/web:v1"), rolling{desired: 4, breaker: breaker, rollback: breaker})
				b.deploy("web", b.revision(c.image))
				v := b.wait("web", verdict.Wanted{Timeout: time.Hour, Bake: c.bake})
				isFailed := v.Outcome == sluice.Failed || breaker && v.Outcome == sluice.RolledBack
				if !isFailed || v.Cause.Count < diagnosis.FailAfter {
					t.Errorf("%s, breaker %t, balanced %t: %s: %s\n%s", c.image, breaker, balanced, v.Outcome, v.Detail, b.story())
				}
			})
		}
	}
}

// A wait that begins in the middle of such a loop, after AWS has reported success, has the same verdict.
func TestWaitBeginsBetweenTwoDeaths(t *testing.T) {
	for _, after := range []time.Duration{0, 10 * time.Second, 30 * time.Second, 10 * time.Minute} {
		on(t, options{}, func(b *bench) {
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			b.deploy("web", b.revision(late))
			b.until("AWS reports success", func() bool { return len(b.service("web").Deployments) == 1 })
			b.sleep(70*time.Second + after)
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			b.ends(v, sluice.Failed, "", diagnosis.ExitCode)
		})
	}
}

// One task that dies once withholds the success until the others have been stable, and not longer.
func TestOneDeathWithholdsTheSuccess(t *testing.T) {
	for seed := range 8 {
		on(t, options{seed: uint64(seed)}, func(b *bench) {
			b.balance()
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 4, breaker: seed%2 == 0, rollback: true})
			b.deploy("web", b.revision("sim/web:v2"))
			var died time.Time
			b.clock.Go(func() {
				b.until("only new tasks run", func() bool { return b.isAlone(4) })
				must(b, b.sim.Inject("task-crash web count=1 exit=137"))
				died = b.clock.Now()
			})
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			b.ends(v, sluice.Succeeded, "", "")
			if d := b.clock.Now().Sub(died); d < time.Minute || d > 5*time.Minute ||
				!strings.Contains(b.story(), "1 task stopped by itself: success needs 1m") {
				t.Errorf("seed %d: succeeded %s after the death\n%s", seed, d, b.story())
			}
		})
	}
}

// A bake withholds a success for its time, and a clean version pays nothing else.
func TestBakeWithholdsTheSuccess(t *testing.T) {
	var took [2]time.Duration
	for i, bake := range []time.Duration{0, 3 * time.Minute} {
		on(t, options{}, func(b *bench) {
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			b.deploy("web", b.revision("sim/web:v2"))
			began := b.clock.Now()
			b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour, Bake: bake}), sluice.Succeeded, "", "")
			took[i] = b.clock.Now().Sub(began)
		})
	}
	if d := took[1] - took[0]; d < 3*time.Minute-time.Second || d > 3*time.Minute+5*time.Second {
		t.Errorf("a bake of 3 minutes took %s", d)
	}
}

// Tasks that a person stops, and tasks that ECS stops to scale in, are no deaths.
func TestStopsByOthersAreNoDeaths(t *testing.T) {
	on(t, options{}, func(b *bench) {
		b.serve("web", b.revision("sim/web:v1"), rolling{desired: 4, breaker: true, rollback: true})
		b.deploy("web", b.revision("sim/web:v2"))
		b.clock.Go(func() {
			b.until("all tasks run", func() bool { return b.service("web").Deployments[0].RunningCount == 4 })
			b.stopTasks("web:2", 3)
		})
		b.ends(b.wait("web", verdict.Wanted{Timeout: time.Hour}), sluice.Succeeded, "", "")
		if strings.Contains(b.story(), "stopped by") {
			t.Error(b.story())
		}
	})
}

// stopTasks stops n tasks of a revision, as a person does.
func (b *bench) stopTasks(revision string, n int) {
	ctx := context.Background()
	arns := got(b.ecs.ListTasks(ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod"),
		ServiceName: aws.String("web")}))(b).TaskArns
	for _, task := range got(b.ecs.DescribeTasks(ctx, &awsecs.DescribeTasksInput{Cluster: aws.String("prod"),
		Tasks: arns}))(b).Tasks {
		if n > 0 && sluice.RevisionOf(*task.TaskDefinitionArn) == revision {
			n--
			got(b.ecs.StopTask(ctx, &awsecs.StopTaskInput{Cluster: aws.String("prod"), Task: task.TaskArn}))(b)
		}
	}
}

// isAlone reports whether n tasks of the newest deployment run, and no others.
func (b *bench) isAlone(n int32) bool {
	s := b.service("web")
	return s.Deployments[0].RunningCount == n && s.RunningCount == n
}

// CodeDeploy does not watch tasks that were healthy once: neither while it keeps the original task set, nor after. A
// version whose tasks die then is a failure for a wait that began with the deployment, and for one that begins after it.
func TestCodeDeployWatchesNoTasksThatWereHealthy(t *testing.T) {
	for name, c := range map[string]struct {
		group, image string
		bake, after  time.Duration
	}{
		"while the original is kept": {group: "terminate: 5m", image: "sim/web:v2?oom-after=50s"},
		"at once":                    {image: "sim/web:v2?oom-after=25s"},
		"in the bake":                {image: "sim/web:v2?crash-after=70s&exit=1", bake: 2 * time.Minute},
		"wait begins later":          {image: "sim/web:v2?crash-after=70s&exit=1", after: 6 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			onCode(t, codeOptions{seed: 3, group: c.group}, func(b *codeBench) {
				id := b.bring(c.image, "")
				b.sleep(c.after)
				want := verdict.Wanted{Deployment: id, Revision: "web:2", JustCreated: c.after == 0, Bake: c.bake}
				v := b.follow(want)
				if v.Outcome != sluice.Failed || v.Cause.Count < diagnosis.FailAfter || v.Cause.Task == "" {
					t.Errorf("%s: %s\n%s", v.Outcome, v.Detail, strings.Join(b.seen, "\n"))
				}
				if s := b.get(id).Status; c.group != "" && s != "InProgress" {
					t.Errorf("the deployment was %s", s)
				}
			})
		})
	}
}

// A version whose tasks die while a wait that has seen AWS's success waits for callers is no success: nobody else reads
// these deaths. One that keeps running is one.
func TestDeathsWhileCallersAreAwaited(t *testing.T) {
	for image, want := range map[string]sluice.Outcome{
		late: sluice.Failed, "sim/web:v2?unhealthy-after=60s": sluice.Failed, "sim/web:v2": sluice.Succeeded,
	} {
		for after := 20 * time.Second; after < time.Minute; after += 5 * time.Second { // tasks are being replaced, or were
			t.Run(image+" "+after.String(), func(t *testing.T) {
				on(t, options{}, func(b *bench) {
					b.balance()
					b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
					b.deploy("web", b.revision(image))
					b.clock.Go(func() {
						b.until("only new tasks run", func() bool { return b.isAlone(2) })
						b.forward(0, 0)
						b.until("AWS reports success", func() bool { return len(b.service("web").Deployments) == 1 })
						b.sleep(after)
						b.forward(100, 0)
					})
					v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
					if v.Outcome != want || v.Revision != "web:2" || v.Deployment == "" || v.Callers != verdict.CallersServed ||
						want == sluice.Failed && (v.Cause.Count < diagnosis.FailAfter || v.Next == "") {
						t.Errorf("%s, callers %q: %s\nnext: %s\n%s", v.Outcome, v.Callers, v.Detail, v.Next, b.story())
					}
				})
			})
		}
	}
}

// The load balancer answers late at the end, and tasks die meanwhile: what was read of them before does not count.
func TestDeathsWhileCallersAreReadSlowly(t *testing.T) {
	for image, want := range map[string]sluice.Outcome{"sim/web:v2": sluice.Succeeded,
		"sim/web:v2?exit=1&crash-after=60s": sluice.Failed, "sim/web:v2?exit=1&crash-after=70s": sluice.Failed,
		"sim/web:v2?exit=1&crash-after=80s": sluice.Failed, "sim/web:v2?exit=1&crash-after=100s": sluice.Failed} {
		on(t, options{}, func(b *bench) {
			b.balance()
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
			b.deploy("web", b.revision(image))
			b.clock.Go(func() {
				b.until("only new tasks run", func() bool { return b.isAlone(2) })
				must(b, b.sim.Inject("latency elasticloadbalancing:* by=15s"))
			})
			if v := b.wait("web", verdict.Wanted{Timeout: time.Hour}); v.Outcome != want || v.Revision != "web:2" {
				t.Errorf("%s: %s: %s\n%s", image, v.Outcome, v.Detail, b.story())
			}
		})
	}
}

// One task of four is unhealthy when callers are served again, and ECS has started the task that replaces it: the success
// waits for its end, and the others die too.
func TestReplacementWhileCallersAreAwaited(t *testing.T) {
	for after := 20 * time.Second; after < time.Minute; after += 5 * time.Second {
		on(t, options{}, func(b *bench) {
			b.balance()
			b.serve("web", b.revision("sim/web:v1"), rolling{desired: 4, min: 100, max: 125, breaker: true, rollback: true})
			b.deploy("web", b.revision("sim/web:v2?unhealthy-after=180s"))
			b.clock.Go(func() {
				b.until("only new tasks run", func() bool { return b.isAlone(4) })
				b.forward(0, 0)
				b.until("AWS reports success", func() bool { return len(b.service("web").Deployments) == 1 })
				b.sleep(after)
				b.forward(100, 0)
			})
			v := b.wait("web", verdict.Wanted{Timeout: time.Hour})
			if v.Outcome != sluice.Failed || v.Cause.Count < diagnosis.FailAfter {
				t.Errorf("%s: %s: %s\n%s", after, v.Outcome, v.Detail, b.story())
			}
		})
	}
}

// Another deployment, or the deletion of the service, while a wait that has seen AWS's success waits for callers.
func TestReplacedWhileCallersAreAwaited(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		do      func(*bench)
		outcome sluice.Outcome
	}{
		"another deployment": {func(b *bench) { b.deploy("web", b.revision("sim/web:v3")) }, sluice.Superseded},
		"the service is deleted": {func(b *bench) {
			got(b.ecs.DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
				Force: aws.Bool(true)}))(b)
		}, sluice.Gone},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.balance()
				b.serve("web", b.revision("sim/web:v1"), rolling{desired: 2, breaker: true, rollback: true})
				b.deploy("web", b.revision("sim/web:v2"))
				b.clock.Go(func() {
					b.until("only new tasks run", func() bool { return b.isAlone(2) })
					b.forward(0, 0)
					b.until("AWS reports success", func() bool { return len(b.service("web").Deployments) == 1 })
					b.sleep(20 * time.Second)
					c.do(b)
					b.sleep(30 * time.Second)
					b.forward(100, 0)
				})
				v := b.wait("web", verdict.Wanted{Revision: "web:2", Timeout: time.Hour})
				if v.Outcome != c.outcome || v.Revision != "web:2" {
					t.Errorf("%s of %s: %s\n%s", v.Outcome, v.Revision, v.Detail, b.story())
				}
			})
		})
	}
}

// Single tasks of a version that serves died, far apart, and each was replaced. After the time without a death that a
// success needs they do not count, also while it is scaled out. Before that they do, and so do those of a loop in which
// all tasks live for minutes.
func TestDeathsLongBeforeTheWait(t *testing.T) {
	for name, c := range map[string]struct {
		image string
		since time.Duration
		scale int32
		want  sluice.Outcome
	}{
		"stable":            {"sim/web:v2", 2 * time.Minute, 4, sluice.Succeeded},
		"stable, scale out": {"sim/web:v2", 2 * time.Minute, 5, sluice.Succeeded},
		"not yet":           {"sim/web:v2", 30 * time.Second, 4, sluice.Failed},
		"a loop":            {"sim/web:v2?crash-after=300s&exit=1", 6 * time.Minute, 4, sluice.Failed},
		"a slow loop":       {"sim/web:v2?crash-after=450s&exit=1", 8 * time.Minute, 4, sluice.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			on(t, options{}, func(b *bench) {
				b.balance()
				b.serve("web", b.revision("sim/web:v1"), rolling{desired: 4, breaker: true, rollback: true})
				b.deploy("web", b.revision(c.image))
				b.until("AWS reports success", func() bool { return len(b.service("web").Deployments) == 1 })
				b.sleep(650 * time.Second)
				for i := range 3 {
					if strings.Contains(c.image, "?") {
						break
					}
					if i > 0 {
						b.sleep(200 * time.Second)
					}
					must(b, b.sim.Inject("task-crash web count=1 exit=1"))
				}
				b.sleep(c.since)
				if c.scale != 4 {
					b.scale("web", c.scale)
				}
				if v := b.wait("web", verdict.Wanted{Timeout: time.Hour}); v.Outcome != c.want {
					t.Errorf("%s: %s\n%s", v.Outcome, v.Detail, b.story())
				}
			})
		})
	}
}

// The same of a version that CodeDeploy has deployed: who asks later gets what callers get.
func TestDeathsLongBeforeTheWaitForCodeDeploy(t *testing.T) {
	for name, c := range map[string]struct {
		since time.Duration
		want  sluice.Outcome
	}{
		"stable":  {5 * time.Minute, sluice.Succeeded},
		"not yet": {30 * time.Second, sluice.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			onCode(t, codeOptions{seed: 5}, func(b *codeBench) {
				id := b.bring("sim/web:v2", "")
				b.finishes(id)
				for range 4 {
					must(b, b.sim.Inject("task-crash web count=1 exit=1"))
					b.sleep(time.Minute)
				}
				b.sleep(c.since)
				if v := b.follow(verdict.Wanted{Deployment: id, Revision: "web:2"}); v.Outcome != c.want {
					t.Errorf("%s: %s\n%s", v.Outcome, v.Detail, strings.Join(b.seen, "\n"))
				}
			})
		})
	}
}
