package loadbalancer_test

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
	"pgregory.net/rapid"
)

func get(host, path string) loadbalancer.Request {
	return loadbalancer.Request{Method: "GET", Scheme: "http", Host: host, Path: path,
		SourceIP: netip.MustParseAddr("127.0.0.1")}
}

// rule puts a fixed response behind a condition, so that tests see which rule met.
func (b *bench) rule(l *world.Listener, priority int, status int, cs ...world.Condition) *world.Rule {
	r := &world.Rule{ARN: fmt.Sprint("rule/", l.Port, "/", priority), Listener: l, Priority: priority, Conditions: cs,
		Actions: []world.Action{{Type: "fixed-response", Fixed: &world.Fixed{Status: status}}}}
	b.do(func(tx *world.Tx) { tx.AddRule(r) })
	return r
}

func TestConditions(t *testing.T) {
	header := http.Header{"User-Agent": {"Mozilla/5.0 Chrome"}, "X-Stage": {"one", "Canary"}}
	cases := []struct {
		name string
		c    world.Condition
		yes  []string // URLs, or as the case's name says
		no   []string
	}{
		{"host", world.Condition{Field: "host-header", Values: []string{"*.Example.com", "a.test"}},
			[]string{"http://www.example.COM/", "http://a.test:8080/"},
			[]string{"http://example.com/", "http://b.test/"}},
		{"path", world.Condition{Field: "path-pattern", Values: []string{"/img/*", "/v?/x", "/a*b*c"}},
			[]string{"/img/", "/img/a/b", "/v1/x", "/abc", "/a-b-b-c"}, []string{"/IMG/a", "/img", "/v12/x", "/ab",
				"/abcd"}},
		{"escaped", world.Condition{Field: "path-pattern", Values: []string{`/a\*b`}}, []string{"/a*b"},
			[]string{"/axb"}},
		{"path regex", world.Condition{Field: "path-pattern", Regex: []string{`^/users/[0-9]+$`}},
			[]string{"/users/17"}, []string{"/users/me", "/users/1/x"}},
		{"query", world.Condition{Field: "query-string", Query: []world.QueryPair{{Key: "version", Value: "v1*"},
			{Value: "*canary*"}}},
			[]string{"/?a=b&VERSION=V1.2", "/?x=my%20CANARY%20y"}, []string{"/?version=v2", "/", "/?canary=x"}},
		{"header", world.Condition{Field: "http-header", Header: "user-agent", Values: []string{"*chrome*"}},
			[]string{"/"}, nil},
		{"second value of a header", world.Condition{Field: "http-header", Header: "x-stage",
			Values: []string{"canary"}}, []string{"/"}, nil},
		{"absent header", world.Condition{Field: "http-header", Header: "x-none", Values: []string{"*"}}, nil,
			[]string{"/"}},
		{"method", world.Condition{Field: "http-request-method", Values: []string{"POST", "GET"}}, []string{"/"}, nil},
		{"other method", world.Condition{Field: "http-request-method", Values: []string{"get"}}, nil, []string{"/"}},
		{"source", world.Condition{Field: "source-ip", Values: []string{"10.0.0.0/8", "127.0.0.0/8"}}, []string{"/"},
			nil},
		{"other source", world.Condition{Field: "source-ip", Values: []string{"10.0.0.0/8"}}, nil, []string{"/"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, nil)
			b.rule(b.listen(80, share(b.group("web"), 1)), 10, 204, c.c)
			ask := func(url string) bool {
				r := get("any.test", url)
				if rest, ok := strings.CutPrefix(url, "http://"); ok {
					host, path, _ := strings.Cut(rest, "/")
					r = get(host, "/"+path)
				}
				r.Path, r.RawQuery, _ = strings.Cut(r.Path, "?")
				r.Header = header
				return b.table().Decide(80, r, loadbalancer.Random{}).Status == 204
			}
			for _, u := range c.yes {
				if !ask(u) {
					t.Errorf("%s does not match", u)
				}
			}
			for _, u := range c.no {
				if ask(u) {
					t.Errorf("%s matches", u)
				}
			}
		})
	}
}

func TestPriorityAndConjunction(t *testing.T) {
	b := newBench(t, nil)
	l := b.listen(80, share(b.group("web"), 1))
	path := world.Condition{Field: "path-pattern", Values: []string{"/a*"}}
	host := world.Condition{Field: "host-header", Values: []string{"a.test"}}
	b.rule(l, 20, 201, path)
	both := b.rule(l, 30, 202, path, host)
	b.rule(l, 40, 203, host)
	for url, want := range map[string]int{"a.test/a": 201, "a.test/b": 203, "b.test/b": 503} {
		host, path, _ := strings.Cut(url, "/")
		if got := b.table().Decide(80, get(host, "/"+path), loadbalancer.Random{}).Status; got != want {
			t.Errorf("%s: %d, want %d", url, got, want)
		}
	}
	b.do(func(tx *world.Tx) { tx.SetPriority(both, 5) })
	if got := b.table().Decide(80, get("a.test", "/a"), loadbalancer.Random{}); got.Status != 202 ||
		got.Rule != both.ARN {
		t.Errorf("after the move: %+v", got)
	}
}

func TestRedirect(t *testing.T) {
	b := newBench(t, nil)
	l := b.listen(80, share(b.group("web"), 1))
	to := &world.Redirect{Protocol: "HTTPS", Port: "443", Host: "new.#{host}", Path: "/x/#{path}",
		Query: "a=1&#{query}", Status: 301}
	b.do(func(tx *world.Tx) {
		tx.SetActions(l.Default(), []world.Action{{Type: "redirect", Redirect: to}})
	})
	r := get("old.test:80", "/p/q")
	r.RawQuery = "b=2"
	d := b.table().Decide(80, r, loadbalancer.Random{})
	if d.Kind != loadbalancer.Redirect || d.Status != 301 || d.Location != "https://new.old.test:443/x/p/q?a=1&b=2" {
		t.Errorf("%+v", d)
	}
	to.Protocol, to.Host, to.Port, to.Path, to.Query = "HTTPS", "", "443", "", ""
	if d := b.table().Decide(80, r, loadbalancer.Random{}); d.Location != "https://new.old.test:443/x/p/q?a=1&b=2" {
		t.Errorf("a table changed with the facts: %s", d.Location)
	}
}

func TestNothingListens(t *testing.T) {
	b := newBench(t, nil)
	if d := b.table().Decide(81, get("a.test", "/"), loadbalancer.Random{}); d.Kind != loadbalancer.Refuse {
		t.Errorf("%+v", d)
	}
	b.do(func(tx *world.Tx) { b.law.Remove(tx, b.lb) })
	if b.law.Table(key, b.lb.ARN) != nil {
		t.Error("a deleted load balancer has a table")
	}
}

// An empty group keeps its share and answers 503 for it; weights do not fail over.
func TestWeightsDoNotFailOver(t *testing.T) {
	b := newBench(t, nil)
	web, empty := b.group("web"), b.group("empty")
	b.listen(80, share(web, 90), share(empty, 10))
	b.register(web, b.task("sim/web:v1"))
	var ok, lost float64
	for _, o := range b.table().Shares(80, get("a.test", "/")) {
		if o.Kind == loadbalancer.Forward {
			ok += o.Share
		} else if o.Status == 503 && o.Group == empty.ARN {
			lost += o.Share
		}
	}
	if ok != 0.9 || lost != 0.1 {
		t.Errorf("served %v, lost %v", ok, lost)
	}
}

func TestAllWeightsZero(t *testing.T) {
	b := newBench(t, nil)
	web := b.group("web")
	b.listen(80, share(web, 0))
	b.register(web, b.task("sim/web:v1"))
	d := b.table().Decide(80, get("a.test", "/"), loadbalancer.Random{})
	if d.Kind != loadbalancer.Unavailable || d.Status != 503 {
		t.Errorf("%+v", d)
	}
}

func TestFailOpen(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	good, bad := b.task("sim/web:v1"), b.task("sim/web:v1?never-healthy")
	b.register(g, good, bad)
	b.pass(time.Minute)
	takes := func() int { return len(b.table().Group(g.ARN).TakingTargets()) }
	if takes() != 1 {
		t.Fatalf("%d targets take requests, want the healthy one", takes())
	}
	b.deregister(g, good)
	if v := b.table().Group(g.ARN); takes() != 1 || !v.FailOpen || v.TakingTargets()[0].Task != bad.ARN {
		t.Errorf("without a healthy target: %+v", v)
	}
	b.register(g, good)
	b.do(func(tx *world.Tx) {
		g.Attributes["target_group_health.unhealthy_state_routing.minimum_healthy_targets.count"] = "2"
		tx.Changed(world.GroupChanged, g)
	})
	if takes() != 2 {
		t.Errorf("below the minimum of 2 healthy targets %d take requests, want all", takes())
	}
}

// A rule's change is told by the API at once and reaches the nodes later; the
// newest write wins.
func TestWeightsPropagate(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.WeightPropagation = world.Range{Min: 500 * time.Millisecond, Max: 2 * time.Second}
	})
	one, two := b.group("one"), b.group("two")
	l := b.listen(80, share(one, 100), share(two, 0))
	b.register(one, b.task("sim/web:v1"))
	b.register(two, b.task("sim/web:v2"))
	weight := func() float64 { return b.table().Weights(l.Default().ARN)[1].Share }
	for w := range int32(20) {
		b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), forward(share(one, 99-w), share(two, 1+w))) })
		b.pass(100 * time.Millisecond)
	}
	if weight() > 0.19 {
		t.Errorf("the last write is there after 0.1 s: %v", weight())
	}
	b.pass(2 * time.Second)
	if weight() != 0.2 {
		t.Errorf("in the end %v, want 0.2", weight())
	}
	b.do(func(tx *world.Tx) { tx.SetActions(l.Default(), forward(share(one, 1))) })
	b.want(two, "healthy") // the nodes still send it requests
	b.pass(2 * time.Second)
	b.want(two, "unused Target.NotInUse")
}

func TestSlowStart(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.do(func(tx *world.Tx) {
		g.Attributes["slow_start.duration_seconds"] = "100"
		tx.Changed(world.GroupChanged, g)
	})
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1")) // into an empty group: full share at once
	late := b.task("sim/web:v1")
	b.register(g, late)
	shareOf := func() float64 {
		r := get("a.test", "/")
		r.At = b.now
		for _, o := range b.table().Shares(80, r) {
			if o.Target.Task == late.ARN {
				return o.Share
			}
		}
		return -1
	}
	for _, c := range []struct {
		after time.Duration
		want  float64
	}{{50 * time.Second, 0.5 / 1.5}, {25 * time.Second, 0.75 / 1.75}, {25 * time.Second, 0.5}} {
		b.pass(c.after)
		if got := shareOf(); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%v after %s, want %v", got, c.after, c.want)
		}
	}
}

func TestInTurnIsEven(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1"), b.task("sim/web:v1"), b.task("sim/web:v1"))
	count := map[string]int{}
	for range 300 {
		count[b.table().Decide(80, get("a.test", "/"), loadbalancer.Random{Target: loadbalancer.InTurn}).Target.ID]++
	}
	for id, n := range count {
		if n != 100 {
			t.Errorf("%s got %d of 300", id, n)
		}
	}
}

func TestLeastOutstanding(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.do(func(tx *world.Tx) {
		g.Attributes["load_balancing.algorithm.type"] = "least_outstanding_requests"
		tx.Changed(world.GroupChanged, g)
	})
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1"), b.task("sim/web:v1"), b.task("sim/web:v1"))
	idle := g.Targets[1].ID
	d := b.table().Decide(80, get("a.test", "/"),
		loadbalancer.Random{Outstanding: func(t *loadbalancer.TargetView) int {
			if t.ID == idle {
				return 0
			}
			return 3
		}})
	if d.Target.ID != idle {
		t.Errorf("went to %s", d.Target.ID)
	}
}

// with is r as a client sends it that kept the cookies of d.
func with(r loadbalancer.Request, d loadbalancer.Decision) loadbalancer.Request {
	var pairs []string
	for _, c := range d.Cookies {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	r.Header = http.Header{"Cookie": {strings.Join(pairs, "; ")}}
	return r
}

func TestGroupStickiness(t *testing.T) {
	b := newBench(t, nil)
	one, two := b.group("one"), b.group("two")
	l := b.listen(80, share(one, 50), share(two, 50))
	sticky := func(a, c int32) {
		b.do(func(tx *world.Tx) {
			actions := forward(share(one, a), share(two, c))
			actions[0].Forward.Sticky, actions[0].Forward.StickySeconds = true, 60
			tx.SetActions(l.Default(), actions)
		})
	}
	sticky(50, 50)
	task := b.task("sim/web:v2")
	b.register(one, b.task("sim/web:v1"))
	b.register(two, task)
	ask := func(r loadbalancer.Request, draw float64) loadbalancer.Decision {
		r.At = b.now
		return b.table().Decide(80, r, loadbalancer.Random{Group: draw})
	}
	first := ask(get("a.test", "/"), 0.9)
	if first.Group != two.ARN || len(first.Cookies) != 2 || first.Cookies[0].Name != "AWSALBTG" ||
		first.Cookies[1].Name != "AWSALBTGCORS" {
		t.Fatalf("%+v", first)
	}
	client := with(get("a.test", "/"), first)
	if ask(client, 0.1).Group != two.ARN {
		t.Error("the client left its group")
	}
	sticky(100, 0)
	if ask(client, 0.1).Group != two.ARN {
		t.Error("the client left its group at weight 0")
	}
	b.do(func(tx *world.Tx) { tx.DeregisterTarget(two, task.Address.String(), 80) })
	if d := ask(client, 0.1); d.Group != one.ARN || d.Kind != loadbalancer.Forward {
		t.Errorf("the client stays with a group without targets: %+v", d)
	}
	b.register(two, task)
	b.pass(61 * time.Second)
	if ask(client, 0.1).Group != one.ARN {
		t.Error("the cookie outlives its duration")
	}
	broken := get("a.test", "/")
	broken.Header = http.Header{"Cookie": {"AWSALBTG=" + strings.Repeat("x", 27)}}
	if ask(broken, 0.1).Group != one.ARN {
		t.Error("a broken cookie means something")
	}
}

func TestTargetStickiness(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	b.do(func(tx *world.Tx) {
		g.Attributes["stickiness.enabled"], g.Attributes["stickiness.type"] = "true", "lb_cookie"
		g.Attributes["stickiness.lb_cookie.duration_seconds"] = "60"
		tx.Changed(world.GroupChanged, g)
	})
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1"), b.task("sim/web:v1"))
	r := get("a.test", "/")
	r.At = b.now
	first := b.table().Decide(80, r, loadbalancer.Random{Target: 0.9})
	if len(first.Cookies) != 2 || first.Cookies[0].Name != "AWSALB" {
		t.Fatalf("%+v", first)
	}
	client := with(r, first)
	if d := b.table().Decide(80, client, loadbalancer.Random{Target: 0.1}); d.Target.ID != first.Target.ID {
		t.Error("the client left its target")
	}
	b.do(func(tx *world.Tx) { tx.DeregisterTarget(g, first.Target.ID, 80) })
	if d := b.table().Decide(80, client, loadbalancer.Random{Target: 0.9}); d.Target == nil ||
		d.Target.ID == first.Target.ID {
		t.Errorf("a draining target gets new requests: %+v", d)
	}
}

// Whatever the weights and the targets' states are, shares sum to 1 and many
// decisions come out as the shares say.
func TestDecideFollowsShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t, nil)
		var shares []world.Share
		for i := range rapid.IntRange(1, 4).Draw(rt, "groups") {
			g := b.group(fmt.Sprint("g", i))
			shares = append(shares, share(g, int32(rapid.IntRange(0, 20).Draw(rt, "weight"))))
			for range rapid.IntRange(0, 4).Draw(rt, "targets") {
				img := rapid.SampledFrom([]string{"sim/web:v1", "sim/web:v1?never-healthy"}).Draw(rt, "image")
				b.register(g, b.task(img))
			}
		}
		b.listen(80, shares...)
		b.pass(time.Minute)
		follows(rt, b.table())
	})
}

func follows(t *rapid.T, table *loadbalancer.Table) {
	r, sum := get("a.test", "/"), 0.0
	want, got := map[string]float64{}, map[string]float64{}
	name := func(d loadbalancer.Decision) string {
		if d.Target != nil {
			return d.Group + " " + d.Target.ID
		}
		return d.Group + " " + d.Reason
	}
	for _, o := range table.Shares(80, r) {
		sum += o.Share
		want[name(o.Decision)] += o.Share
	}
	if math.Abs(sum-1) > 1e-9 {
		t.Fatalf("the shares sum to %v", sum)
	}
	const side = 120
	for i := range side {
		for j := range side {
			d := table.Decide(80, r, loadbalancer.Random{Group: (float64(i) + .5) / side,
				Target: (float64(j) + .5) / side})
			got[name(d)] += 1.0 / side / side
		}
	}
	for n := range got {
		if math.Abs(got[n]-want[n]) > 0.03 {
			t.Fatalf("%s: %v of the decisions, share %v", n, got[n], want[n])
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	w := newBench(b, nil)
	var shares []world.Share
	for i := range 2 {
		g := w.group(fmt.Sprint("g", i))
		for range 10 {
			w.register(g, w.task("sim/web:v1"))
		}
		shares = append(shares, share(g, 50))
	}
	l := w.listen(80, shares...)
	for i := range 10 {
		w.rule(l, i+1, 404, world.Condition{Field: "path-pattern", Values: []string{fmt.Sprintf("/api/%d/*", i)}})
	}
	t, r := w.table(), get("a.test", "/index.html")
	b.ReportAllocs()
	for b.Loop() {
		if t.Decide(80, r, loadbalancer.Random{Group: 0.3, Target: loadbalancer.InTurn}).Kind != loadbalancer.Forward {
			b.Fatal("not forwarded")
		}
	}
}

// One target changing in a world of 1,000 groups and 10,000 targets.
func BenchmarkOneChangeAmongMany(b *testing.B) {
	w := newBench(b, nil)
	var groups []*world.TargetGroup
	for i := range 1000 {
		g := w.group(fmt.Sprint("g", i))
		for range 10 {
			w.register(g, w.task("sim/web:v1"))
		}
		w.listen(int32(i+1), share(g, 1))
		groups = append(groups, g)
	}
	i := 0
	for b.Loop() {
		i++
		w.do(func(tx *world.Tx) {
			t := groups[i%1000].Targets[i/1000%10]
			tx.SetTarget(t, "unhealthy", "Target.Timeout", fmt.Sprint(i))
		})
	}
}

func BenchmarkIdleDay(b *testing.B) {
	for b.Loop() {
		w := newBench(b, nil)
		for i := range 100 {
			g := w.group(fmt.Sprint("web", i))
			w.listen(int32(1000+i), share(g, 1))
			w.register(g, w.task("sim/web:v1"), w.task("sim/web:v1"))
		}
		for range 24 * 60 {
			w.pass(time.Minute)
		}
	}
}

// Of three healthy and unhealthy targets 50 percent are two: the share is rounded up.
func TestFailOpenRoundsUpItsPercentage(t *testing.T) {
	b := newBench(t, nil)
	g := b.group("web")
	g.Attributes["target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage"] = "50"
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1"), b.task("sim/web:v1?never-healthy"), b.task("sim/web:v1?never-healthy"))
	b.pass(time.Minute)
	if v := b.table().Group(g.ARN); !v.FailOpen || len(v.TakingTargets()) != 3 {
		t.Errorf("one of three is healthy, 50 percent must be: %d take requests, fail open %v", len(v.TakingTargets()),
			v.FailOpen)
	}
}

// A target that is in its first checks takes requests when its group fails open, one
// that is being registered does not.
func TestFailOpenTakesTargetsInTheirFirstChecks(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.TargetRegistration = world.Range{Min: 10 * time.Second, Max: 10 * time.Second}
	})
	g := b.group("web")
	b.listen(80, share(g, 1))
	b.register(g, b.task("sim/web:v1?never-healthy"))
	b.pass(5 * time.Second)
	takes := func() int { return len(b.table().Group(g.ARN).TakingTargets()) }
	if takes() != 0 {
		t.Errorf("%d targets that are being registered take requests", takes())
	}
	b.pass(10 * time.Second)
	b.want(g, "initial Elb.InitialHealthChecking")
	if takes() != 1 {
		t.Errorf("%d targets in their first checks take requests, want the only one there is", takes())
	}
}

// A deregistered target gets requests until the nodes know it, whatever the API
// shows; one that was registered is checked once they know it.
func TestTargetsPropagate(t *testing.T) {
	b := newBench(t, func(k *world.Settings) {
		k.TargetPropagation = world.Range{Min: 4 * time.Second,
			Max: 4 * time.Second}
	})
	g := b.group("web")
	b.listen(80, share(g, 1))
	one, two := b.task("sim/web:v1"), b.task("sim/web:v1")
	b.register(g, one, two)
	takes := func() int { return len(b.table().Group(g.ARN).TakingTargets()) }
	b.pass(3 * time.Second)
	b.want(g, "initial Elb.RegistrationInProgress, initial Elb.RegistrationInProgress")
	b.pass(time.Second)
	b.want(g, "healthy, healthy")
	b.deregister(g, one)
	b.want(g, "draining Target.DeregistrationInProgress, healthy")
	b.pass(3 * time.Second)
	if takes() != 2 {
		t.Errorf("%d targets take requests 3 s after a deregistration, want both", takes())
	}
	b.pass(time.Second)
	if takes() != 1 {
		t.Errorf("%d targets take requests once the nodes know", takes())
	}
	b.do(func(tx *world.Tx) {
		g.Attributes["deregistration_delay.timeout_seconds"] = "0"
		tx.Changed(world.GroupChanged, g)
	})
	b.deregister(g, two)
	if b.pass(time.Second); takes() != 1 {
		t.Errorf("without a deregistration delay %d targets take requests a second later, want the one that is gone",
			takes())
	}
	if b.pass(4 * time.Second); takes() != 0 {
		t.Errorf("%d targets take requests in the end", takes())
	}
}
