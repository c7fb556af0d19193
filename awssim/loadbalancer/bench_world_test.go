package loadbalancer_test

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// bench is a small world with one law, and the words that tests say to it.
type bench struct {
	t   testing.TB
	now time.Time
	w   *world.World
	law *loadbalancer.Controller
	lb  *world.LoadBalancer
	n   int
}

var key = world.Key{Account: "123456789012", Region: "eu-west-1"}

func (b *bench) Now() time.Time { return b.now }

func (b *bench) Sleep(context.Context, time.Duration) error { panic("a passive world does not sleep") }

func newBench(t testing.TB, change func(*world.Settings)) *bench {
	b := &bench{t: t, now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)}
	k := world.NoDelays()
	if change != nil {
		change(&k)
	}
	b.w = world.New(world.Options{Clock: b, Seed: 7, Settings: &k, Strict: true})
	b.law = loadbalancer.New(b.w)
	b.lb = b.balancer("edge")
	return b
}

func (b *bench) do(f func(*world.Tx)) {
	b.t.Helper()
	if err := b.w.Do(key, func(tx *world.Tx) error { f(tx); return nil }); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) pass(d time.Duration) { b.now = b.now.Add(d); b.w.Advance() }

func (b *bench) balancer(name string) *world.LoadBalancer {
	lb := &world.LoadBalancer{ARN: "lb/" + name, Name: name, Type: "application", Zones: []string{"eu-west-1a"}}
	b.do(func(tx *world.Tx) { b.law.Add(tx, lb) })
	return lb
}

func (b *bench) group(name string) *world.TargetGroup {
	g := &world.TargetGroup{
		ARN: "arn:tg/" + name + "/1", Name: name, Protocol: "HTTP", Port: 80, TargetType: "ip",
		Check: world.HealthCheck{Enabled: true, Protocol: "HTTP", Path: "/", Port: "traffic-port",
			Interval: 30 * time.Second, Timeout: 5 * time.Second, Healthy: 5, Unhealthy: 2, Matcher: "200"},
		Attributes: map[string]string{"deregistration_delay.timeout_seconds": "60"},
	}
	b.do(func(tx *world.Tx) {
		tx.TargetGroups.Put(g.ARN, g)
		tx.Changed(world.GroupChanged, g)
	})
	return g
}

// listen opens a port whose default rule forwards by those weights.
func (b *bench) listen(port int32, shares ...world.Share) *world.Listener {
	l := &world.Listener{ARN: fmt.Sprint("listener/", port), Balancer: b.lb, Port: port, Protocol: "HTTP"}
	l.Rules = []*world.Rule{{ARN: fmt.Sprint("rule/", port, "/default"), Listener: l, Actions: forward(shares...)}}
	b.do(func(tx *world.Tx) { tx.AddListener(l) })
	return l
}

func forward(shares ...world.Share) []world.Action {
	return []world.Action{{Type: "forward", Order: 1, Forward: &world.Forward{Groups: shares}}}
}

func share(g *world.TargetGroup, weight int32) world.Share {
	return world.Share{Group: g.ARN, Weight: weight}
}

// task is a running task of an image, on port 80.
func (b *bench) task(img string) *world.Task {
	b.t.Helper()
	does, err := image.Parse(img)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.taskOf(does)
}

func (b *bench) taskOf(does image.Behaviour) *world.Task {
	b.n++
	id := fmt.Sprintf("task%04d", b.n)
	t := &world.Task{ARN: "arn:task/" + id, ID: id, LastStatus: "RUNNING",
		Address: netip.AddrFrom4([4]byte{127, 16, byte(b.n >> 8), byte(b.n)}),
		Containers: []*world.Container{{Behaviour: does, Status: "RUNNING",
			Spec: world.ContainerSpec{Name: "web", Ports: []world.Port{{Container: 80}}}}}}
	b.do(func(tx *world.Tx) {
		t.StartedAt, t.Containers[0].StartedAt = tx.Now(), tx.Now()
		if tx.TasksByAddress == nil {
			tx.TasksByAddress = map[netip.Addr]*world.Task{}
		}
		tx.TasksByAddress[t.Address] = t
		tx.Tasks.Put(t.ARN, t)
	})
	return t
}

func (b *bench) register(g *world.TargetGroup, tasks ...*world.Task) {
	b.do(func(tx *world.Tx) {
		for _, t := range tasks {
			tx.RegisterTarget(g, t.Address.String(), 80, "eu-west-1a", t)
		}
	})
}

func (b *bench) deregister(g *world.TargetGroup, t *world.Task) {
	b.do(func(tx *world.Tx) { tx.DeregisterTarget(g, t.Address.String(), 80) })
}

// kill stops the task's containers, as a crash does.
func (b *bench) kill(t *world.Task) {
	b.do(func(tx *world.Tx) {
		t.Containers[0].Status = "STOPPED"
		tx.SetStatus(t, "DEPROVISIONING")
	})
}

func (b *bench) signal(t *world.Task) {
	b.do(func(tx *world.Tx) {
		t.SignalledAt = tx.Now()
		tx.SetStatus(t, "STOPPING")
	})
}

func (b *bench) table() *loadbalancer.Table {
	b.t.Helper()
	t := b.law.Table(key, b.lb.ARN)
	if t == nil {
		b.t.Fatal("the load balancer has no table")
	}
	return t
}

// states is what DescribeTargetHealth would tell of a group.
func states(g *world.TargetGroup) string {
	var parts []string
	for _, t := range g.Targets {
		parts = append(parts, strings.TrimSpace(t.State+" "+t.Reason))
	}
	return strings.Join(parts, ", ")
}

func (b *bench) want(g *world.TargetGroup, want string) {
	b.t.Helper()
	b.w.Advance()
	if got := states(g); got != want {
		b.t.Fatalf("targets of %s at +%s: %s, want %s", g.Name, b.now.Format("15:04:05.000"), got, want)
	}
}

func (b *bench) log() string {
	var out bytes.Buffer
	_ = b.w.WriteLog(&out)
	return out.String()
}
