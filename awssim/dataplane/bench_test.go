package dataplane_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sluice-ecs/sluice/awssim/dataplane"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// patience bounds a wait for something that real sockets or programs do.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv("TASK_PROGRAM") != "" {
		taskProgram()
		return
	}
	goleak.VerifyTestMain(m)
}

// hands is a clock that stands still until a test moves it.
type hands struct {
	mu    sync.Mutex
	now   time.Time
	moved chan struct{}
	sleep int // how many sleep: the data plane's sweep always does
}

func (h *hands) sleepers() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sleep
}

func (h *hands) add(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sleep += n
}

func (h *hands) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *hands) Sleep(ctx context.Context, d time.Duration) error {
	till := h.Now().Add(d)
	h.add(1)
	defer h.add(-1)
	for {
		h.mu.Lock()
		now, moved := h.now, h.moved
		h.mu.Unlock()
		if !now.Before(till) {
			return ctx.Err()
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (h *hands) move(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
	close(h.moved)
	h.moved = make(chan struct{})
}

var east = world.Key{Account: "123456789012", Region: "us-east-1"}

// bench is a load balancer with its data plane, and the words that tests say.
type bench struct {
	t      testing.TB
	clock  *hands
	w      *world.World
	law    *loadbalancer.Controller
	plane  *dataplane.Plane
	lb     *world.LoadBalancer
	client *http.Client
	ctx    context.Context
	exits  chan string
	n      int
}

func newBench(t testing.TB) *bench {
	b := &bench{
		// Cookies live by the client's time, so the bench begins at the machine's.
		t: t, clock: &hands{now: time.Now(), moved: make(chan struct{})},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: patience},
		exits:  make(chan string, 16),
	}
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	var cancel context.CancelFunc
	b.ctx, cancel = context.WithTimeout(context.Background(), 3*patience)
	k := world.NoDelays()
	b.w = world.New(world.Options{Clock: b.clock, Seed: 7, Settings: &k, Strict: true})
	b.law = loadbalancer.New(b.w)
	b.w.Watch(func(tx *world.Tx, c world.Change) {
		if b.plane != nil {
			b.plane.Watch(tx, c)
		}
	})
	b.open()
	b.until("the sweep for idle requests sleeps", func() bool { return b.clock.sleepers() == 1 })
	b.lb = &world.LoadBalancer{ARN: "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/edge/1",
		Name: "edge", Type: "application", Zones: []string{"us-east-1a"}}
	b.do(func(tx *world.Tx) { b.law.Add(tx, b.lb) })
	t.Cleanup(func() {
		cancel()
		b.plane.Close()
		b.client.CloseIdleConnections()
	})
	return b
}

func (b *bench) open() {
	step := func(k world.Key, f func(*world.Tx)) {
		_ = b.w.Do(k, func(tx *world.Tx) error { f(tx); return nil })
	}
	b.plane = dataplane.Start(dataplane.Options{World: b.w, Clock: b.clock, Seed: 7, Callbacks: dataplane.Callbacks{
		Table: b.law.Table,
		Bound: func(k world.Key, lb string, port int32, at string) {
			step(k, func(tx *world.Tx) { b.law.SetBound(tx, lb, port, at) })
		},
		Probed: func(p world.ProbeTarget, status int, err error) {
			step(p.Key, func(tx *world.Tx) { b.law.RecordProbe(tx, p, status, err) })
		},
		Exited: func(_ world.Key, task, container string, code int) {
			b.exits <- fmt.Sprintf("%s %s %d", task, container, code)
		},
	}})
}

func (b *bench) do(f func(*world.Tx)) {
	b.t.Helper()
	if err := b.w.Do(east, func(tx *world.Tx) error { f(tx); return nil }); err != nil {
		b.t.Fatal(err)
	}
	b.flush()
}

func (b *bench) flush() {
	b.t.Helper()
	if err := b.plane.Flush(b.ctx); err != nil {
		b.t.Fatal(err)
	}
}

// pass moves time; what fell due has been carried out when it returns.
func (b *bench) pass(d time.Duration) {
	b.t.Helper()
	b.clock.move(d)
	b.w.Advance()
	b.flush()
}

func (b *bench) group(name string, drain time.Duration) *world.TargetGroup {
	g := &world.TargetGroup{
		ARN:  "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/" + name + "/1",
		Name: name, Protocol: "HTTP", Port: 8080, TargetType: "ip",
		Check: world.HealthCheck{Enabled: true, Protocol: "HTTP", Path: "/", Port: "traffic-port",
			Interval: 5 * time.Second, Timeout: 2 * time.Second, Healthy: 2, Unhealthy: 2, Matcher: "200"},
		Attributes: map[string]string{"deregistration_delay.timeout_seconds": fmt.Sprint(int(drain.Seconds()))},
	}
	b.do(func(tx *world.Tx) {
		tx.TargetGroups.Put(g.ARN, g)
		tx.Changed(world.GroupChanged, g)
	})
	return g
}

func (b *bench) listen(port int32, action world.Action) *world.Listener {
	l := &world.Listener{ARN: fmt.Sprintf("arn:aws:elasticloadbalancing:us-east-1:123456789012:listener/app/edge/1/%d",
		port),
		Balancer: b.lb, Port: port, Protocol: "HTTP"}
	l.Rules = []*world.Rule{{ARN: fmt.Sprint("rule/", port), Listener: l, Actions: []world.Action{action}}}
	b.do(func(tx *world.Tx) { tx.AddListener(l) })
	if l.Bound == "" {
		b.t.Fatalf("listener %d has no socket", port)
	}
	return l
}

func forward(shares ...world.Share) world.Action {
	return world.Action{Type: "forward", Order: 1, Forward: &world.Forward{Groups: shares}}
}

func share(g *world.TargetGroup, weight int32) world.Share {
	return world.Share{Group: g.ARN, Weight: weight}
}

// task is a running task of an image, on port 8080.
func (b *bench) task(ref string) *world.Task {
	b.t.Helper()
	does, err := image.Parse(ref)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.taskOf(does, nil)
}

func (b *bench) taskOf(does image.Behaviour, env map[string]string) *world.Task {
	t := b.silent(does)
	b.do(func(tx *world.Tx) {
		tx.Emit(world.StartProcess{Key: east, Task: t.ARN, TaskID: t.ID, Container: "web", Service: "web",
			Address: t.Address,
			Ports:   []int32{8080}, Behaviour: does, Environment: env, At: t.StartedAt})
	})
	return t
}

// silent is a task behind which nothing listens. Its address is one that no
// subnet of the default network has, so that no other simulator's tasks meet it.
func (b *bench) silent(does image.Behaviour) *world.Task {
	b.n++
	id := fmt.Sprintf("task%04d", b.n)
	t := &world.Task{ARN: "arn:aws:ecs:us-east-1:123456789012:task/prod/" + id, ID: id, LastStatus: "RUNNING",
		DesiredStatus: "RUNNING",
		Address:       netip.AddrFrom4([4]byte{127, 16, 200, byte(b.n + 3)}),
		Containers: []*world.Container{{Behaviour: does, Status: "RUNNING",
			Spec: world.ContainerSpec{Name: "web", Essential: true, Ports: []world.Port{{Container: 8080}}}}}}
	b.do(func(tx *world.Tx) {
		t.StartedAt, t.Containers[0].StartedAt = tx.Now(), tx.Now()
		if tx.TasksByAddress == nil {
			tx.Region.TasksByAddress = map[netip.Addr]*world.Task{}
		}
		tx.TasksByAddress[t.Address] = t
		tx.Tasks.Put(t.ARN, t)
	})
	return t
}

// register adds tasks to a group and waits, in the bench's time, until they are
// healthy.
func (b *bench) register(g *world.TargetGroup, tasks ...*world.Task) {
	b.t.Helper()
	b.do(func(tx *world.Tx) {
		for _, t := range tasks {
			tx.RegisterTarget(g, t.Address.String(), 8080, "us-east-1a", t)
		}
	})
	b.pass(time.Second)
}

func (b *bench) count(g *world.TargetGroup, state string) (n int) {
	b.do(func(*world.Tx) { n = g.Count(state) })
	return n
}

func (b *bench) deregister(g *world.TargetGroup, t *world.Task) {
	b.do(func(tx *world.Tx) { tx.DeregisterTarget(g, t.Address.String(), 8080) })
}

func (b *bench) term(t *world.Task) {
	b.do(func(tx *world.Tx) { tx.Emit(world.SignalProcess{Key: east, Task: t.ARN}) })
}

func (b *bench) kill(t *world.Task) {
	b.do(func(tx *world.Tx) { tx.Emit(world.SignalProcess{Key: east, Task: t.ARN, Kill: true}) })
}

// crash ends the task's container as the scheduler does when it exits.
func (b *bench) crash(t *world.Task) {
	b.do(func(tx *world.Tx) {
		t.Containers[0].Status = "STOPPED"
		tx.SetStatus(t, "DEACTIVATING")
	})
}

func (b *bench) address(t *world.Task) string {
	return b.plane.SocketAddress(netip.AddrPortFrom(t.Address, 8080))
}

// reply is what a client got.
type reply struct {
	status int
	body   string
	header http.Header
	err    error
}

func (b *bench) get(at, path string, change ...func(*http.Request)) (got reply) {
	r, err := http.NewRequestWithContext(b.ctx, http.MethodGet, "http://"+at+path, nil)
	if err != nil {
		return reply{err: err}
	}
	for _, f := range change {
		f(r)
	}
	res, err := b.client.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, string(body), res.Header, err}
}

// spread makes n requests from several clients at once and counts the answers.
func (b *bench) spread(at string, n int) map[string]int {
	var mu sync.Mutex
	counts := map[string]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range n / 8 {
				got := b.get(at, "/")
				key := fmt.Sprint(got.status)
				if got.err != nil {
					key = got.err.Error()
				} else if got.status == 200 {
					key = got.body
				}
				mu.Lock()
				counts[key]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return counts
}

// outcomes are the counted requests by outcome and version.
func (b *bench) outcomes() map[string]int64 {
	all := map[string]int64{}
	for _, r := range b.plane.Traffic().Rows {
		all[r.Outcome+" "+r.Version] += r.Requests
	}
	return all
}

func (b *bench) until(what string, holds func() bool) {
	b.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			b.t.Fatalf("never happened: %s", what)
		}
	}
}
