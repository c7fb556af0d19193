package cloudmap_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	awssd "github.com/aws/aws-sdk-go-v2/service/servicediscovery"
	sdtypes "github.com/aws/aws-sdk-go-v2/service/servicediscovery/types"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/route"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/route/routetest"
)

func TestConformance(t *testing.T) {
	for name, l := range map[string]layout{
		"A records with custom health": usual(),
		"SRV records": {primary: 4, canary: 4, records: "{SRV: 10s}", health: "none", kind: "private",
			port: 8080},
		"an HTTP namespace": {primary: 4, canary: 4, health: "custom", kind: "http"},
	} {
		t.Run(name, func(t *testing.T) {
			routetest.Run(t, func(t *testing.T, f func(*testing.T, routetest.Fixture)) {
				on(t, l, func(b *bed) {
					f(t, routetest.Fixture{Open: func() route.Driver { return b.driver() }, Share: b.share,
						Tolerance: 12.5, Unrelated: b.others,
						ChangeOutside: func() {
							b.pass(6 * time.Second) // the last registration ends
							b.deregister(b.canaries()[0])
						},
						Written: func() int { return b.writes }})
				})
			})
		})
	}
}

// others is what the primary's tasks and instances are, those that are taken out
// left aside.
func (b *bed) others() string {
	var lines []string
	for id, a := range b.found() {
		if !strings.HasPrefix(id, cloudmap.OwnPrefix) {
			a["AWS_INIT_HEALTH_STATUS"] = ""
			lines = append(lines, id+fmt.Sprint(a))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestTheCanaryHasECSsAttributesAndIdsOfOurOwn(t *testing.T) {
	on(t, usual(), func(b *bed) {
		before := b.found()
		if _, err := b.to(50); err != nil {
			t.Fatal(err)
		}
		var like map[string]string
		for _, a := range before {
			like = a
		}
		for _, id := range b.canaries() {
			a := b.found()[id]
			if len(id) > 63 || !strings.HasPrefix(id, cloudmap.InstancePrefix(deployment)) {
				t.Errorf("id %s", id)
			}
			if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(like))) ||
				a["ECS_SERVICE_NAME"] != "api" || a["AWS_INIT_HEALTH_STATUS"] != "HEALTHY" {
				t.Errorf("%v, unlike ECS's %v", a, like)
			}
		}
		if len(b.canaries()) != 4 || len(b.found()) != 8 || len(b.taken) != 0 {
			t.Errorf("%d of %d", len(b.canaries()), len(b.found()))
		}
	})
}

// The name is never empty, and never points at fewer tasks than are desired.
func TestBlueGreenAlwaysRegistersEnoughInstances(t *testing.T) {
	on(t, usual(), func(b *bed) {
		before, least := b.found(), 100
		act := func(ctx context.Context, _ sluice.Attempt, call func(context.Context) (string, error)) error {
			least = min(least, len(b.found()))
			_, err := call(ctx)
			b.pass(6 * time.Second)
			least = min(least, len(b.found()))
			return err
		}
		for _, percent := range []int{100, 0} {
			if _, err := (route.Router{Driver: b.driver()}).Shift(context.Background(), act,
				sluice.CanaryShare(percent)); err != nil {
				t.Fatal(err)
			}
			if percent == 100 && (b.share() != 100 || len(b.taken) != 4) {
				t.Errorf("%.0f%%, %d taken out", b.share(), len(b.taken))
			}
		}
		if least < 4 {
			t.Errorf("%d tasks were found at least", least)
		}
		if after := b.found(); !maps.EqualFunc(before, after, maps.Equal) || len(b.taken) != 0 {
			t.Errorf("the primary was put back as %v, was %v", after, before)
		}
	})
}

func TestWhatECSPutsBackEndsTheShift(t *testing.T) {
	l := usual()
	l.knobs = "ecsRestoresInstances: true, schedulerLoop: 5s"
	on(t, l, func(b *bed) {
		d := b.driver()
		r := route.Router{Driver: d}
		done, err := r.Shift(context.Background(), free, sluice.CanaryShare(100))
		for n := 0; err == nil && n < 30; n++ {
			b.pass(2 * time.Second)
			_, err = d.Reconcile(context.Background(), free, sluice.CanaryShare(100))
		}
		if sluice.KindOf(err) != sluice.OutsideChange || !strings.Contains(err.Error(), "registered again") {
			t.Fatalf("%+v, %v", done, err)
		}
		if n := len(b.found()) - len(b.canaries()); n == 0 {
			t.Error("the primary is out")
		}
	})
}

func TestAnOperationThatFailsIsAnErrorWithItsCause(t *testing.T) {
	on(t, usual(), func(b *bed) {
		if err := b.sim.Inject("failed-operation servicediscovery:Register* times=1"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.to(50); err == nil || !strings.Contains(err.Error(), "INTERNAL_FAILURE") ||
			sluice.NextStep(err) == "" {
			t.Fatal(err)
		}
		if err := b.sim.Inject("failed-operation servicediscovery:* times=2"); err != nil {
			t.Fatal(err)
		}
		d := b.driver()
		d.Instances.Tries = 3
		if _, err := (route.Router{Driver: d}).Shift(context.Background(), free, sluice.CanaryShare(50)); err != nil {
			t.Errorf("with more tries: %v", err)
		}
	})
}

// The reply to a registration is lost; the one that follows meets it.
func TestARegistrationUnderWayIsAdopted(t *testing.T) {
	on(t, usual(), func(b *bed) {
		act := func(ctx context.Context, _ sluice.Attempt, call func(context.Context) (string, error)) error {
			if _, err := call(ctx); err != nil {
				return err
			}
			result, err := call(ctx)
			if err == nil && !strings.Contains(result, "already in progress") {
				t.Errorf("the second call told %q", result)
			}
			return err
		}
		if _, err := (route.Router{Driver: b.driver()}).Shift(context.Background(), act,
			sluice.CanaryShare(100)); err != nil {
			t.Fatal(err)
		}
		if b.share() != 100 {
			t.Errorf("%.0f%%", b.share())
		}
	})
}

func TestDeadCanariesAreDeregisteredAndUnknownInstancesAreReported(t *testing.T) {
	on(t, usual(), func(b *bed) {
		if _, err := b.to(50); err != nil {
			t.Fatal(err)
		}
		task := b.canaries()[0][len(cloudmap.InstancePrefix(deployment)):]
		if _, err := b.ecs.StopTask(context.Background(), &awsecs.StopTaskInput{Cluster: aws.String("prod"),
			Task: aws.String(task)}); err != nil {
			t.Fatal(err)
		}
		b.pass(5 * time.Minute)
		if _, err := b.sd.RegisterInstance(context.Background(),
			&awssd.RegisterInstanceInput{ServiceId: aws.String(registry), InstanceId: aws.String("by-hand"),
				Attributes: map[string]string{"AWS_INSTANCE_IPV4": "10.9.8.7"}}); err != nil {
			t.Fatal(err)
		}
		b.pass(6 * time.Second)
		d := b.driver()
		n, err := d.DeregisterDead(context.Background(), free)
		if err != nil || n != 1 || len(b.canaries()) != 3 ||
			!slices.Equal(d.LastRead().UnknownInstances(), []string{"by-hand"}) {
			t.Errorf("swept %d, %v left, strangers %v (%v)", n, b.canaries(), d.LastRead().UnknownInstances(), err)
		}
		h, err := d.Reconcile(context.Background(), free, sluice.CanaryShare(50))
		if err != nil || h.Added != 1 || len(b.canaries()) != 4 {
			t.Errorf("%+v, %v (%v)", h, b.canaries(), err)
		}
	})
}

// A new process reads the instances as they were before an earlier one deregistered them: it still knows that they are
// deregistered. Otherwise it would take that for a change by somebody.
func TestOldReadForgetsNoDeregisteredInstance(t *testing.T) {
	on(t, usual(), func(b *bed) {
		ctx := context.Background()
		b.pass(time.Minute)
		began, primary := b.clock.Now(), len(b.found())
		if _, err := (route.Router{Driver: b.driver()}).Shift(ctx, free, sluice.CanaryShare(100)); err != nil {
			t.Fatal(err)
		}
		old := b.clock.Now().Sub(began)
		if err := b.sim.Inject(fmt.Sprintf("stale servicediscovery:* by=%s for=5s", old)); err != nil {
			t.Fatal(err)
		}
		next := b.driver()
		if n, err := next.Observe(ctx); err != nil || n.Primary != primary {
			t.Fatalf("the first read is not from before the shift: %+v %v", n, err)
		}
		if err := next.ForgetDeregistered(ctx); err != nil || len(b.taken) != 4 {
			t.Errorf("%v; still known as deregistered: %v", err, b.taken)
		}
	})
}

func TestAnotherActorDeregistersTheCanary(t *testing.T) {
	on(t, usual(), func(b *bed) {
		d := b.driver()
		d.ExpectsCanary = true
		if _, err := (route.Router{Driver: d}).Shift(context.Background(), free, sluice.CanaryShare(50)); err != nil {
			t.Fatal(err)
		}
		b.deregister(b.canaries()[0])
		if _, err := d.Reconcile(context.Background(), free,
			sluice.CanaryShare(50)); sluice.KindOf(err) != sluice.OutsideChange || sluice.NextStep(err) == "" {
			t.Errorf("%v", err)
		}
	})
}

// A canary that somebody declared sick does not count, and is not declared well.
func TestUnhealthyCanariesAreNotReturned(t *testing.T) {
	on(t, usual(), func(b *bed) {
		if _, err := b.to(100); err != nil {
			t.Fatal(err)
		}
		for _, id := range b.canaries() {
			if _, err := b.sd.UpdateInstanceCustomHealthStatus(context.Background(),
				&awssd.UpdateInstanceCustomHealthStatusInput{
					ServiceId: aws.String(registry), InstanceId: aws.String(id),
					Status: sdtypes.CustomHealthStatusUnhealthy}); err != nil {
				t.Fatal(err)
			}
		}
		b.pass(40 * time.Second)
		if _, err := b.to(50); err == nil || !strings.Contains(err.Error(), "no task of the canary is healthy") {
			t.Errorf("%v", err)
		}
		if _, err := b.to(0); err != nil || b.share() != 0 || len(b.found()) != 4 {
			t.Errorf("%v; %v", err, b.found())
		}
	})
}

func TestManyInstancesAreListedToTheEnd(t *testing.T) {
	l := usual()
	l.primary, l.canary = 230, 2
	on(t, l, func(b *bed) {
		d := b.driver()
		all, err := d.Instances.ListInstances(context.Background())
		if err != nil || len(all) != 230 {
			t.Errorf("%d instances (%v)", len(all), err)
		}
	})
}

func TestFindReturnsTheRegistry(t *testing.T) {
	on(t, usual(), func(b *bed) {
		if r := b.reg; r.FullName() != "api.shop.local" || r.TTL() != 10*time.Second ||
			r.CacheExpiry() != 70*time.Second || !r.Custom || !r.HasDNS() || r.Weighted || r.ID != registry {
			t.Errorf("%+v", r)
		}
		_, err := cloudmap.FindRegistry(context.Background(), b.sd,
			"arn:aws:servicediscovery:us-east-1:123456789012:service/srv-none", 0)
		if gone := new(sdtypes.ServiceNotFound); !errors.As(err, &gone) {
			t.Error(err)
		}
	})
}

// A record that is UNHEALTHY is registered all the same. A shift to the canary alone that
// finds it, and everything else done, deregisters it before it reports the share.
func TestAnUnhealthyInstanceIsDeregisteredBeforeAShareIsReported(t *testing.T) {
	on(t, usual(), func(b *bed) {
		if _, err := b.to(100); err != nil {
			t.Fatal(err)
		}
		for id, attributes := range b.taken {
			unwell := maps.Clone(attributes)
			unwell["AWS_INIT_HEALTH_STATUS"] = "UNHEALTHY"
			if _, err := b.sd.RegisterInstance(context.Background(),
				&awssd.RegisterInstanceInput{ServiceId: aws.String(registry), InstanceId: aws.String(id),
					CreatorRequestId: aws.String("left by a process that was killed"),
					Attributes:       unwell}); err != nil {
				t.Fatal(err)
			}
			break
		}
		b.pass(10 * time.Second)
		if len(b.found()) != 5 {
			t.Fatalf("%d records, want the canary's four and one that is UNHEALTHY", len(b.found()))
		}
		done, err := b.to(100)
		if err != nil || len(done.Written) != 1 {
			t.Fatalf("%d paths were written, want the name: %v", len(done.Written), err)
		}
		if b.share() != 100 {
			t.Errorf("%v are registered; the primary must not be", slices.Collect(maps.Keys(b.found())))
		}
	})
}

// The instances of sluice stay while ECS may stop each registered task of the primary: the name is never empty.
func TestCanaryStaysIfNoOtherRemains(t *testing.T) {
	on(t, usual(), func(b *bed) {
		if _, err := b.to(50); err != nil {
			t.Fatal(err)
		}
		before := b.canaries()
		d := b.driver()
		d.Tasks = func(ctx context.Context) ([]cloudmap.Task, int, error) {
			all, desired, err := b.tasks(ctx)
			for i := range all {
				if all[i].Variant == sluice.Primary {
					all[i].Group, all[i].Surplus = "primary", 4
				}
			}
			return all, desired, err
		}
		_, err := d.RegisterAllPrimary(context.Background(), free)
		if sluice.KindOf(err) != sluice.Conflict || !strings.Contains(err.Error(), "the name would have no records") {
			t.Errorf("%v, want a refusal", err)
		}
		if after := b.canaries(); len(before) == 0 || !slices.Equal(before, after) {
			t.Errorf("registered are %v, were %v", after, before)
		}
	})
}
