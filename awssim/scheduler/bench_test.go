package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// bench is a world with a scheduler and one cluster.
type bench struct {
	*worldtest.Harness
	t     *testing.T
	law   *scheduler.Scheduler
	group string
}

func newBench(t *testing.T, o world.Options) *bench {
	t.Helper()
	b := &bench{Harness: worldtest.NewHarness(o), t: t}
	b.law = scheduler.New(b.World)
	b.Do(func(tx *world.Tx) {
		tx.Clusters.Put("web", &world.Cluster{Name: "web", ARN: tx.ARN("ecs", "cluster/web"), Status: "ACTIVE"})
	})
	b.group = b.AddGroup("blue")
	return b
}

func (b *bench) service(controller string, desired int) (svc *world.Service) {
	b.Do(func(tx *world.Tx) {
		c, _ := tx.Clusters.Get("web")
		svc = &world.Service{ARN: tx.ARN("ecs", "service/web/api"), Name: "api", Cluster: c, Controller: controller,
			Status:  "ACTIVE",
			Desired: desired, MinPercent: 100, MaxPercent: 200, CreatedAt: tx.Now()}
		b.law.AddService(tx, svc)
	})
	return svc
}

// set adds a task set (or a deployment) of an image.
func (b *bench) set(svc *world.Service, image string, scale float64, edit ...func(*world.TaskSet)) (ts *world.TaskSet) {
	b.Do(func(tx *world.Tx) {
		def := &world.TaskDefinition{Family: "api", Revision: 1, NetworkMode: "awsvpc",
			Containers: []world.ContainerSpec{{
				Name: "web", Image: image, Essential: true, Ports: []world.Port{{Container: 8080}},
				StopTimeout: 30 * time.Second}}}
		ts = &world.TaskSet{ID: "ecs-svc/" + tx.NewDigits("set", 19), Service: svc, Definition: def, Status: "ACTIVE",
			Scale:   scale,
			Subnets: worldtest.Subnets, LaunchType: "FARGATE",
			Attached: []world.Attachment{{TargetGroup: b.group, Container: "web", ContainerPort: 8080}}}
		for _, f := range edit {
			f(ts)
		}
		b.law.AddTaskSet(tx, ts)
	})
	return ts
}

func plain(ts *world.TaskSet) { ts.Attached = nil }

func (b *bench) until(what string, limit time.Duration, f func() bool) {
	b.t.Helper()
	if err := b.Until(limit, f); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

func (b *bench) steady(ts *world.TaskSet) {
	b.t.Helper()
	b.until("steady state", 10*time.Minute, func() bool { return ts.Stability == "STEADY_STATE" })
}

func running(ts *world.TaskSet) int {
	return ts.Count(func(t *world.Task) bool { return t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" })
}

func (b *bench) tasks() (all []*world.Task) {
	b.Do(func(tx *world.Tx) { all = tx.Tasks.Values() })
	return all
}

func told(svc *world.Service, text string) (n int) {
	for _, e := range svc.Events {
		if strings.Contains(e.Message, text) {
			n++
		}
	}
	return n
}

func (b *bench) targets() *world.TargetGroup {
	var g *world.TargetGroup
	b.Do(func(tx *world.Tx) { g, _ = tx.TargetGroups.Get(b.group) })
	return g
}
