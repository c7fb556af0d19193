package dataplane_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/world"
)

func TestWeightsShareRequests(t *testing.T) {
	b := newBench(t)
	primary, canary := b.group("primary", 0), b.group("canary", 0)
	l := b.listen(80, forward(share(primary, 50), share(canary, 50)))
	b.register(primary, b.task("sim/web:v1"), b.task("sim/web:v1"))
	b.register(canary, b.task("sim/web:v2"))
	got := b.spread(l.Bound, 10_000)
	v1, v2 := got["v1\n"], got["v2\n"]
	// Six standard deviations of 10,000 fair draws are 300.
	if v1+v2 != 10_000 || v1 < 4700 || v1 > 5300 {
		t.Errorf("got %v", got)
	}
	want := map[string]int64{"answered v1": int64(v1), "answered v2": int64(v2)}
	if counted := b.outcomes(); !maps.Equal(counted, want) {
		t.Errorf("counted %v, clients saw %v", counted, want)
	}
	tr := b.plane.Traffic()
	if tr.Requests != 10_000 || tr.Failed != 0 || tr.Statuses[200] != 10_000 || tr.Rows[0].Listener != l.ARN ||
		tr.Rows[0].Group != canary.ARN {
		t.Errorf("%+v", tr)
	}
	b.plane.ResetTraffic()
	if tr := b.plane.Traffic(); tr.Requests != 0 || len(tr.Rows) != 0 {
		t.Errorf("after reset: %+v", tr)
	}
}

func TestTargetsOfAGroupTakeTurns(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	b.register(g, b.task("sim/web:v1"), b.task("sim/web:v1"))
	seen := map[string]int{}
	for range 100 {
		seen[b.get(l.Bound, "/").header.Get("X-Sim-Task")]++
	}
	if seen["task0001"] != 50 || seen["task0002"] != 50 {
		t.Errorf("%v", seen)
	}
}

func TestEmptyGroupAnswers503ForItsShare(t *testing.T) {
	b := newBench(t)
	primary, canary := b.group("primary", 0), b.group("canary", 0)
	l := b.listen(80, forward(share(primary, 50), share(canary, 50)))
	b.register(primary, b.task("sim/web:v1"))
	got := b.spread(l.Bound, 1000)
	if got["v1\n"]+got["503"] != 1000 || got["503"] < 400 || got["503"] > 600 {
		t.Errorf("got %v", got)
	}
	if o := b.outcomes(); o["unavailable "] != int64(got["503"]) {
		t.Errorf("counted %v", o)
	}
	if tr := b.plane.Traffic(); tr.Failed != int64(got["503"]) {
		t.Errorf("%d failed", tr.Failed)
	}
}

func TestRefusedTargetAnswers502(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	b.register(g, b.silent(image.Behaviour{Version: "v1"}))
	got := b.get(l.Bound, "/")
	if got.status != 502 || got.header.Get("Server") != "awselb/2.0" || !strings.Contains(got.body, "502 Bad Gateway") {
		t.Errorf("%+v", got)
	}
	if o := b.outcomes(); o["refused by target v1"] != 1 {
		t.Errorf("counted %v", o)
	}
}

func TestCrashedTaskRefusesAtOnce(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	task := b.task("sim/web:v1")
	b.register(g, task)
	if got := b.get(l.Bound, "/"); got.status != 200 {
		t.Fatalf("%+v", got)
	}
	own := b.address(task)
	b.crash(task)
	if got := b.get(l.Bound, "/"); got.status != 502 {
		t.Errorf("through the load balancer: %+v", got)
	}
	if got := b.get(own, "/"); got.err == nil {
		t.Errorf("the crashed task answers: %+v", got)
	}
}

// The promise behind every deployment: a target that is taken out while clients
// hammer the load balancer over keep-alive connections costs no request.
func TestDrainLosesNothingUnderLoad(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 30*time.Second)
	l := b.listen(80, forward(share(g, 1)))
	old, young := b.task("sim/web:v1"), b.task("sim/web:v2")
	b.register(g, old, young)
	var stop atomic.Bool
	var wg sync.WaitGroup
	bad := make(chan reply, 1)
	var served, afterwards atomic.Int64
	for range 8 {
		wg.Go(func() {
			for !stop.Load() {
				got := b.get(l.Bound, "/")
				if got.err != nil || got.status != 200 {
					select {
					case bad <- got:
					default:
					}
				}
				served.Add(1)
				afterwards.Add(1)
			}
		})
	}
	more := func() {
		afterwards.Store(0)
		b.until("200 more requests", func() bool { return afterwards.Load() > 200 })
	}
	more()
	b.deregister(g, old)
	more()
	b.plane.ResetTraffic()
	more()
	if o := b.outcomes(); o["answered v1"] != 0 {
		t.Errorf("a draining target took new requests: %v", o)
	}
	b.pass(31 * time.Second)
	more()
	b.term(old)
	more()
	b.kill(old)
	more()
	stop.Store(true)
	wg.Wait()
	select {
	case got := <-bad:
		t.Errorf("of %d requests one was lost: %+v", served.Load(), got)
	default:
	}
}

func TestOpenRequestsFinishInTheDrainAndAreCutAfterIt(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 10*time.Second)
	l := b.listen(80, forward(share(g, 1)))
	task := b.task("sim/web:v1")
	b.register(g, task)
	quick, slow := make(chan reply, 1), make(chan reply, 1)
	go func() { quick <- b.get(l.Bound, "/_slow?ms=5000") }()
	go func() { slow <- b.get(l.Bound, "/_slow?ms=50000") }()
	b.until("both requests are open", func() bool { return b.clock.sleepers() == 3 })
	b.deregister(g, task)
	if got := b.get(l.Bound, "/"); got.status != 503 {
		t.Errorf("a new request: %+v", got)
	}
	b.pass(5 * time.Second)
	if got := <-quick; got.status != 200 {
		t.Errorf("the quick one: %+v", got)
	}
	b.pass(6 * time.Second)
	if got := <-slow; got.status != 502 {
		t.Errorf("the slow one: %+v", got)
	}
}

func TestIdleTargetTimesOut(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	b.register(g, b.task("sim/web:v1"))
	slow := make(chan reply, 1)
	go func() { slow <- b.get(l.Bound, "/_slow?ms=600000") }()
	b.until("the request is open", func() bool { return b.clock.sleepers() == 2 })
	b.until("the idle timeout", func() bool { b.pass(5 * time.Second); return len(slow) == 1 })
	if got := <-slow; got.status != 504 {
		t.Errorf("%+v", got)
	}
	if o := b.outcomes(); o["timeout v1"] != 1 {
		t.Errorf("%v", o)
	}
}

func TestStickyClientsStayInTheirGroup(t *testing.T) {
	b := newBench(t)
	primary, canary := b.group("primary", 0), b.group("canary", 0)
	a := forward(share(primary, 50), share(canary, 50))
	a.Forward.Sticky, a.Forward.StickySeconds = true, 60
	l := b.listen(80, a)
	b.register(primary, b.task("sim/web:v1"))
	b.register(canary, b.task("sim/web:v2"))
	firsts := map[string]int{}
	for range 40 {
		jar, _ := cookiejar.New(nil)
		b.client.Jar = jar
		first := b.get(l.Bound, "/").body
		firsts[first]++
		for range 5 {
			if got := b.get(l.Bound, "/").body; got != first {
				t.Fatalf("began with %q, then %q", first, got)
			}
		}
		at, _ := url.Parse("http://" + l.Bound)
		if len(jar.Cookies(at)) == 0 {
			t.Fatal("no cookie was set")
		}
	}
	if firsts["v1\n"] < 5 || firsts["v2\n"] < 5 {
		t.Errorf("new clients: %v", firsts)
	}
}

func TestRedirectAndFixedResponse(t *testing.T) {
	b := newBench(t)
	r := b.listen(80, world.Action{Type: "redirect", Redirect: &world.Redirect{Protocol: "HTTPS", Port: "443",
		Status: 301}})
	f := b.listen(81, world.Action{Type: "fixed-response", Fixed: &world.Fixed{Status: 404, ContentType: "text/plain",
		Body: "nobody"}})
	got := b.get(r.Bound, "/a?b=c", func(r *http.Request) { r.Host = "shop.test" })
	if got.status != 301 || got.header.Get("Location") != "https://shop.test:443/a?b=c" {
		t.Errorf("%+v", got)
	}
	if got := b.get(f.Bound, "/"); got.status != 404 || got.body != "nobody" ||
		got.header.Get("Content-Type") != "text/plain" {
		t.Errorf("%+v", got)
	}
	if tr := b.plane.Traffic(); tr.Failed != 0 || tr.Requests != 2 {
		t.Errorf("%+v", tr)
	}
}

func TestHeadersAndBodyReachTheTarget(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	b.register(g, b.taskOf(image.Behaviour{Version: "go",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			h := r.Header
			fmt.Fprintln(w, r.Method, r.Host, r.URL, string(body))
			fmt.Fprintln(w, h["X-Forwarded-For"], h["X-Forwarded-Proto"], h["X-Forwarded-Port"])
			fmt.Fprintln(w, h["X-Amzn-Trace-Id"], h.Get("Forwarded"), h.Get("Te"))
		})}, nil))
	b.pass(5 * time.Second) // a Go handler is healthy when a real check has passed
	b.until("the probe has passed", func() bool { return b.get(l.Bound, "/").status == 200 })
	got := b.get(l.Bound, "/a%2Fb?c=d;e", func(r *http.Request) {
		r.Method, r.Host = "POST", "shop.test"
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader("hello")), 5
		r.Header.Set("X-Forwarded-For", "10.0.0.1")
		r.Header.Set("X-Amzn-Trace-Id", "Root=1-2-3")
	})
	lines := strings.Split(got.body, "\n")
	if lines[0] != "POST shop.test /a%2Fb?c=d;e hello" {
		t.Errorf("%q", lines[0])
	}
	if lines[1] != "[10.0.0.1, 127.0.0.1] [http] [80]" {
		t.Errorf("%q", lines[1])
	}
	if !strings.HasPrefix(lines[2], "[Self=1-") || !strings.Contains(lines[2], ";Root=1-2-3]") {
		t.Errorf("%q", lines[2])
	}
	if got.header.Get("X-Sim-Version") != "go" {
		t.Errorf("%v", got.header)
	}
}

func TestListenersComeAndGo(t *testing.T) {
	b := newBench(t)
	a := world.Action{Type: "fixed-response", Fixed: &world.Fixed{Status: 200, Body: "here"}}
	one, two := b.listen(80, a), b.listen(8081, a)
	b.do(func(tx *world.Tx) { tx.RemoveListener(one) })
	if got := b.get(one.Bound, "/"); got.err == nil {
		t.Errorf("the listener is gone and answers: %+v", got)
	}
	if got := b.get(two.Bound, "/"); got.body != "here" {
		t.Errorf("%+v", got)
	}
	again := b.listen(80, a)
	if got := b.get(again.Bound, "/"); got.body != "here" {
		t.Errorf("%+v", got)
	}
}

// A second simulator on the machine finds the addresses taken; it moves to
// 127.0.0.1, says so, and reaches its own tasks.
func TestSecondSimulatorMovesAside(t *testing.T) {
	var at [2]string
	for i, version := range []string{"v1", "v2"} {
		b := newBench(t)
		g := b.group("web", 0)
		l := b.listen(18080, forward(share(g, 1)))
		b.register(g, b.task("sim/web:"+version))
		if got := b.get(l.Bound, "/"); got.body != version+"\n" {
			t.Errorf("%s: %+v", l.Bound, got)
		}
		at[i] = l.Bound
		if own := netip.MustParseAddrPort(l.Bound); own.Addr().String() != b.lb.Address && b.lb.DNSName != l.Bound {
			t.Errorf("listens at %s and is called %s", l.Bound, b.lb.DNSName)
		}
	}
	if at[0] == at[1] {
		t.Errorf("both listen at %s", at[0])
	}
}

func TestTargetMayBeAServerOfTheUsers(t *testing.T) {
	b := newBench(t)
	mine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "mine") }))
	defer mine.Close()
	at := netip.MustParseAddrPort(mine.Listener.Addr().String())
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	b.do(func(tx *world.Tx) { tx.RegisterTarget(g, at.Addr().String(), int32(at.Port()), "us-east-1a", nil) })
	b.pass(10 * time.Second)
	if got := b.get(l.Bound, "/"); got.body != "mine" {
		t.Errorf("%+v, %d targets are healthy", got, b.count(g, "healthy"))
	}
}

func TestNothingConnectsOutsideLoopback(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	b.do(func(tx *world.Tx) { tx.RegisterTarget(g, "192.0.2.1", 80, "us-east-1a", nil) })
	b.pass(10 * time.Second)
	if got := b.get(l.Bound, "/"); got.status != 502 {
		t.Errorf("%+v", got)
	}
}

// A client that leaves before the answer is counted as one that the load balancer
// logs with status 460, and not as failed.
func TestAClientThatLeavesIsCountedAs460(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	arrived, done := make(chan bool), make(chan bool)
	b.register(g, b.taskOf(image.Behaviour{Version: "go",
		Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/slow" {
				arrived <- true
				<-done
			}
		})}, nil))
	b.pass(5 * time.Second)
	b.until("the probe has passed", func() bool { return b.get(l.Bound, "/").status == 200 })
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan bool)
	go func() {
		defer close(left)
		b.get(l.Bound, "/slow", func(r *http.Request) { *r = *r.WithContext(ctx) })
	}()
	<-arrived
	leave()
	<-left
	b.until("it is counted", func() bool { return b.outcomes()["client gone go"] == 1 })
	close(done)
	if tr := b.plane.Traffic(); tr.Statuses[460] != 1 || tr.Failed != 0 {
		t.Errorf("%+v", tr)
	}
}

// The world says that a task runs and is healthy before its process is started here. A
// request that comes in between waits for the process; it is not lost with status 502.
func TestRequestWaitsForAProcessThatTheWorldHasStarted(t *testing.T) {
	b := newBench(t)
	g := b.group("web", 0)
	l := b.listen(80, forward(share(g, 1)))
	does := image.Behaviour{Version: "v1"}
	task := b.silent(does)
	b.plane.HoldUntilFlush()
	if err := b.w.Do(east, func(tx *world.Tx) error {
		tx.Emit(world.StartProcess{Key: east, Task: task.ARN, TaskID: task.ID, Container: "web", Address: task.Address,
			Ports: []int32{8080}, Behaviour: does, At: tx.Now()})
		tx.RegisterTarget(g, task.Address.String(), 8080, "us-east-1a", task)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	b.clock.move(time.Second)
	b.w.Advance()
	if got := b.get(l.Bound, "/"); got.status != 200 {
		t.Errorf("%+v", got)
	}
}
