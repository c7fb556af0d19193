package ecs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/definition"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict/diagnosis"
)

// jobs returns the client of the tasks of family job.
func (b *bench) jobs() ecs.Tasks { return ecs.Tasks{API: b.api, Cluster: "prod", Family: "job"} }

func (b *bench) launch(image string, count int) ecs.Launch {
	request := definition.NewRun()
	request.Input.LaunchType, request.Input.NetworkConfiguration = "FARGATE", network()
	return ecs.Launch{ID: "d1/1/run", Planned: sluice.Write{Operation: "ecs:RunTask", Resource: "prod/job"},
		StartedBy: "d1/job", Revision: b.register("job", image), Count: count, Request: request}
}

// The same launch starts the same tasks, however often it is repeated.
func TestTasksAreStartedOnce(t *testing.T) {
	for _, fault := range []string{"", "lost-reply ecs:RunTask times=1"} {
		onWorld(t, func(b *bench) {
			l := b.launch("sim/job:v1?exit-after=1m", 2)
			if fault != "" {
				b.inject(fault)
			}
			out, err := b.jobs().Run(b.ctx, b.act, "run job", l)
			b.check(err)
			again, err := b.jobs().Run(b.ctx, b.act, "run job", l)
			b.check(err)
			slices.Sort(out.Tasks)
			slices.Sort(again.Tasks)
			found, err := b.jobs().FindTasks(b.ctx, "d1/job")
			b.check(err)
			if len(out.Tasks) != 2 || !slices.Equal(out.Tasks, again.Tasks) || !slices.Equal(out.Tasks, found) ||
				len(out.Missing) != 0 {
				t.Errorf("%q: %v, then %v; %v", fault, out, again, found)
			}
			l.Count = 1 // the token of other parameters
			if again, err = b.jobs().Run(b.ctx, b.act, "run job", l); err != nil || len(again.Tasks) != 2 {
				t.Errorf("%q: with other parameters %v %v", fault, again, err)
			}
		})
	}
}

// A task is found after it stopped, with its exit code; tasks of services are none of the family.
func TestEndedTasks(t *testing.T) {
	onWorld(t, func(b *bench) {
		l := b.launch("sim/job:v1?crash-after=5s&exit=3", 1)
		out, err := b.jobs().Run(b.ctx, b.act, "run job", l)
		b.check(err)
		read := func() ecs.TaskRun {
			all, err := b.jobs().DescribeTasks(b.ctx, out.Tasks)
			b.check(err)
			return all[0]
		}
		if r := read(); r.Ended != nil || r.StartedBy != "d1/job" {
			t.Errorf("at once %+v", r)
		}
		b.until("it has stopped", func() bool { return read().Ended != nil })
		if e := read().Ended; e.Revision != l.Revision.Name || len(e.Containers) != 1 || *e.Containers[0].ExitCode != 3 {
			t.Errorf("%+v", e)
		}
		if found, err := b.jobs().FindTasks(b.ctx, "d1/job"); err != nil || !slices.Equal(found, out.Tasks) {
			t.Errorf("%v %v", found, err)
		}
		if found, err := b.jobs().FindTasks(b.ctx, "d2/job"); err != nil || len(found) != 0 {
			t.Errorf("of another deployment: %v %v", found, err)
		}
		if all, err := b.jobs().ReadFamily(b.ctx); err != nil || len(all) != 1 {
			t.Errorf("%v %v", all, err)
		}
		if all, err := (ecs.Tasks{API: b.api, Cluster: "prod", Family: "api"}).ReadFamily(b.ctx); err != nil ||
			len(all) != 0 {
			t.Errorf("of a service: %v %v", all, err)
		}
	})
}

// A request that ECS refuses starts no task and names what to change.
func TestRefusedTasks(t *testing.T) {
	onWorld(t, func(b *bench) {
		l := b.launch("sim/job:v1", 1)
		l.Request.Input.NetworkConfiguration = nil
		out, err := b.jobs().Run(b.ctx, func(ctx context.Context, a sluice.Attempt,
			call func(context.Context) (string, error)) error {
			err := b.act(ctx, a, call)
			return &sluice.Error{Op: "run job", Err: err}
		}, "run job", l)
		if err == nil || len(out.Tasks) > 0 || !strings.Contains(sluice.NextStep(err), "fix the field") {
			t.Errorf("%v %v", out, err)
		}
	})
}

// The tasks of a service, their addresses, zones and start times.
func TestTasksOfAService(t *testing.T) {
	onWorld(t, func(b *bench) {
		tasks, err := b.service("web").Tasks(b.ctx)
		b.check(err)
		set := b.observe("web").Primary()
		for _, x := range tasks {
			if x.StartedBy != set.ID || x.Revision != set.Revision || x.Status != "RUNNING" || x.Address == "" ||
				x.Zone == "" || x.StartedAt.IsZero() {
				t.Errorf("%+v", x)
			}
		}
		start, zones, err := b.service("web").LaunchTimes(b.ctx)
		if err != nil || len(tasks) != 2 || zones != 2 || start <= 0 {
			t.Errorf("%d tasks, %s, %d zones, %v", len(tasks), start, zones, err)
		}
		unknown := strings.Repeat("0", 32)
		ids := []string{tasks[0].ID, tasks[1].ID, unknown}
		_, err = b.plain.StopTask(b.ctx, &awsecs.StopTaskInput{Cluster: aws.String("prod"), Task: aws.String(ids[0])})
		b.check(err)
		stopped, err := b.service("web").StoppedTasks(b.ctx, ids)
		if err != nil || !slices.Equal(stopped, []string{ids[0], unknown}) {
			t.Errorf("stopped %v %v", stopped, err)
		}
		addresses, err := b.service("web").Addresses(b.ctx)
		if err != nil || !addresses[tasks[0].Address] || !addresses[tasks[1].Address] {
			t.Errorf("%v, without a stopping task: %v", addresses, err)
		}
		if all, err := b.service("none").Addresses(b.ctx); err != nil || len(all) != 0 {
			t.Errorf("of no service: %v %v", all, err)
		}
	})
}

// A read that is older than a task does not return it. It has not stopped: a second read shows it.
func TestTaskThatAReadIsTooOldForHasNotStopped(t *testing.T) {
	onWorld(t, func(b *bench) {
		before := b.taskIDs()
		_, err := b.plain.UpdateService(b.ctx, &awsecs.UpdateServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("web"), DesiredCount: aws.Int32(3)})
		b.check(err)
		var fresh []string
		for len(fresh) == 0 {
			b.check(b.clock.Sleep(b.ctx, 100*time.Millisecond))
			fresh = slices.DeleteFunc(b.taskIDs(), func(id string) bool { return slices.Contains(before, id) })
		}
		b.check(b.sim.Inject("stale ecs:DescribeTasks by=4s"))
		web := b.service("web")
		if old, err := web.StoppedTasks(b.ctx, fresh); err != nil || len(old) != len(fresh) {
			t.Fatalf("one old read: %v %v, want %v", old, err, fresh)
		}
		web.Confirm = func(ctx context.Context) error { return b.clock.Sleep(ctx, ecs.ReadLag) }
		if stopped, err := web.StoppedTasks(b.ctx, fresh); err != nil || len(stopped) > 0 {
			t.Errorf("stopped: %v %v, want none", stopped, err)
		}
		unknown := strings.Repeat("0", 32)
		if stopped, err := web.StoppedTasks(b.ctx, []string{unknown}); err != nil || len(stopped) != 1 {
			t.Errorf("a task that ECS does not know: %v %v, want it", stopped, err)
		}
	})
}

func (b *bench) taskIDs() (ids []string) {
	out, err := b.plain.ListTasks(b.ctx, &awsecs.ListTasksInput{Cluster: aws.String("prod"), ServiceName: aws.String("web")})
	b.check(err)
	for _, arn := range out.TaskArns {
		ids = append(ids, sluice.ARNName(arn))
	}
	return ids
}

// Each stopped task is returned once, and only those of the task set or of the service.
func TestStoppedTasksAreReturnedOnce(t *testing.T) {
	onWorld(t, func(b *bench) {
		set, _, err := b.sets().EnsureSet(b.ctx, b.act, b.canarySet("sim/web:v2?crash-after=10s&exit=3"))
		b.check(err)
		primary := b.observe("web").Primary()
		ofService, ofSet, ofOther := &ecs.StoppedReader{}, &ecs.StoppedOfSet{}, &ecs.StoppedOfSet{}
		seen := map[string]int{}
		note := func(where string, stopped []diagnosis.Stopped, err error) {
			b.check(err)
			for _, x := range stopped {
				seen[where+" "+x.ID]++
				if x.Deployment != set.ID || x.Revision != set.Revision || x.ExitCode == nil || *x.ExitCode != 3 ||
					x.Container != "app" {
					t.Errorf("%s: %+v", where, x)
				}
			}
		}
		for range 30 {
			stopped, err := ofService.Update(b.ctx, b.service("web"))
			note("service", stopped, err)
			stopped, err = ofSet.Update(b.ctx, b.service("web"), set.ID)
			note("set", stopped, err)
			stopped, err = ofOther.Update(b.ctx, b.service("web"), primary.ID)
			note("other", stopped, err)
			b.check(b.clock.Sleep(b.ctx, 10*time.Second))
		}
		count := map[string]int{}
		for key, n := range seen {
			where, _, _ := strings.Cut(key, " ")
			if count[where]++; n != 1 {
				t.Errorf("%s was returned %d times", key, n)
			}
		}
		if count["service"] < 2 || count["set"] < 2 || count["other"] > 0 {
			t.Errorf("%v", count)
		}
	})
}

// targetsOf returns the targets of a set's tasks, all in one state.
func targetsOf(tasks []ecs.Task, set, state string) (all []sluice.Target) {
	for _, x := range tasks {
		if x.StartedBy == set {
			all = append(all, sluice.Target{ID: x.Address, State: state})
		}
	}
	return all
}

// The targets of two task sets in one target group are told apart, also while tasks stop.
func TestTargetOwners(t *testing.T) {
	onWorld(t, func(b *bench) {
		want := b.canarySet("sim/web:v2")
		want.Scale, want.Attach.TargetGroup = 100, b.targetGroup("web")
		made, _, err := b.sets().EnsureSet(b.ctx, b.act, want)
		b.check(err)
		b.until("the canary runs", func() bool { return b.observe("web").TaskSet(made.ID).Running == 2 })
		set := *b.observe("web").TaskSet(made.ID)
		owners := &ecs.TargetOwners{}
		b.check(owners.Update(b.ctx, b.service("web"), set, nil))
		tasks, err := b.service("web").Tasks(b.ctx)
		b.check(err)
		for _, x := range tasks {
			if owners.Has(x.Address) != (x.StartedBy == set.ID) {
				t.Errorf("%s of %s: %v", x.Address, x.StartedBy, owners.Has(x.Address))
			}
		}
		registered := targetsOf(tasks, set.ID, "healthy")
		for _, x := range []struct {
			targets []sluice.Target
			reads   int
			why     string
		}{
			{registered, 0, "no count has changed"},
			{registered[:1], 1, "a task has no known target"},
			{targetsOf(tasks, set.ID, "draining"), 1, "the known targets are those of tasks that stop"},
		} {
			reads := b.calls["ListTasks"]
			b.check(owners.Update(b.ctx, b.service("web"), set, x.targets))
			if n := b.calls["ListTasks"] - reads; n != x.reads {
				t.Errorf("%s: %d reads, want %d", x.why, n, x.reads)
			}
		}
		b.check(b.sets().Scale(b.ctx, b.act, set, "task set of canary", 0))
		b.until("its tasks stop", func() bool { return b.observe("web").TaskSet(set.ID).Running == 0 })
		stopping := &ecs.StoppingTasks{}
		b.check(stopping.Update(b.ctx, b.service("web"), set.ID))
		ofPrimary := &ecs.StoppingTasks{}
		b.check(ofPrimary.Update(b.ctx, b.service("web"), b.observe("web").Primary().ID))
		for _, x := range tasks {
			own := x.StartedBy == set.ID
			if stopping.IsKnown(x.Address) != own || stopping.IsOfOtherSet(x.Address) ||
				ofPrimary.IsOfOtherSet(x.Address) != own {
				t.Errorf("%s of %s", x.Address, x.StartedBy)
			}
		}
	})
}

// The last lines of a crashed container, or why there are none.
func TestLogs(t *testing.T) {
	onWorld(t, func(b *bench) {
		long := strings.Repeat("x", 400)
		l := b.launch("sim/job:v1?crash-after=5s&exit=3&prints=one|two|"+long, 1)
		out, err := b.jobs().Run(b.ctx, b.act, "run job", l)
		b.check(err)
		td, err := ecs.ReadDefinition(b.ctx, b.api, l.Revision.Name)
		b.check(err)
		outputs := ecs.ContainerOutputs(td, out.Tasks[0])
		tail := &ecs.Tail{Place: outputs[0].Place}
		lines, err := tail.Read(b.ctx, b.account.Logs())
		if len(outputs) != 1 || outputs[0].Err != nil || err != nil || len(lines) != 0 {
			t.Errorf("before it prints: %v %v %v", outputs, lines, err)
		}
		b.until("it has stopped", func() bool {
			all, err := b.jobs().DescribeTasks(b.ctx, out.Tasks)
			b.check(err)
			return all[0].Ended != nil
		})
		var text []string
		for range 2 { // the second read has no more lines
			lines, err := tail.Read(b.ctx, b.account.Logs())
			b.check(err)
			for _, line := range lines {
				text = append(text, line.Text)
			}
		}
		if !slices.Equal(text, []string{"version v1 starts", "one", "two", long, "fatal: exit 3"}) {
			t.Errorf("%q", text)
		}
		stopped := diagnosis.Stopped{StoppedTask: sluice.StoppedTask{ID: out.Tasks[0], Container: "app"},
			Revision: l.Revision.Name}
		logs := ecs.LastLogs{ECS: b.api, Logs: b.account.Logs()}.Read(b.ctx, []diagnosis.Stopped{stopped})
		want := []string{"version v1 starts", "one", "two", strings.Repeat("x", 299) + "…", "fatal: exit 3"}
		if len(logs) != 1 || logs[0].Err != "" || !slices.Equal(logs[0].Lines, want) ||
			logs[0].Place != "/ecs/app app/app/"+out.Tasks[0] {
			t.Errorf("%+v", logs)
		}
		stopped.Container = "other"
		logs = ecs.LastLogs{ECS: b.api, Logs: b.account.Logs()}.Read(b.ctx, []diagnosis.Stopped{stopped})
		if fmt.Sprint(logs[0].Err) != "the task definition has no such container" || len(logs[0].Lines) != 0 {
			t.Errorf("%+v", logs)
		}
	})
}
