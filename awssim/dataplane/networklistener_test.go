package dataplane_test

import (
	"io"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// newNetworkBench is a bench with a Network Load Balancer.
func newNetworkBench(t *testing.T) *bench {
	b := newBench(t)
	b.lb = &world.LoadBalancer{ARN: "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/net/flow/1",
		Name: "flow", Type: "network", Zones: []string{"us-east-1a"}}
	b.do(func(tx *world.Tx) { b.law.Add(tx, b.lb) })
	return b
}

// dial opens one connection, over which calls send requests. It returns the version that answers,
// or the error.
func (b *bench) dial(l *world.Listener) (call func() string) {
	b.t.Helper()
	c := &http.Client{Timeout: patience, Transport: &http.Transport{MaxConnsPerHost: 1}}
	b.t.Cleanup(c.CloseIdleConnections)
	return func() string {
		r, err := c.Post("http://"+l.Bound+"/", "", nil) // a POST is not sent twice
		if err != nil {
			return "broken"
		}
		defer r.Body.Close()
		_, _ = io.Copy(io.Discard, r.Body)
		return r.Header.Get("X-Sim-Version")
	}
}

func (b *bench) weigh(l *world.Listener, shares ...world.Share) {
	b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), []world.Action{forward(shares...)}) })
}

func TestNetworkConnectionsFollowTheWeights(t *testing.T) {
	b := newNetworkBench(t)
	primary, canary := b.group("primary", 0), b.group("canary", 0)
	l := b.listen(80, forward(share(primary, 50), share(canary, 50)))
	b.register(primary, b.task("sim/web:v1"))
	b.register(canary, b.task("sim/web:v2"))
	seen := map[string]int{}
	for range 200 {
		seen[b.dial(l)()]++
	}
	// Six standard deviations of 200 fair draws are 43.
	if seen["v1"]+seen["v2"] != 200 || seen["v1"] < 57 || seen["v1"] > 143 {
		t.Errorf("%v", seen)
	}
	want := map[string]int64{"connected v1": int64(seen["v1"]), "connected v2": int64(seen["v2"])}
	if got := b.outcomes(); !maps.Equal(got, want) {
		t.Errorf("counted %v, clients saw %v", got, want)
	}
}

func TestNetworkConnectionStaysAtItsTarget(t *testing.T) {
	b := newNetworkBench(t)
	primary, canary := b.group("primary", 0), b.group("canary", 0)
	l := b.listen(80, forward(share(primary, 100), share(canary, 0)))
	b.register(primary, b.task("sim/web:v1"))
	b.register(canary, b.task("sim/web:v2"))
	open := b.dial(l)
	if got := open(); got != "v1" {
		t.Fatal(got)
	}
	b.weigh(l, share(primary, 0), share(canary, 100))
	if old, young := open(), b.dial(l)(); old != "v1" || young != "v2" {
		t.Errorf("the open connection reaches %s, a new one %s", old, young)
	}
}

// A deregistered target keeps its connections until the deregistration delay ends.
func TestNetworkConnectionOfADeregisteredTarget(t *testing.T) {
	b := newNetworkBench(t)
	g := b.group("web", time.Minute)
	l := b.listen(80, forward(share(g, 1)))
	old := b.task("sim/web:v1")
	b.register(g, old)
	open := b.dial(l)
	open()
	b.register(g, b.task("sim/web:v2"))
	b.do(func(tx *world.Tx) { tx.DeregisterTarget(g, old.Address.String(), 8080) })
	b.pass(59 * time.Second)
	if kept, young := open(), b.dial(l)(); kept != "v1" || young != "v2" {
		t.Errorf("the open connection reaches %s, a new one %s", kept, young)
	}
	b.pass(2 * time.Second)
	b.until("the connection is cut", func() bool { return b.outcomes()["cut v1"] == 1 })
	if b.plane.Traffic().Failed != 1 {
		t.Errorf("%v", b.outcomes())
	}
}

// Some time after a group's weight is 0, a node closes the connections that are still open.
func TestNetworkConnectionOfAGroupWithoutWeight(t *testing.T) {
	b := newNetworkBench(t)
	b.do(func(tx *world.Tx) {
		tx.Settings().NetworkConnectionClose = world.Range{Min: time.Minute, Max: time.Minute}
	})
	primary, canary := b.group("primary", 0), b.group("canary", 0)
	l := b.listen(80, forward(share(primary, 100), share(canary, 0)))
	b.register(primary, b.task("sim/web:v1"))
	b.register(canary, b.task("sim/web:v2"))
	open := b.dial(l)
	open()
	b.weigh(l, share(primary, 0), share(canary, 100))
	b.pass(59 * time.Second)
	if got := open(); got != "v1" {
		t.Fatal(got)
	}
	b.pass(2 * time.Second)
	b.until("the connection is cut", func() bool { return b.outcomes()["cut v1"] == 1 })
}

// An empty group refuses the connections of its share: no response comes from the load balancer.
func TestNetworkConnectionToAnEmptyGroup(t *testing.T) {
	b := newNetworkBench(t)
	l := b.listen(80, forward(share(b.group("web", 0), 1)))
	if got := b.dial(l)(); got != "broken" {
		t.Error(got)
	}
	if o := b.outcomes(); o["refused "] != 1 || b.plane.Traffic().Failed != 1 {
		t.Errorf("counted %v", o)
	}
}

// The sockets close with the listener, and the connections with them.
func TestNetworkListenerCloses(t *testing.T) {
	b := newNetworkBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	b.register(g, b.task("sim/web:v1"))
	open := b.dial(l)
	open()
	b.do(func(tx *world.Tx) { tx.RemoveListener(l) })
	if kept, young := open(), b.dial(l)(); kept != "broken" || young != "broken" {
		t.Errorf("the open connection reaches %s, a new one %s", kept, young)
	}
}
