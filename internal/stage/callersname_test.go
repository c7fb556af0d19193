package stage_test

import (
	"context"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/plan/mode"
	"github.com/sluice-ecs/sluice/internal/stage/stagetest"
)

// namedModes are ways of deploying a service that callers reach by a load balancer and by a Cloud Map name.
var namedModes = map[string]struct {
	files func(b *stagetest.Bench, image string) fstest.MapFS
	o     stagetest.Options
}{
	"rolling": {func(b *stagetest.Bench, image string) fstest.MapFS {
		return b.RollingFiles(image, "desiredCount: 4\n"+stagetest.Breaker)
	}, stagetest.Options{NoService: true}},
	"canary service": {func(b *stagetest.Bench, image string) fstest.MapFS {
		return b.CanaryServiceFiles(image, stagetest.Pipeline(stagetest.CanaryRollout, stagetest.ShiftFifth,
			stagetest.PrimaryRollout, stagetest.ShiftBack, stagetest.CleanCanary), "desiredCount: 4\n")
	}, stagetest.Options{NoService: true}},
	"task sets": {func(b *stagetest.Bench, image string) fstest.MapFS {
		return b.Files(image, stagetest.CanaryPipeline)
	}, stagetest.Options{}},
}

// A deployment of a service with a load balancer and a name ends well only if callers of the name get the version too.
func TestOutcomesAreAboutCallersOfANameToo(t *testing.T) {
	for way, m := range namedModes {
		for name, c := range map[string]struct {
			act           func(stagetest.Registry)
			causes, notes string
		}{
			"nothing happens":       {func(stagetest.Registry) {}, "", ""},
			"all were deregistered": {stagetest.Registry.DeregisterAll, "no instance is registered under web.shop.local", ""},
			"only an address of others": {func(r stagetest.Registry) { r.DeregisterAll(); r.Register("by-hand", "10.0.0.250") },
				"callers of web.shop.local get 1 instance, and none is of a task that runs it", ""},
			"the name was deleted": {stagetest.Registry.Delete, "does not exist", ""},
			"an address of others too": {func(r stagetest.Registry) { r.Register("by-hand", "10.0.0.250") }, "",
				"instance by-hand under web.shop.local was not registered by ECS or sluice"},
		} {
			t.Run(way+", "+name, func(t *testing.T) {
				stagetest.Run(t, m.o, func(b *stagetest.Bench) {
					r := b.CreateRegistry()
					if end := b.Deploy(r.Of(m.files(b, "sim/web:v1"))); end.Outcome != sluice.Succeeded {
						b.Fatalf("%s: %s\n%s", end.Outcome, end.Cause, b.EventLog())
					}
					id := b.Start(r.Of(m.files(b, "sim/web:v2")))
					b.OnStageEnd(len(stagetest.Got(b.Plan(r.Of(m.files(b, "sim/web:v2")), mode.Options{}))(b).Stages), func() {
						c.act(r)
						stagetest.Must(b, b.Clock.Sleep(context.Background(), 45*time.Second)) // until Cloud Map follows
					})
					end := stagetest.Got(b.Engine.Run(context.Background(), id, engine.Options{}))(b)
					switch {
					case c.causes == "" && (end.Outcome != sluice.Succeeded || !strings.Contains(end.Cause, c.notes)),
						c.causes != "" && (end.Outcome != sluice.Failed || !strings.Contains(end.Cause, c.causes) ||
							!strings.Contains(end.Next, nextOf(c.causes))):
						b.Errorf("%s: %s; next: %s\n%s", end.Outcome, end.Cause, end.Next, b.EventLog())
					}
				})
			})
		}
	}
}

// A name that another tool deletes after the last stage, whenever that is before the read of the outcome, fails the
// deployment. A success means that the name existed at its end: a deletion after that read is seen by the next command.
func TestNameDeletedBeforeTheOutcome(t *testing.T) {
	ctx, id := context.Background(), aws.String("srv-0123456789abcdef")
	for controller, pipeline := range map[string]string{"ECS": "", "EXTERNAL": stagetest.NamedCanary} {
		for held := time.Duration(0); held <= 8*time.Second; held += 2 * time.Second {
			stagetest.RunByName(t, stagetest.Named{Controller: controller}, func(b *stagetest.NameBench) {
				var deleted time.Time
				remove := func() {
					some := stagetest.Got(b.Discovery.ListInstances(ctx, &awssd.ListInstancesInput{ServiceId: id}))(b)
					for _, i := range some.Instances {
						stagetest.Got(b.Discovery.DeregisterInstance(ctx,
							&awssd.DeregisterInstanceInput{ServiceId: id, InstanceId: i.Id}))(b)
					}
					b.Until("the name is deleted", func() bool {
						_, err := b.Discovery.DeleteService(ctx, &awssd.DeleteServiceInput{Id: id})
						return err == nil
					})
					deleted = b.Clock.Now()
				}
				run := b.StartNamed("sim/api:v2", pipeline)
				b.OnStageEnd(max(1, strings.Count(pipeline, "name:")), func() {
					b.Clock.Go(remove)
					stagetest.Must(b, b.Clock.Sleep(ctx, held))
				})
				end := stagetest.Got(b.Engine.Run(ctx, run, engine.Options{}))(b)
				existed := deleted.IsZero()
				if (end.Outcome == sluice.Succeeded) != existed || !existed && !strings.Contains(end.Cause, "does not exist") {
					b.Errorf("%s, held for %s: the name existed at the end: %t, but %s: %s", controller, held, existed,
						end.Outcome, end.Cause)
				}
				b.Until("the name is deleted", func() bool { return !deleted.IsZero() })
			})
		}
	}
}

// nextOf returns a part of the advice for a cause: ECS registers the tasks that replace others.
func nextOf(cause string) string {
	if strings.HasPrefix(cause, "no instance") {
		return "register the tasks again: sluice refresh"
	}
	return "aws servicediscovery "
}

// A plan warns of a name without instances, and a deployment that registers them succeeds.
func TestPlanWarnsOfANameWithoutInstances(t *testing.T) {
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		r, m := b.CreateRegistry(), namedModes["rolling"]
		b.Deploy(r.Of(m.files(b, "sim/web:v1")))
		r.DeregisterAll()
		stagetest.Must(b, b.Clock.Sleep(context.Background(), time.Minute))
		p := stagetest.Got(b.Plan(r.Of(m.files(b, "sim/web:v2")), mode.Options{}))(b)
		const want = "callers do not reach the service now: no instance is registered under web.shop.local"
		if all := strings.Join(p.Warnings, "\n"); !strings.Contains(all, want) {
			b.Errorf("warnings: %s", all)
		}
		if end := b.Deploy(r.Of(m.files(b, "sim/web:v2"))); end.Outcome != sluice.Succeeded || end.Cause != "" {
			b.Errorf("%s: %s", end.Outcome, end.Cause)
		}
	})
}

// A policy without the reads of Cloud Map loses no deployment: a note says that the name was not checked.
func TestDeploymentWithoutPermissionForItsName(t *testing.T) {
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		r, m := b.CreateRegistry(), namedModes["rolling"]
		b.Deploy(r.Of(m.files(b, "sim/web:v1")))
		b.Events = nil
		stagetest.Must(b, b.Sim.Inject("denied servicediscovery:*"))
		end := b.Deploy(r.Of(m.files(b, "sim/web:v2")))
		if log := b.EventLog(); end.Outcome != sluice.Succeeded ||
			strings.Count(log, "callers of the Cloud Map name were not checked") != 1 {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, log)
		}
	})
}

// The name of a service behind a load balancer costs four reads where the outcome is confirmed, and one in the plan.
func TestCallsForTheNameOfAService(t *testing.T) {
	stagetest.Run(t, stagetest.Options{NoService: true}, func(b *stagetest.Bench) {
		r, m := b.CreateRegistry(), namedModes["rolling"]
		b.Deploy(r.Of(m.files(b, "sim/web:v1")))
		b.Calls = nil
		b.Deploy(r.Of(m.files(b, "sim/web:v2")))
		count := map[string]int{}
		for _, c := range b.Calls {
			if c.Service == "servicediscovery" {
				count[c.Operation]++
			}
		}
		if count["DiscoverInstances"] != 2 || count["GetService"] != 1 || count["GetNamespace"] != 1 || len(count) != 3 {
			b.Errorf("calls: %v", count)
		}
	})
}
