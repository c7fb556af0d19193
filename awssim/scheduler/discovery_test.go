package scheduler_test

import (
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// names puts a registry with custom health into the world.
func (b *bench) names() (r *world.Registry) {
	b.Do(func(tx *world.Tx) {
		n := &world.Namespace{ID: "ns-1", Name: "shop.local", Kind: world.PrivateNamespace}
		tx.AddNamespace(n)
		r = &world.Registry{ID: "srv-1", ARN: "arn:srv-1", Name: "api", Namespace: n, HasCustomHealth: true,
			Records: []world.RecordType{{Type: "A", TTL: 10 * time.Second}}}
		tx.AddRegistry(r)
	})
	return r
}

func enrolled(ts *world.TaskSet) {
	ts.Registries = []world.RegistryAttachment{{Registry: "arn:srv-1"}}
}

func TestBothBalancerAndRegistry(t *testing.T) {
	b := newBench(t, world.Options{})
	r := b.names()
	ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1", 100, enrolled)
	b.steady(ts)
	x := ts.Tasks[0]
	if _, ok := r.Instances.Get(x.ID); !ok || b.targets().Count("healthy") != 1 {
		t.Fatal("the task is not in both")
	}
	b.Do(func(tx *world.Tx) { b.law.SetScale(tx, ts, 0) })
	b.until("deregistered", time.Minute, func() bool { return r.Instances.Len() == 0 })
	if x.LastStatus != "DEACTIVATING" || b.targets().Count("draining") != 1 || !x.SignalledAt.IsZero() {
		t.Errorf("%s, signalled %v", x.LastStatus, x.SignalledAt)
	}
}

// A sidecar without a check keeps its task at UNKNOWN, not its record from HEALTHY.
func TestASidecarDoesNotHoldTheRecord(t *testing.T) {
	b := newBench(t, world.Options{})
	r := b.names()
	ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1-unhealthy-after-3m", 100, checked(0), enrolled,
		func(ts *world.TaskSet) {
			ts.Definition.Containers = append(ts.Definition.Containers,
				world.ContainerSpec{Name: "proxy", Image: "sim/proxy:v1", Essential: true})
		})
	b.until("registered", 2*time.Minute, func() bool { return r.Instances.Len() == 1 })
	i := r.Instances.Values()[0]
	if i.Health != "UNHEALTHY" || i.Attributes[world.AttributeInit] != "UNHEALTHY" {
		t.Errorf("at first %s, %v", i.Health, i.Attributes)
	}
	b.steady(ts)
	if i.Health != "HEALTHY" || ts.Tasks[0].Health != "UNKNOWN" {
		t.Errorf("%s, the task is %s", i.Health, ts.Tasks[0].Health)
	}
	b.until("sick", 10*time.Minute, func() bool { return i.Health == "UNHEALTHY" })
	if i.Deregistered {
		t.Error("the record went before its task")
	}
	b.until("deregistered", 5*time.Minute, func() bool { return i.Deregistered })
}

// A crash is found out and deregistered a moment later.
func TestACrashedTaskIsDeregistered(t *testing.T) {
	b := newBench(t, world.Options{})
	r := b.names()
	ts := b.set(b.service("EXTERNAL", 1), "sim/web:v1", 100, plain, enrolled)
	b.steady(ts)
	x := ts.Tasks[0]
	b.Do(func(tx *world.Tx) { b.law.CrashTask(tx, x, 1) })
	if _, ok := r.Instances.Get(x.ID); !ok {
		t.Error("deregistered in no time")
	}
	b.Run(5 * time.Second)
	if _, ok := r.Instances.Get(x.ID); ok {
		t.Error("still registered")
	}
	b.until("replaced", 2*time.Minute, func() bool {
		return r.Instances.Len() == 1 &&
			r.Instances.Values()[0].ID != x.ID
	})
}

// A registry that is deleted under its tasks stops nothing.
func TestADeletedRegistry(t *testing.T) {
	for _, restores := range []bool{false, true} {
		k := world.NoDelays()
		k.ECSRestoresInstances = restores
		b := newBench(t, world.Options{Settings: &k})
		r := b.names()
		ts := b.set(b.service("EXTERNAL", 2), "sim/web:v1", 100, plain, enrolled)
		b.steady(ts)
		b.Do(func(tx *world.Tx) {
			for _, i := range r.Instances.Values() {
				tx.DeregisterInstance(i)
			}
			tx.DeleteRegistry(r)
		})
		b.Run(time.Minute)
		b.steady(ts)
		b.Do(func(tx *world.Tx) { b.law.SetScale(tx, ts, 0) })
		b.until("stopped", time.Minute, func() bool { return len(ts.Tasks) == 0 })
	}
}
