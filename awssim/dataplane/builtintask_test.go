package dataplane_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestTaskAnswersAsItsImageDoes(t *testing.T) {
	b := newBench(t)
	task := b.task("sim/web:v2-healthy-after-5s-unhealthy-after-1m")
	at := b.address(task)
	if own := netip.MustParseAddrPort(at); own.Addr() != task.Address &&
		own.Addr() != netip.MustParseAddr("127.0.0.1") {
		t.Errorf("listens at %s", at)
	}
	if got := b.get(at, "/"); got.status != 503 {
		t.Errorf("before it is healthy: %+v", got)
	}
	b.pass(5 * time.Second)
	got := b.get(at, "/")
	if got.status != 200 || got.body != "v2\n" || got.header.Get("X-Sim-Version") != "v2" ||
		got.header.Get("X-Sim-Task") != task.ID {
		t.Errorf("%+v", got)
	}
	if got := b.get(at, "/json"); !strings.Contains(got.body, `"version":"v2"`) ||
		!strings.Contains(got.body, task.Address.String()) {
		t.Errorf("%+v", got)
	}
	b.pass(time.Minute)
	if got := b.get(at, "/"); got.status != 503 {
		t.Errorf("when it is unhealthy again: %+v", got)
	}
}

func TestErrorsAndLatency(t *testing.T) {
	b := newBench(t)
	at := b.address(b.task("sim/web:v2?errors=25%"))
	bad := 0
	for range 1000 {
		if b.get(at, "/").status == http.StatusInternalServerError {
			bad++
		}
	}
	if bad < 150 || bad > 350 {
		t.Errorf("%d of 1000 answered 500", bad)
	}
	slow := b.address(b.task("sim/web:v2?latency=20ms"))
	got := make(chan reply, 1)
	go func() { got <- b.get(slow, "/") }()
	b.until("the latency has passed", func() bool { b.pass(10 * time.Millisecond); return len(got) == 1 })
	if r := <-got; r.status != 200 {
		t.Errorf("%+v", r)
	}
}

func TestAfterSIGTERMItServesOnThenRefuses(t *testing.T) {
	b := newBench(t)
	task := b.task("sim/web:v1-term-10s")
	at := b.address(task)
	open := make(chan reply, 1)
	b.term(task)
	b.pass(9 * time.Second)
	if got := b.get(at, "/"); got.status != 200 {
		t.Errorf("9 s after SIGTERM: %+v", got)
	}
	go func() { open <- b.get(at, "/_slow?ms=5000") }()
	b.until("the request sleeps", func() bool { return b.clock.sleepers() == 3 })
	b.pass(time.Second)
	b.until("new connections are refused", func() bool { return b.get(at, "/").err != nil })
	b.pass(5 * time.Second)
	if got := <-open; got.status != 200 {
		t.Errorf("the open request: %+v", got)
	}
}

func TestSIGKILLBreaksOpenRequests(t *testing.T) {
	b := newBench(t)
	task := b.task("sim/web:v1?ignores-term")
	at := b.address(task)
	b.term(task)
	b.pass(time.Hour)
	if got := b.get(at, "/"); got.status != 200 {
		t.Errorf("after SIGTERM: %+v", got)
	}
	open := make(chan reply, 1)
	before := b.clock.sleepers()
	go func() { open <- b.get(at, "/_slow?ms=5000") }()
	b.until("the request sleeps", func() bool { return b.clock.sleepers() > before })
	b.kill(task)
	if got := <-open; got.err == nil {
		t.Errorf("the open request: %+v", got)
	}
	if got := b.get(at, "/"); got.err == nil {
		t.Errorf("a new one: %+v", got)
	}
}

func TestCrashAtItsTime(t *testing.T) {
	b := newBench(t)
	at := b.address(b.task("sim/web:v1-crash-after-5s"))
	b.pass(4 * time.Second)
	if got := b.get(at, "/"); got.status != 200 {
		t.Errorf("before: %+v", got)
	}
	b.pass(time.Second)
	b.until("connections are refused", func() bool { return b.get(at, "/").err != nil })
}

// Beyond the budget of sockets requests still arrive.
func TestTasksBeyondTheFileLimit(t *testing.T) {
	b := newBench(t)
	b.plane.LimitSockets(2, 3)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	var tasks []*world.Task
	for range 6 {
		tasks = append(tasks, b.task("sim/web:v1"))
	}
	b.register(g, tasks...)
	open := func() (n int) {
		for _, task := range tasks {
			if b.address(task) != "" {
				n++
			}
		}
		return n
	}
	if n := open(); n != 2 {
		t.Errorf("%d sockets are open before any request", n)
	}
	seen := map[string]bool{}
	for range 60 {
		got := b.get(l.Bound, "/")
		if got.status != 200 {
			t.Fatalf("%+v", got)
		}
		seen[got.header.Get("X-Sim-Task")] = true
	}
	if n := open(); n != 3 || len(seen) != 6 {
		t.Errorf("%d sockets are open, %d tasks answered", n, len(seen))
	}
}

// A data plane that comes late, or again, finds what stands in the world.
func TestPlaneTakesOverRunningTasks(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	task := b.task("sim/web:v1")
	b.register(g, task)
	b.plane.Close()
	if got := b.get(l.Bound, "/"); got.err == nil {
		t.Fatalf("the closed data plane answers: %+v", got)
	}
	b.open()
	b.flush()
	if got := b.get(l.Bound, "/"); got.body != "v1\n" {
		t.Errorf("%+v", got)
	}
	b.w.Reset()
	b.flush()
	if got := b.get(l.Bound, "/"); got.err == nil {
		t.Errorf("after a reset: %+v", got)
	}
}

func TestUpgradedConnectionsPassThrough(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	b.register(g, b.taskOf(image.Behaviour{Version: "ws", Handler: http.HandlerFunc(echo)}, nil))
	b.until("the probe has passed", func() bool { b.pass(5 * time.Second); return b.count(g, "healthy") == 1 })
	r, _ := http.NewRequestWithContext(b.ctx, http.MethodGet, "http://"+l.Bound+"/", nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	res, err := b.client.Transport.RoundTrip(r)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(res, err)
	}
	c := res.Body.(interface {
		Read([]byte) (int, error)
		Write([]byte) (int, error)
		Close() error
	})
	defer c.Close()
	b.pass(10 * time.Minute) // it may be idle
	_, _ = c.Write([]byte("ping"))
	buf := make([]byte, 4)
	if _, err := c.Read(buf); err != nil || string(buf) != "ping" {
		t.Errorf("%q %v", buf, err)
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		return
	}
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	_ = rw.Flush()
	buf := make([]byte, 4)
	if n, err := rw.Read(buf); err == nil {
		_, _ = c.Write(buf[:n])
	}
}
