package loadgen_test

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"pgregory.net/rapid"
)

// bench is a world with a load balancer at port 80 whose default rule tests set.
type bench struct {
	t        testing.TB
	now      time.Time
	w        *world.World
	law      *loadbalancer.Controller
	lb       *world.LoadBalancer
	listener *world.Listener
	n        byte
}

var key = world.Key{Account: "123456789012", Region: "eu-west-1"}

func (b *bench) Now() time.Time                             { return b.now }
func (b *bench) Sleep(context.Context, time.Duration) error { return nil }
func (b *bench) pass(d time.Duration)                       { b.now = b.now.Add(d); b.w.Advance() }

func (b *bench) do(f func(*world.Tx)) {
	_ = b.w.Do(key, func(tx *world.Tx) error { f(tx); return nil })
}

func newBench(t testing.TB) *bench {
	b := &bench{t: t, now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)}
	k := world.NoDelays()
	b.w = world.New(world.Options{Clock: b, Seed: 3, Settings: &k, Strict: true})
	b.law = loadbalancer.New(b.w)
	b.lb = &world.LoadBalancer{ARN: "lb/edge", Name: "edge", Type: "application"}
	b.listener = &world.Listener{ARN: "listener/80", Balancer: b.lb, Port: 80, Protocol: "HTTP"}
	b.listener.Rules = []*world.Rule{{ARN: "rule/80", Listener: b.listener}}
	b.do(func(tx *world.Tx) { b.law.Add(tx, b.lb); tx.AddListener(b.listener) })
	return b
}

func (b *bench) group(name string) *world.TargetGroup {
	g := &world.TargetGroup{ARN: "arn:tg/" + name + "/1", Name: name, Protocol: "HTTP", Port: 80, TargetType: "ip",
		Check: world.HealthCheck{Enabled: true, Port: "traffic-port", Interval: 30 * time.Second,
			Timeout: 5 * time.Second, Healthy: 5, Unhealthy: 2, Matcher: "200"},
		Attributes: map[string]string{"deregistration_delay.timeout_seconds": "60"}}
	b.do(func(tx *world.Tx) { tx.TargetGroups.Put(g.ARN, g); tx.Changed(world.GroupChanged, g) })
	return g
}

func (b *bench) weigh(pairs ...any) {
	f := &world.Forward{}
	for i := 0; i < len(pairs); i += 2 {
		f.Groups = append(f.Groups, world.Share{Group: pairs[i].(*world.TargetGroup).ARN,
			Weight: int32(pairs[i+1].(int))})
	}
	b.do(func(tx *world.Tx) {
		tx.SetActions(b.listener.Default(), []world.Action{{Type: "forward", Order: 1, Forward: f}})
	})
}

// start registers a running task of an image.
func (b *bench) start(g *world.TargetGroup, img string) *world.Task {
	does, err := image.Parse(img)
	if err != nil {
		b.t.Fatal(err)
	}
	b.n++
	t := &world.Task{ARN: fmt.Sprint("arn:task/", b.n), ID: fmt.Sprint("task", b.n), LastStatus: "RUNNING",
		Address: netip.AddrFrom4([4]byte{127, 16, 0, b.n}),
		Containers: []*world.Container{{Behaviour: does, Status: "RUNNING",
			Spec: world.ContainerSpec{Name: "web", Ports: []world.Port{{Container: 80}}}}}}
	b.do(func(tx *world.Tx) {
		t.StartedAt, t.Containers[0].StartedAt = tx.Now(), tx.Now()
		tx.Tasks.Put(t.ARN, t)
		if tx.TasksByAddress == nil {
			tx.TasksByAddress = map[netip.Addr]*world.Task{}
		}
		tx.TasksByAddress[t.Address] = t
		tx.RegisterTarget(g, t.Address.String(), 80, "", t)
	})
	return t
}

func (b *bench) call(rate float64) *loadgen.Tally {
	return loadgen.Attach(b.w, b.law, loadgen.Caller{Key: key, Balancer: b.lb.ARN, Port: 80, Rate: rate,
		Request: loadbalancer.Request{Method: "GET", Host: "a.test", Path: "/"}})
}

func (b *bench) want(r loadgen.Report, lines ...loadgen.Line) {
	b.t.Helper()
	for i := range r.Lines {
		if math.Abs(r.Lines[i].Count-math.Round(r.Lines[i].Count)) < 1e-6 {
			r.Lines[i].Count = math.Round(r.Lines[i].Count)
		}
	}
	if !reflect.DeepEqual(r.Lines, lines) {
		b.t.Errorf("got  %+v\nwant %+v\nfailures %+v", r.Lines, lines, r.First)
	}
}

func TestEveryRequestIsAnswered(t *testing.T) {
	b := newBench(t)
	web, canary := b.group("web"), b.group("canary")
	b.weigh(web, 100, canary, 0)
	b.start(web, "sim/web:v1")
	b.start(canary, "sim/web:v2")
	calls := b.call(200)
	b.pass(time.Minute)
	b.weigh(web, 75, canary, 25)
	b.pass(time.Minute)
	r := calls.Report()
	b.want(r, loadgen.Line{Group: "canary", Version: "v2", Status: 200, Count: 3000},
		loadgen.Line{Group: "web", Version: "v1", Status: 200, Count: 21000})
	if r.Requests != 24000 || r.Failed != 0 || r.AnsweredBy("v2") != 3000 {
		t.Errorf("%+v", r)
	}
	if len(r.History) != 2 || r.History[1].Shares[0].Share != 0.25 || r.Worst[1].Version != "v2" ||
		r.Worst[1].Share != 0.25 {
		t.Errorf("history %+v, worst %+v", r.History, r.Worst)
	}
}

func TestShareOfAnEmptyGroupIsLost(t *testing.T) {
	b := newBench(t)
	web, empty := b.group("web"), b.group("empty")
	b.weigh(web, 90, empty, 10)
	b.start(web, "sim/web:v1")
	calls := b.call(10)
	b.pass(10 * time.Second)
	r := calls.Report()
	b.want(r, loadgen.Line{Group: "empty", Status: 503, Count: 10}, loadgen.Line{Group: "web", Version: "v1",
		Status: 200, Count: 90})
	if f := r.First[0]; f.Group != "empty" || f.Requests != 10 || r.Failed != 10 {
		t.Errorf("%+v", r)
	}
}

// A crash is lost to users until the load balancer has seen it.
func TestCrash(t *testing.T) {
	b := newBench(t)
	web := b.group("web")
	b.weigh(web, 1)
	b.start(web, "sim/web:v1")
	b.start(web, "sim/web:v2?crash-after=45s") // checks at 60 and 90 s
	calls := b.call(10)
	b.pass(3 * time.Minute)
	r := calls.Report()
	b.want(r, loadgen.Line{Group: "web", Version: "v1", Status: 200, Count: 5*90 + 10*90},
		loadgen.Line{Group: "web", Version: "v2", Status: 200, Count: 5 * 45}, loadgen.Line{Group: "web", Version: "v2",
			Status: 502, Count: 5 * 45})
	if f := r.First[0]; f.Cause != "the target refuses connections" || !f.At.Equal(b.now.Add(-135*time.Second)) {
		t.Errorf("%+v", f)
	}
}

func TestSignalBeforeTheDrainLosesRequests(t *testing.T) {
	b := newBench(t)
	web := b.group("web")
	b.weigh(web, 1)
	b.start(web, "sim/web:v1")
	stopped := b.start(web, "sim/web:v1?term=5s")
	calls := b.call(10)
	b.do(func(tx *world.Tx) { stopped.SignalledAt = tx.Now(); tx.SetStatus(stopped, "STOPPING") })
	b.pass(10 * time.Second)
	b.do(func(tx *world.Tx) { tx.DeregisterTarget(web, stopped.Address.String(), 80) })
	b.pass(10 * time.Second)
	b.want(calls.Report(), loadgen.Line{Group: "web", Version: "v1", Status: 200, Count: 50 + 25 + 100},
		loadgen.Line{Group: "web", Version: "v1", Status: 502, Count: 25})
}

// Requests that are in flight when their target dies are lost, those of a drain
// that is long enough are not.
func TestRequestsInFlight(t *testing.T) {
	lost := func(end func(*bench, *world.TargetGroup, *world.Task)) float64 {
		b := newBench(t)
		web := b.group("web")
		b.weigh(web, 1)
		b.start(web, "sim/web:v1?latency=3s")
		task := b.start(web, "sim/web:v1?latency=3s")
		calls := b.call(10)
		b.pass(20 * time.Second)
		end(b, web, task)
		b.pass(5 * time.Second)
		return calls.Report().Failed
	}
	deregister := func(b *bench, g *world.TargetGroup, task *world.Task) {
		b.do(func(tx *world.Tx) { tx.DeregisterTarget(g, task.Address.String(), 80) })
	}
	kill := func(b *bench, _ *world.TargetGroup, task *world.Task) {
		b.do(func(tx *world.Tx) { task.Containers[0].Status = "STOPPED"; tx.SetStatus(task, "DEPROVISIONING") })
	}
	for _, c := range []struct {
		name string
		end  func(*bench, *world.TargetGroup, *world.Task)
		want float64
	}{
		{"drained", deregister, 0},
		{"drained and then killed", func(b *bench, g *world.TargetGroup, task *world.Task) {
			deregister(b, g, task)
			b.pass(3 * time.Second)
			kill(b, g, task)
		}, 0},
		{"drain shorter than the requests", func(b *bench, g *world.TargetGroup, task *world.Task) {
			g.Attributes["deregistration_delay.timeout_seconds"] = "1"
			deregister(b, g, task)
		}, 10},
		{"killed in the drain", func(b *bench, g *world.TargetGroup, task *world.Task) {
			deregister(b, g, task)
			b.pass(2 * time.Second)
			kill(b, g, task)
		}, 5},
		{"killed and deregistered at once", func(b *bench, g *world.TargetGroup, task *world.Task) {
			b.do(func(tx *world.Tx) {
				task.Containers[0].Status = "STOPPED"
				tx.SetStatus(task, "DEPROVISIONING")
				tx.DeregisterTarget(g, task.Address.String(), 80)
			})
		}, 15},
	} {
		if got := lost(c.end); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s: %v lost, want %v", c.name, got, c.want)
		}
	}
}

func TestBadImages(t *testing.T) {
	b := newBench(t)
	web, canary := b.group("web"), b.group("canary")
	b.weigh(web, 50, canary, 50)
	b.start(web, "sim/web:v1?errors=10%")
	b.start(canary, "sim/web:v2?never-healthy") // fail-open: users get its 503
	calls := b.call(10)
	b.pass(100 * time.Second)
	b.want(calls.Report(), loadgen.Line{Group: "canary", Version: "v2", Status: 503, Count: 500},
		loadgen.Line{Group: "web", Version: "v1", Status: 200, Count: 450}, loadgen.Line{Group: "web", Version: "v1",
			Status: 500, Count: 50})
}

// Errors that grow are accounted exactly, however often the report is read.
func TestDegradingImagesAreAccounted(t *testing.T) {
	for img, want := range map[string]float64{
		"sim/web:v1?errors-after=30s":                              10 * 570,
		"sim/web:v1?errors=2%&errors-after=30s":                    10 * 570 * .02,
		"sim/web:v1?errors-grow=1%/m":                              10 * 600 * .05,
		"sim/web:v1?errors-grow=20%/m&errors-after=1m":             10 * (300*.5 + 240),
		"sim/web:v1?error-bursts=10s/1m&errors=50%":                10 * 100 * .5,
		"sim/web:v1?latency=1s&latency-share=5%&latency-grow=1s/m": 0,
		"sim/web:v1?latency=50ms&latency-after=2m&errors=1%":       60,
	} {
		for _, reads := range []int{1, 37} {
			b := newBench(t)
			web := b.group("web")
			b.weigh(web, 1)
			b.start(web, img)
			calls := b.call(10)
			for range reads {
				b.pass(10 * time.Minute / time.Duration(reads))
				calls.Report()
			}
			b.pass(10*time.Minute - time.Duration(reads)*(10*time.Minute/time.Duration(reads)))
			if r := calls.Report(); math.Abs(r.Failed-want) > 1e-3 || math.Abs(r.Requests-6000) > 1e-6 {
				t.Errorf("%s, read %d times: %v of %v failed, want %v", img, reads, r.Failed, r.Requests, want)
			}
		}
	}
}

// Only the slow requests are in flight when the target dies.
func TestOnlySlowRequestsAreInFlight(t *testing.T) {
	b := newBench(t)
	web := b.group("web")
	b.weigh(web, 1)
	task := b.start(web, "sim/web:v1?latency=2s&latency-share=25%")
	calls := b.call(10)
	b.pass(20 * time.Second)
	b.do(func(tx *world.Tx) {
		task.Containers[0].Status = "STOPPED"
		tx.SetStatus(task, "DEPROVISIONING")
		tx.DeregisterTarget(web, task.Address.String(), 80)
	})
	if r := calls.Report(); math.Abs(r.Failed-5) > 1e-6 {
		t.Errorf("%v lost, want a quarter of two seconds' requests", r.Failed)
	}
}

func TestNoListener(t *testing.T) {
	b := newBench(t)
	web := b.group("web")
	b.weigh(web, 1)
	b.start(web, "sim/web:v1")
	calls := b.call(10)
	b.pass(10 * time.Second)
	b.do(func(tx *world.Tx) { tx.RemoveListener(b.listener) })
	b.pass(10 * time.Second)
	b.do(func(tx *world.Tx) { b.law.Remove(tx, b.lb) })
	b.pass(10 * time.Second)
	b.want(calls.Report(), loadgen.Line{Status: 0, Count: 200}, loadgen.Line{Group: "web", Version: "v1", Status: 200,
		Count: 100})
}

func TestSlowStartKeepsTheSum(t *testing.T) {
	b := newBench(t)
	web := b.group("web")
	b.do(func(tx *world.Tx) {
		web.Attributes["slow_start.duration_seconds"] = "100"
		tx.Changed(world.GroupChanged, web)
	})
	b.weigh(web, 1)
	b.start(web, "sim/web:v1")
	calls := b.call(10)
	b.start(web, "sim/web:v2")
	b.pass(100 * time.Second)
	r := calls.Report()
	// ∫ x/(1+x) over [0,1] = 1 - ln 2
	if want := 1000 * (1 - math.Ln2); math.Abs(r.AnsweredBy("v2")-want) > 1 || math.Abs(r.Requests-1000) > 1e-6 ||
		r.Failed != 0 {
		t.Errorf("v2 answered %v, want %v of %v", r.AnsweredBy("v2"), want, r.Requests)
	}
}

// Accounting comes to the same as asking one request after the other.
func TestAccountingEqualsAsking(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := newBench(t)
		groups := []*world.TargetGroup{b.group("web"), b.group("canary")}
		images := []string{"sim/web:v1", "sim/web:v1?crash-after=37s", "sim/web:v2?healthy-after=20s",
			"sim/web:v2?unhealthy-after=50s", "sim/web:v3?term=7s"}
		b.weigh(groups[0], 1)
		var tasks []*world.Task
		calls := b.call(1)
		want := map[loadgen.Line]float64{}
		for range 120 {
			switch g := groups[rapid.IntRange(0, 1).Draw(rt, "group")]; rapid.IntRange(0, 12).Draw(rt, "what") {
			case 0:
				tasks = append(tasks, b.start(g, rapid.SampledFrom(images).Draw(rt, "image")))
			case 1:
				b.weigh(groups[0], rapid.IntRange(0, 3).Draw(rt, "first"), groups[1],
					rapid.IntRange(0, 3).Draw(rt, "second"))
			case 2, 3:
				if len(tasks) > 0 {
					b.end(rapid.SampledFrom(tasks).Draw(rt, "task"), rapid.Bool().Draw(rt, "kill"))
				}
			}
			b.pass(500 * time.Millisecond)
			b.ask(want)
			b.pass(500 * time.Millisecond)
		}
		for _, l := range calls.Report().Lines {
			n := l.Count
			l.Count = 0
			if math.Abs(n-want[l]) > 1e-6 {
				rt.Fatalf("%+v: accounted %v, asked %v", l, n, want[l])
			}
			delete(want, l)
		}
		for l, n := range want {
			if n > 1e-9 {
				rt.Fatalf("%+v: asked %v, not accounted", l, n)
			}
		}
	})
}

// end signals or kills a task.
func (b *bench) end(t *world.Task, kill bool) {
	b.do(func(tx *world.Tx) {
		if kill {
			t.Containers[0].Status = "STOPPED"
		} else if t.SignalledAt.IsZero() {
			t.SignalledAt = tx.Now()
		}
		tx.Changed(world.TaskChanged, t)
	})
}

// ask does what a data plane does with one request, for every draw at once.
func (b *bench) ask(into map[loadgen.Line]float64) {
	r := loadbalancer.Request{Method: "GET", Host: "a.test", Path: "/", At: b.now}
	table := b.law.Table(key, b.lb.ARN)
	for _, o := range table.Shares(80, r) {
		l := loadgen.Line{Status: o.Status}
		if g := table.Group(o.Group); g != nil {
			l.Group = g.Name
		}
		b.do(func(tx *world.Tx) {
			if o.Target == nil {
				return
			}
			task, _ := tx.Tasks.Get(o.Target.Task)
			l.Version, l.Status = o.Target.Behaviour.Version, 502
			if task.IsListening(80, b.now) {
				l.Status = o.Target.Behaviour.Answer(image.Moment{SinceStart: b.now.Sub(task.StartedAt)})
			}
		})
		into[l] += o.Share
	}
}

func TestSameSeedSameReport(t *testing.T) {
	run := func() loadgen.Report {
		b := newBench(t)
		web, canary := b.group("web"), b.group("canary")
		b.weigh(web, 1)
		for range 4 {
			b.start(web, "sim/web:v1?latency=100ms")
			b.start(canary, "sim/web:v2?crash-after=30s&latency=100ms")
		}
		calls := b.call(123)
		for i := range 10 {
			b.weigh(web, 10-i, canary, i)
			b.pass(7 * time.Second)
		}
		return calls.Report()
	}
	if a, b := run(), run(); !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\n%+v", a, b)
	}
}

// A network load balancer sends connections on by its listener's default rule, and
// answers none itself.
func TestANetworkLoadBalancerAnswersNothingItself(t *testing.T) {
	b := newBench(t)
	web := b.group("web")
	b.lb.Type = "network"
	b.weigh(web, 1)
	task := b.start(web, "sim/web:v1")
	calls := b.call(100)
	b.pass(time.Minute)
	b.do(func(tx *world.Tx) { tx.DeregisterTarget(web, task.Address.String(), 80) })
	b.pass(time.Minute)
	r := calls.Report()
	if r.Requests != 12000 || r.AnsweredBy("v1") != 6000 || r.Failed != 6000 {
		t.Errorf("%+v", r)
	}
	for _, l := range r.Lines {
		if l.Status == 503 {
			t.Errorf("%+v", l)
		}
	}
}
