package ecs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// A revision that AWS has is not registered again, also after a lost response.
func TestRevisionIsRegisteredOnce(t *testing.T) {
	for _, fault := range []string{"", "lost-reply ecs:RegisterTaskDefinition times=1",
		"no-send ecs:RegisterTaskDefinition times=1"} {
		onWorld(t, func(b *bench) {
			want := b.task("job", "sim/job:v1")
			if fault != "" {
				b.inject(fault)
			}
			shown := func(ctx context.Context) (ecs.Revision, error) { return ecs.FindRecent(ctx, b.api, want) }
			for range 2 {
				rev, err := ecs.EnsureRevision(b.ctx, b.api, b.act, want, shown)
				if err != nil || rev.Name != "job:1" {
					t.Errorf("%q: %v %v", fault, rev, err)
				}
			}
			latest, err := ecs.LatestTagged(b.ctx, b.api, "job")
			if err != nil || latest.Revision != 1 {
				t.Errorf("%q: the newest is %d: %v", fault, latest.Revision, err)
			}
		})
	}
}

// Another revision that was registered directly after ours hides it from FindRegistered only.
func TestRevisionBehindANewerOne(t *testing.T) {
	onWorld(t, func(b *bench) {
		want := b.task("job", "sim/job:v1")
		first := b.register("job", "sim/job:v1")
		b.register("job", "sim/job:v2")
		if rev, err := ecs.FindRegistered(b.ctx, b.api, want); err != nil || rev.ARN != "" {
			t.Errorf("%v %v", rev, err)
		}
		if rev, err := ecs.FindRecent(b.ctx, b.api, want); err != nil || rev != first {
			t.Errorf("%v %v, want %v", rev, err, first)
		}
		for i := range 5 {
			b.register("job", fmt.Sprintf("sim/job:v%d", 10+i))
		}
		if rev, err := ecs.FindRecent(b.ctx, b.api, want); err != nil || rev.ARN != "" {
			t.Errorf("%v %v is older than the newest five", rev, err)
		}
	})
}

func TestFamilyWithoutARevision(t *testing.T) {
	onWorld(t, func(b *bench) {
		if td, err := ecs.LatestTagged(b.ctx, b.api, "none"); td != nil || err != nil {
			t.Errorf("%v %v", td, err)
		}
		if _, err := ecs.ReadDefinition(b.ctx, b.api, "none:1"); err == nil || sluice.NextStep(err) == "" {
			t.Errorf("%v", err)
		}
	})
}

// The oldest revisions are deregistered; what a service or a task runs is used.
func TestOldRevisions(t *testing.T) {
	onWorld(t, func(b *bench) {
		b.register("api", "sim/api:v2")
		b.register("api", "sim/api:v3")
		b.register("api", "sim/api:v4")
		old, err := ecs.OlderRevisions(b.ctx, b.api, "api", 1, 2)
		if err != nil || len(old) != 2 || old[0].Name != "api:3" || old[1].Name != "api:2" {
			t.Fatalf("%v %v", old, err)
		}
		if all, err := ecs.OlderRevisions(b.ctx, b.api, "api", 9, 2); err != nil || len(all) != 0 {
			t.Errorf("%v %v", all, err)
		}
		_, err = b.plain.RunTask(b.ctx, &awsecs.RunTaskInput{Cluster: aws.String("prod"), LaunchType: "FARGATE",
			TaskDefinition: aws.String("api:2"), NetworkConfiguration: network()})
		b.check(err)
		used, err := b.service("api").UsedRevisions(b.ctx, "api")
		if err != nil || len(used) != 2 || !used["api:1"] || !used["api:2"] {
			t.Errorf("%v %v", used, err)
		}
		b.check(ecs.Deregister(b.ctx, b.api, b.act, "old task definitions", old[0]))
		for name, want := range map[string]bool{"api:3": true, "api:2": false} {
			if got, err := ecs.IsDeregistered(b.ctx, b.api, name); err != nil || got != want {
				t.Errorf("%s: %v %v", name, got, err)
			}
		}
	})
}

func TestTaggedRevision(t *testing.T) {
	onWorld(t, func(b *bench) {
		plain := b.task("job", "sim/job:v1")
		tagged := ecs.WithTag(plain, "sluice:deployment", "d1")
		if len(plain.Input.Tags) != 0 {
			t.Error("the original has the tag")
		}
		rev, err := ecs.Register(b.ctx, b.api, b.act, tagged)
		b.check(err)
		for value, want := range map[string]bool{"d1": true, "d2": false} {
			if got, err := ecs.TaggedRevision(b.ctx, b.api, rev, "sluice:deployment", value); err != nil || got != want {
				t.Errorf("%s: %v %v", value, got, err)
			}
		}
	})
}

// A revision is read once: it never changes. A failed read is repeated.
func TestDefinitionCache(t *testing.T) {
	onWorld(t, func(b *bench) {
		c := ecs.NewDefinitionCache(b.api)
		if _, err := c.Read(b.ctx, "job:1"); err == nil {
			t.Error("a revision that does not exist was read")
		}
		b.register("job", "sim/job:v1")
		b.calls["DescribeTaskDefinition"] = 0
		for range 3 {
			td, err := c.Read(b.ctx, "job:1")
			if err != nil || aws.ToString(td.ContainerDefinitions[0].Image) != "sim/job:v1" {
				t.Errorf("%+v %v", td, err)
			}
		}
		if n := b.calls["DescribeTaskDefinition"]; n != 1 {
			t.Errorf("read %d times", n)
		}
	})
}

// A rolling deployment is one call, and it can be stopped while it runs.
func TestRollingDeployment(t *testing.T) {
	onWorld(t, func(b *bench) {
		s := b.service("api")
		running := func() string {
			arn, err := s.RunningDeployment(b.ctx)
			b.check(err)
			return arn
		}
		first, firstRevision := b.observe("api").PrimaryDeployment()
		if running() != "" || b.observe("api").DeploymentInProgress() {
			t.Error("a deployment runs before the test")
		}
		rev := b.register("api", "sim/api:v2")
		now, err := s.UpdateRolling(b.ctx, b.act, "update", rev, ecs.CountUpdate(3), false)
		b.check(err)
		id, revision := now.PrimaryDeployment()
		if id == first || revision != rev.Name || now.Desired != 3 || !now.DeploymentInProgress() ||
			!now.ListsDeployment(first) || now.PrimaryCreated().IsZero() {
			t.Errorf("%s of %s, desired %d", id, revision, now.Desired)
		}
		b.until("the deployment is listed", func() bool { return running() != "" })
		arn := running()
		if stopped, err := s.StopDeployment(b.ctx, b.act, "running deployment", arn); err != nil || !stopped {
			t.Errorf("%v %v", stopped, err)
		}
		b.until("the rollback is done", func() bool {
			live := b.observe("api")
			_, revision := live.PrimaryDeployment()
			return revision == firstRevision && !live.DeploymentInProgress()
		})
		if stopped, err := s.StopDeployment(b.ctx, b.act, "running deployment", arn); err != nil || stopped {
			t.Errorf("the second time: %v %v", stopped, err)
		}
		past, err := s.PastDeployments(b.ctx)
		if err != nil || len(past) < 2 || past[0].ARN != arn || past[0].RevisionName() != rev.Name {
			t.Errorf("%+v %v", past, err)
		}
		if r, err := s.Record(b.ctx, arn); err != nil || r.ARN != arn {
			t.Errorf("%+v %v", r, err)
		}
		if r, err := s.Record(b.ctx, arn+"0"); err != nil || r.ARN != "" {
			t.Errorf("a deployment that does not exist: %+v %v", r, err)
		}
	})
}

// A service that ECS rolls is created once: its client token is the action's.
func TestRollingServiceIsCreated(t *testing.T) {
	onWorld(t, func(b *bench) {
		b.inject("lost-reply ecs:CreateService times=1")
		rev := b.register("new", "sim/new:v1")
		b.check(b.service("new").CreateRolling(b.ctx, b.act, "d1/0/create service", awsecs.CreateServiceInput{
			LaunchType: "FARGATE", NetworkConfiguration: network(), Role: aws.String("")}, rev,
			map[string]string{"sluice:deployment": "d1"}))
		live := b.observe("new")
		if live.Controller != "ECS" || live.Desired != 1 || live.Serving() != rev.Name ||
			live.Tags["sluice:deployment"] != "d1" {
			t.Errorf("%+v", live)
		}
	})
}

// A canary service that somebody deletes or deleted has no tasks: only another count than 0 is an error.
func TestScaleDeletedCanaryService(t *testing.T) {
	onWorld(t, func(b *bench) {
		canary := ecs.CanaryService{Service: b.service("api")}
		_, err := b.plain.DeleteService(b.ctx, &awsecs.DeleteServiceInput{Cluster: aws.String("prod"),
			Service: aws.String("api"), Force: aws.Bool(true)})
		b.check(err)
		for _, when := range []string{"while ECS deletes it", "later"} {
			if err := canary.SetCount(b.ctx, b.act, 0); err != nil {
				t.Errorf("%s: %v", when, err)
			}
			if err := canary.SetCount(b.ctx, b.act, 1); err == nil {
				t.Errorf("%s: no error for a count of 1", when)
			}
			b.check(b.clock.Sleep(b.ctx, time.Hour))
		}
	})
}
