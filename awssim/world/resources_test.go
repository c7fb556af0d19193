package world_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Rules are in the order of their priorities, the default rule last, whatever happens to them.
func TestRulesAreSortedByPriority(t *testing.T) {
	w, _ := newWorld(nil)
	step(t, w, func(tx *world.Tx) {
		l := &world.Listener{ARN: "listener", Port: 80, Balancer: &world.LoadBalancer{Name: "web"}}
		l.Rules = []*world.Rule{{ARN: "rule/default", Listener: l}}
		tx.AddListener(l)
		rules := map[int]*world.Rule{}
		for _, p := range []int{30, 10, 20} {
			rules[p] = &world.Rule{ARN: fmt.Sprintf("rule/%d", p), Priority: p, Listener: l}
			tx.AddRule(rules[p])
		}
		expect := func(want string) {
			t.Helper()
			var got []string
			for _, r := range l.Rules {
				got = append(got, r.Name())
			}
			if strings.Join(got, " ") != want || l.Default().Name() != "default" || tx.Rules.Len() != len(got) {
				t.Errorf("%v, want %s; the default is %s; %d rules", got, want, l.Default().Name(), tx.Rules.Len())
			}
		}
		expect("10 20 30 default")
		tx.SetPriority(rules[10], 40)
		expect("20 30 10 default")
		tx.RemoveRule(rules[30])
		expect("20 10 default")
		tx.RemoveListener(l)
		if tx.Rules.Len() != 0 || tx.Listeners.Len() != 0 || len(l.Balancer.Listeners) != 0 {
			t.Errorf("%d rules and %d listeners are left", tx.Rules.Len(), tx.Listeners.Len())
		}
	})
}

// A target that is registered again keeps its state, except if it drains: then it starts anew.
func TestTargetsAreRegisteredOnce(t *testing.T) {
	w, _ := newWorld(nil)
	changes := 0
	w.Watch(func(*world.Tx, world.Change) { changes++ })
	g := &world.TargetGroup{Name: "web"}
	states := []struct {
		do      func(*world.Tx)
		want    string
		changes int
	}{
		{func(tx *world.Tx) { tx.RegisterTarget(g, "10.0.0.4", 80, "a", nil) }, "initial", 1},
		{func(tx *world.Tx) { tx.SetTarget(g.Targets[0], "healthy", "", "") }, "healthy", 1},
		{func(tx *world.Tx) { tx.RegisterTarget(g, "10.0.0.4", 80, "a", nil) }, "healthy", 0},
		{func(tx *world.Tx) { tx.SetTarget(g.Targets[0], "healthy", "", "") }, "healthy", 0},
		{func(tx *world.Tx) { tx.DeregisterTarget(g, "10.0.0.5", 80) }, "healthy", 0},
		{func(tx *world.Tx) { tx.DeregisterTarget(g, "10.0.0.4", 80) }, "draining", 1},
		{func(tx *world.Tx) { tx.DeregisterTarget(g, "10.0.0.4", 80) }, "draining", 0},
		{func(tx *world.Tx) { tx.RegisterTarget(g, "10.0.0.4", 80, "a", nil) }, "initial", 1},
		{func(tx *world.Tx) { tx.RegisterTarget(g, "10.0.0.4", 81, "a", nil) }, "initial initial", 1},
		{func(tx *world.Tx) { tx.RemoveTarget(g.Targets[0]) }, "initial", 1},
	}
	for i, s := range states {
		changes = 0
		step(t, w, s.do)
		var got []string
		for _, target := range g.Targets {
			got = append(got, target.State)
		}
		if strings.Join(got, " ") != s.want || changes != s.changes {
			t.Errorf("step %d: %v and %d changes, want %s and %d", i, got, changes, s.want, s.changes)
		}
	}
}

// An instance that is registered again replaces the first. Health can be set only where the
// registry keeps it.
func TestInstances(t *testing.T) {
	for _, custom := range []bool{false, true} {
		w, _ := newWorld(nil)
		step(t, w, func(tx *world.Tx) {
			r := &world.Registry{ARN: "arn", ID: "srv-1", Name: "api", HasCustomHealth: custom,
				Namespace: &world.Namespace{ID: "ns-1", Name: "shop.local"}}
			tx.AddNamespace(r.Namespace)
			tx.AddRegistry(r)
			first := tx.RegisterInstance(r, "a", map[string]string{world.AttributeInit: "UNHEALTHY"})
			if (first.Health == "UNHEALTHY") != custom {
				t.Errorf("custom health %v: it starts %s", custom, first.Health)
			}
			second := tx.RegisterInstance(r, "a", nil)
			tx.SetInstanceHealth(second, "UNHEALTHY")
			if (second.Health == "UNHEALTHY") != custom {
				t.Errorf("custom health %v: set to %s", custom, second.Health)
			}
			tx.DeregisterInstance(first)
			if now, _ := r.Instances.Get("a"); now != second || !first.Deregistered || second.Deregistered {
				t.Errorf("the replaced instance removes its successor")
			}
			tx.DeregisterInstance(second)
			tx.DeregisterInstance(second)
			if r.Instances.Len() != 0 || r.Revision != 3 {
				t.Errorf("%d instances at revision %d, want none at 3", r.Instances.Len(), r.Revision)
			}
			if n := tx.NamespaceByName("SHOP.local"); n != r.Namespace {
				t.Errorf("found %v", n)
			}
			tx.DeleteRegistry(r)
			tx.DeleteNamespace(r.Namespace)
			if tx.NamespaceByName("shop.local") != nil || tx.Registries.Len() != 0 || !r.Deleted {
				t.Error("the namespace or the registry is left")
			}
		})
	}
}

func TestActionsText(t *testing.T) {
	arn := func(name string) string { return "arn:aws:elasticloadbalancing:r:1:targetgroup/" + name + "/0123" }
	for want, a := range map[string]world.Action{
		"web-a 90, web-b 10": {Forward: &world.Forward{Groups: []world.Share{{Group: arn("web-a"), Weight: 90},
			{Group: arn("web-b"), Weight: 10}}}},
		"redirect 301":      {Redirect: &world.Redirect{Status: 301}},
		"fixed 503":         {Fixed: &world.Fixed{Status: 503}},
		"authenticate-oidc": {Type: "authenticate-oidc"},
	} {
		if got := world.ActionsText([]world.Action{a}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
