package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/engine"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

const servesV2 = "PRIMARY sim/web:v2 100% 4 running; primary 100 canary 0"

// Whatever goes wrong with calls, the deployment ends as if it had not, nothing
// is made twice and no request is lost.
func TestFaultsOfCalls(t *testing.T) {
	for name, lines := range map[string][]string{
		"throttled now and then": {"throttle *:* p=0.3"},
		"5xx now and then":       {"5xx *:* p=0.15"},
		"create's reply lost":    {"lost-reply ecs:CreateTaskSet times=2"},
		"create's reply lost, and not in the next reads": {"lost-reply ecs:CreateTaskSet times=2",
			"stale ecs:DescribeServices by=8s"},
		"registration's reply lost": {"lost-reply ecs:RegisterTaskDefinition times=1"},
		"every kind of write's reply lost": {"lost-reply ecs:UpdateTaskSet times=1",
			"lost-reply ecs:DeleteTaskSet times=1", "lost-reply ecs:TagResource times=1",
			"lost-reply elasticloadbalancing:ModifyListener times=2",
			"lost-reply ecs:UpdateServicePrimaryTaskSet times=1", "lost-reply ecs:UntagResource times=1"},
		"requests that never arrive": {"no-send *:* p=0.15"},
		"replies lost now and then":  {"lost-reply *:* p=0.1"},
		"stale reads": {"stale ecs:* by=4s",
			"stale elasticloadbalancing:DescribeTargetHealth by=4s"},
		"all of it": {"throttle *:* p=0.1", "5xx *:* p=0.05", "lost-reply *:* p=0.05",
			"stale ecs:DescribeServices by=3s p=0.5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(5) {
				on(t, options{seed: seed}, func(b *bench) {
					id := b.start(b.files("sim/web:v2", canaryPipeline))
					for _, line := range lines {
						must(b, b.sim.Inject(line))
					}
					end := got(b.engine.Run(context.Background(), id, engine.Options{}))(b)
					b.sim.ClearFaults()
					b.expect(end, sluice.Succeeded, "", servesV2)
					b.noneLost()
					b.madeOnce()
				})
			}
		})
	}
}

// madeOnce: the deployment made one revision and two task sets, no more.
func (b *bench) madeOnce() {
	b.Helper()
	defs := got(b.ecs.ListTaskDefinitions(context.Background(),
		&awsecs.ListTaskDefinitionsInput{FamilyPrefix: aws.String("web")}))(b)
	if len(defs.TaskDefinitionArns) != 2 {
		b.Errorf("%d revisions: %v", len(defs.TaskDefinitionArns), defs.TaskDefinitionArns)
	}
	made := map[string]bool{}
	for _, e := range b.events {
		if c, ok := e.Open().(sluice.CapacityChanged); ok && c.Revision == "web:2" {
			made[c.TaskSet] = true
		}
	}
	if len(made) != 2 {
		b.Errorf("task sets of the new revision: %v", made)
	}
}

func TestServiceDeletedMeanwhile(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.start(b.files("sim/web:v2", held(2)))
		ctx := context.Background()
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		got(b.ecs.DeleteService(ctx, &awsecs.DeleteServiceInput{Cluster: aws.String("prod"), Service: aws.String("web"),
			Force: aws.Bool(true)}))(b)
		must(b, b.engine.SendCommand(ctx, id, journal.Approve, 2, "ann"))
		end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome == sluice.Succeeded ||
			!strings.Contains(end.Cause, "another process or person deleted the service") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.log())
		}
	})
}

func TestTaskSetLimitIsNamed(t *testing.T) {
	on(t, options{}, func(b *bench) {
		ctx := context.Background()
		for range 4 {
			got(b.ecs.CreateTaskSet(ctx, &awsecs.CreateTaskSetInput{Cluster: aws.String("prod"),
				Service: aws.String("web"), TaskDefinition: aws.String("web:1"),
				LaunchType: ecstypes.LaunchTypeFargate, NetworkConfiguration: b.network(),
				Scale: &ecstypes.Scale{Unit: ecstypes.ScaleUnitPercent, Value: 0}}))(b)
		}
		end := b.deploy(b.files("sim/web:v2", canaryPipeline))
		if end.Outcome != sluice.RolledBack || !strings.Contains(end.Cause, "5 deployments exist on the service") {
			b.Errorf("%s: %s\n%s", end.Outcome, end.Cause, b.log())
		}
		b.noneLost()
	})
}

func TestNoCapacityEndsInAReason(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.start(b.files("sim/web:v2", held(3)))
		ctx := context.Background()
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		must(b, b.sim.Inject("no-capacity prod"))
		must(b, b.engine.SendCommand(ctx, id, journal.Approve, 3, "ann"))
		end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
		b.expect(end, sluice.RolledBack, "no progress for 10m0s", servesV1)
		b.noneLost()
	})
}

func TestSlowStartIsWaitedFor(t *testing.T) {
	on(t, options{}, func(b *bench) {
		must(b, b.sim.Inject("slow-start web by=240s"))
		end := b.deploy(b.files("sim/web:v2", canaryPipeline))
		b.expect(end, sluice.Succeeded, "", servesV2)
		b.noneLost()
	})
}

func TestExpiredCredentialsPauseTheDeployment(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.start(b.files("sim/web:v2", canaryPipeline))
		must(b, b.sim.Inject("expired-credentials after=60s for=1h"))
		ctx := context.Background()
		end, err := b.engine.Run(ctx, id, engine.Options{})
		if sluice.KindOf(err) != sluice.Denied || end.State != journal.Paused {
			b.Fatalf("%s: %v\n%s", end.State, err, b.log())
		}
		b.sim.ClearFaults()
		end = got(b.engine.Run(ctx, id, engine.Options{}))(b)
		b.expect(end, sluice.Succeeded, "", servesV2)
		b.noneLost()
	})
}

// Somebody takes the claim of a running deployment: it stops, and touches
// nothing more.
func TestLostClaimStopsTheDeployment(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.start(b.files("sim/web:v2", held(2)))
		ctx := context.Background()
		got(b.engine.Run(ctx, id, engine.Options{NoWait: true}))(b)
		service := got(b.ecs.DescribeServices(ctx, &awsecs.DescribeServicesInput{Cluster: aws.String("prod"),
			Services: []string{"web"}}))(b).Services[0]
		got(b.ecs.TagResource(ctx, &awsecs.TagResourceInput{ResourceArn: service.ServiceArn,
			Tags: []ecstypes.Tag{{Key: aws.String(plan.ClaimTag),
				Value: aws.String("slc-other " + dawn.AddDate(1, 0, 0).Format("2006-01-02T15:04:05Z"))}}}))(b)
		must(b, b.engine.SendCommand(ctx, id, journal.Approve, 2, "ann"))
		end := got(b.engine.Run(ctx, id, engine.Options{}))(b)
		if end.Outcome != sluice.Superseded || !strings.Contains(end.Cause, "slc-other") ||
			b.weights() != "primary 90 canary 10" {
			b.Errorf("%s: %s; weights %s", end.Outcome, end.Cause, b.weights())
		}
	})
}

// Two engines on one journal: the second is refused while the first lives.
func TestSecondEngineIsRefusedWhileTheFirstLives(t *testing.T) {
	on(t, options{}, func(b *bench) {
		id := b.start(b.files("sim/web:v2", canaryPipeline))
		second := *b.engine
		second.Owner, second.IsAlive = "test/2", func(string) bool { return true }
		var refused error
		b.clock.Go(func() { _, refused = second.Run(context.Background(), id, engine.Options{}) })
		end := got(b.engine.Run(context.Background(), id, engine.Options{}))(b)
		b.expect(end, sluice.Succeeded, "", servesV2)
		if !errors.Is(refused, journal.ErrHeld) || sluice.KindOf(refused) != sluice.Overtaken {
			b.Errorf("the second engine: %v", refused)
		}
	})
}
