package loadbalancer_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// network is a Network Load Balancer with two groups, and its listener.
func (b *bench) network() (one, two *world.TargetGroup, l *world.Listener) {
	b.lb = &world.LoadBalancer{ARN: "lb/flow", Name: "flow", Type: "network", Zones: []string{"eu-west-1a"}}
	b.do(func(tx *world.Tx) { b.law.Add(tx, b.lb) })
	one, two = b.group("one"), b.group("two")
	l = b.listen(80, share(one, 100), share(two, 0))
	b.register(one, b.task("sim/web:v1"))
	b.register(two, b.task("sim/web:v2"))
	return one, two, l
}

// sharesOf is the share of a group at each node.
func (b *bench) sharesOf(g *world.TargetGroup) (all []float64) {
	sums := map[int]float64{}
	nodes := 0
	for _, o := range b.table().Shares(80, loadbalancer.Request{At: b.now}) {
		nodes = max(nodes, o.Node+1)
		if o.Group == g.ARN {
			sums[o.Node] += o.Share
		}
	}
	for i := range nodes {
		all = append(all, sums[i]*float64(nodes))
	}
	return all
}

// The nodes of a Network Load Balancer learn of a change one after the other.
func TestNodesFollowOneAfterTheOther(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.NetworkWeightPropagation = world.Range{Min: time.Minute, Max: 9 * time.Minute}
	})
	one, two, l := b.network()
	b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), forward(share(one, 0), share(two, 100))) })
	b.pass(59 * time.Second)
	if got := b.sharesOf(two); !slices.Equal(got, []float64{0, 0, 0}) {
		t.Fatalf("before the first node follows: %v", got)
	}
	mixed := 0
	for range 9 * 60 {
		b.pass(time.Second)
		if got := b.sharesOf(two); slices.Contains(got, 0) && slices.Max(got) > 0.99 {
			mixed++
		}
	}
	if mixed < 30 {
		t.Errorf("nodes disagreed for %d s", mixed)
	}
	if got := b.sharesOf(two); slices.Min(got) < 0.99 {
		t.Errorf("in the end %v", got)
	}
}

// Each decision is that of one node, as the random number selects it.
func TestANodeDecides(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.NetworkWeightPropagation = world.Range{Min: time.Minute, Max: 9 * time.Minute}
	})
	one, two, l := b.network()
	b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), forward(share(one, 0), share(two, 100))) })
	for range 60 {
		b.pass(10 * time.Second)
		for i, share := range b.sharesOf(two) {
			d := b.table().Decide(80, loadbalancer.Request{At: b.now}, loadbalancer.Random{Node: (float64(i) + 0.5) / 3})
			if want := share > 0.5; d.Node != i || (d.Group == two.ARN) != want {
				t.Fatalf("node %d: %+v, but its share is %v", i, d, share)
			}
		}
	}
}

// Targets reach the nodes of a Network Load Balancer by a setting of their own.
func TestNetworkTargetsPropagate(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.NetworkTargetPropagation = world.Range{Min: 30 * time.Second, Max: 30 * time.Second}
	})
	one, _, _ := b.network()
	b.want(one, "initial Elb.RegistrationInProgress")
	b.pass(31 * time.Second)
	b.want(one, "healthy")
	taking := func() int { return len(b.table().Group(one.ARN).TakingTargets()) }
	b.do(func(tx *world.Tx) { tx.DeregisterTarget(one, one.Targets[0].ID, 80) })
	b.pass(29 * time.Second)
	if b.want(one, "draining Target.DeregistrationInProgress"); taking() != 1 {
		t.Errorf("%d targets take connections before the nodes know", taking())
	}
	if b.pass(2 * time.Second); taking() != 0 {
		t.Errorf("%d targets take connections", taking())
	}
}
