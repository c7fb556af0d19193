package autoscaler_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/scheduler"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// bench is a world with one service of running tasks, which is a scalable target.
type bench struct {
	t *testing.T
	*worldtest.Harness
	scaler  *autoscaler.Controller
	service *world.Service
	target  *autoscaler.Target
}

// newBench starts a service with that controller and count, which may scale from 1 to 10 tasks.
func newBench(t *testing.T, controller string, desired int) *bench {
	t.Helper()
	settings := world.NoDelays()
	b := &bench{t: t, Harness: worldtest.NewHarness(world.Options{Settings: &settings})}
	ecs := scheduler.New(b.World)
	b.scaler = autoscaler.New(b.World, ecs)
	b.Do(func(tx *world.Tx) {
		cluster := &world.Cluster{Name: "prod", ARN: tx.ARN("ecs", "cluster/prod"), Status: "ACTIVE"}
		tx.Clusters.Put("prod", cluster)
		b.service = &world.Service{ARN: tx.ARN("ecs", "service/prod/web"), Name: "web", Cluster: cluster,
			Controller: controller, Status: "ACTIVE", Desired: desired, MinPercent: 100, MaxPercent: 200,
			CreatedAt: tx.Now()}
		ecs.AddService(tx, b.service)
		ecs.AddTaskSet(tx, &world.TaskSet{ID: "ecs-svc/1", Service: b.service, Status: "PRIMARY", Scale: 100,
			Subnets: worldtest.Subnets, LaunchType: "FARGATE",
			Definition: &world.TaskDefinition{Family: "web", Revision: 1, NetworkMode: "awsvpc",
				Containers: []world.ContainerSpec{{Name: "web", Image: "sim/web:v1", Essential: true}}}})
		b.target = &autoscaler.Target{ID: b.service.ID(), Min: 1, Max: 10, CreatedAt: tx.Now()}
		autoscaler.StateOf(tx).Targets.Put(b.target.ID, b.target)
	})
	b.awaitRunning()
	return b
}

// awaitRunning advances the clock until as many tasks run as are desired.
func (b *bench) awaitRunning() {
	b.t.Helper()
	if err := b.Until(10*time.Minute, func() bool { return b.service.RunningCount() == b.service.Desired }); err != nil {
		b.t.Fatal(err)
	}
}

// track adds a policy for 50 percent of a CPU, and callers that request that much of it in all.
func (b *bench) track(percent float64, edit func(*autoscaler.Tracking)) {
	b.Do(func(tx *world.Tx) {
		tx.SetDemand(b.service, percent)
		tracking := &autoscaler.Tracking{Target: 50}
		edit(tracking)
		b.scaler.PutPolicy(tx, b.target, &autoscaler.Policy{Name: "cpu", Tracking: tracking, High: "high", Low: "low"})
	})
}

// suspend changes what is suspended and keeps the bounds.
func (b *bench) suspend(s autoscaler.Suspended) {
	b.Do(func(tx *world.Tx) { b.scaler.SetBounds(tx, b.target, b.target.Min, b.target.Max, s) })
}

// expectDesired compares the desired count.
func (b *bench) expectDesired(when string, want int) {
	b.t.Helper()
	if b.service.Desired != want {
		b.t.Errorf("%s: desired %d, want %d\n%s", when, b.service.Desired, want, b.Log())
	}
}
