package loadgen_test

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/cloudmap"
	"github.com/sluice-ecs/sluice/awssim/image"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// street is a world with the name api.shop.local, TTL 10 s, and tasks behind it.
type street struct {
	t     *testing.T
	now   time.Time
	w     *world.World
	law   *cloudmap.Controller
	names *world.Registry
	n     byte
}

func (s *street) Now() time.Time                             { return s.now }
func (s *street) Sleep(context.Context, time.Duration) error { return nil }
func (s *street) pass(d time.Duration)                       { s.now = s.now.Add(d); s.w.Advance() }

func (s *street) do(f func(*world.Tx)) {
	_ = s.w.Do(key, func(tx *world.Tx) error { f(tx); return nil })
}

func newStreet(t *testing.T, change func(*world.Registry)) *street {
	s := &street{t: t, now: time.Date(2026, 11, 2, 9, 0, 0, 0, time.UTC)}
	k := world.NoDelays()
	s.w = world.New(world.Options{Clock: s, Seed: 3, Settings: &k, Strict: true})
	s.law = cloudmap.New(s.w)
	space := &world.Namespace{ID: "ns-1", Name: "shop.local", Kind: world.PrivateNamespace}
	s.names = &world.Registry{ID: "srv-1", ARN: "arn:srv-1", Name: "api", Namespace: space, HasCustomHealth: true,
		Records: []world.RecordType{{Type: "A", TTL: 10 * time.Second}}}
	if change != nil {
		change(s.names)
	}
	s.do(func(tx *world.Tx) { tx.AddNamespace(space); tx.AddRegistry(s.names) })
	return s
}

// start runs a task and registers it.
func (s *street) start(img string) *world.Task {
	does, err := image.Parse(img)
	if err != nil {
		s.t.Fatal(err)
	}
	s.n++
	t := &world.Task{ARN: fmt.Sprint("arn:task/", s.n), ID: fmt.Sprint("task", s.n), LastStatus: "RUNNING",
		Address: netip.AddrFrom4([4]byte{127, 16, 0, s.n}),
		Containers: []*world.Container{{Behaviour: does, Status: "RUNNING",
			Spec: world.ContainerSpec{Name: "web", Ports: []world.Port{{Container: 80}}}}}}
	s.do(func(tx *world.Tx) {
		t.StartedAt, t.Containers[0].StartedAt = tx.Now(), tx.Now()
		tx.Tasks.Put(t.ARN, t)
		if tx.TasksByAddress == nil {
			tx.TasksByAddress = map[netip.Addr]*world.Task{}
		}
		tx.TasksByAddress[t.Address] = t
		tx.RegisterInstance(s.names, t.ID, map[string]string{world.AttributeIPv4: t.Address.String(),
			"version": does.Version})
	})
	return t
}

func (s *street) takeOut(t *world.Task) {
	s.do(func(tx *world.Tx) {
		i, _ := s.names.Instances.Get(t.ID)
		tx.DeregisterInstance(i)
	})
}

// stop sends SIGTERM, kill SIGKILL; the task is gone at once.
func (s *street) stop(t *world.Task, code int) {
	s.do(func(tx *world.Tx) {
		if code == 0 {
			t.SignalledAt = tx.Now()
		}
		t.Containers[0].Status, t.Containers[0].ExitCode = "STOPPED", &code
		tx.SetStatus(t, "STOPPING")
	})
}

func (s *street) call(change func(*loadgen.NameCaller)) *loadgen.NameTally {
	c := loadgen.NameCaller{Key: key, Namespace: "shop.local", Service: "api", Port: 80, Rate: 100}
	if change != nil {
		change(&c)
	}
	return loadgen.AttachByName(s.w, s.law, c)
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-6 {
		t.Errorf("%s: %.6f, want %.6f", what, got, want)
	}
}

func TestNamedTasksShareTheRequests(t *testing.T) {
	s := newStreet(t, nil)
	for range 3 {
		s.start("sim/api:v1")
	}
	calls := s.call(nil)
	s.pass(time.Minute)
	s.start("sim/api:v2")
	s.pass(time.Minute)
	r := calls.Report()
	// The newcomer's share grows from nothing to a quarter within the TTL.
	near(t, "v2", r.AnsweredBy("v2"), 100*(5+50)/4)
	near(t, "all", r.Requests, 12000)
	near(t, "v1 and v2", r.AnsweredBy("v1")+r.AnsweredBy("v2"), 12000)
	if r.Failed != 0 || len(r.Outages) != 0 || len(r.History) != 2 || r.History[1].Shares[1].Share != 0.25 {
		t.Errorf("%+v", r)
	}
}

// Requests of everybody who still keeps an answer with a task that is gone are
// lost, exactly.
func TestATaskThatStopsBeforeTheTTLIsALoss(t *testing.T) {
	for wait, want := range map[time.Duration]float64{2 * time.Second: 25 * 64 / 20.0, 9 * time.Second: 25 / 20.0,
		10 * time.Second: 0, 15 * time.Second: 0} {
		s := newStreet(t, nil)
		var tasks []*world.Task
		for range 4 {
			tasks = append(tasks, s.start("sim/api:v1"))
		}
		calls := s.call(nil)
		s.pass(time.Minute)
		s.takeOut(tasks[0])
		s.pass(wait)
		s.stop(tasks[0], 0)
		s.pass(time.Minute)
		r := calls.Report()
		near(t, fmt.Sprint("lost after ", wait), r.Failed, want)
		if len(r.Outages) != 0 || want > 0 &&
			(len(r.First) != 1 || r.First[0].Cause != "the task refuses connections" ||
				r.First[0].Target != "127.16.0.1") {
			t.Errorf("%+v", r)
		}
	}
}

func TestRetryTriesAnotherAddressOfTheAnswer(t *testing.T) {
	for _, weighted := range []bool{false, true} {
		s := newStreet(t, func(r *world.Registry) { r.Weighted = weighted })
		a, b, _ := s.start("sim/api:v1"), s.start("sim/api:v1"), s.start("sim/api:v1")
		plain, again := s.call(nil), s.call(func(c *loadgen.NameCaller) { c.Retry = true })
		s.pass(time.Minute)
		s.takeOut(a)
		s.stop(a, 0)
		s.pass(time.Minute)
		lost := 100.0 / 3 * 10 / 2
		near(t, "without", plain.Report().Failed, lost)
		if weighted {
			near(t, "with, of an answer of one", again.Report().Failed, lost)
			continue
		}
		near(t, "with", again.Report().Failed, 0)
		s.takeOut(b)
		s.stop(b, 0)
		s.pass(time.Minute)
		near(t, "two after each other", again.Report().Failed, 0)
	}
}

// Two of three gone at once: the second address refuses half of the time.
func TestRetryIsNotEnoughWhereTwoAreGone(t *testing.T) {
	s := newStreet(t, nil)
	a, b, _ := s.start("sim/api:v1"), s.start("sim/api:v1"), s.start("sim/api:v1")
	calls := s.call(func(c *loadgen.NameCaller) { c.Retry = true })
	s.pass(time.Minute)
	s.do(func(tx *world.Tx) {
		for _, x := range []*world.Task{a, b} {
			i, _ := s.names.Instances.Get(x.ID)
			tx.DeregisterInstance(i)
		}
	})
	s.stop(a, 0)
	s.stop(b, 0)
	s.pass(time.Minute)
	near(t, "lost", calls.Report().Failed, 100.0*2/3/2*10/2)
}

func TestServingThroughTheTTLLosesNothing(t *testing.T) {
	for img, want := range map[string]bool{"sim/api:v1?term=10s": false, "sim/api:v1?term=5s": true} {
		s := newStreet(t, nil)
		a, _ := s.start(img), s.start(img)
		calls := s.call(nil)
		s.pass(time.Minute)
		s.takeOut(a)
		s.do(func(tx *world.Tx) { a.SignalledAt = tx.Now(); tx.SetStatus(a, "STOPPING") })
		s.pass(time.Minute)
		if r := calls.Report(); (r.Failed > 0) != want {
			t.Errorf("%s: %f lost, %+v", img, r.Failed, r.First)
		}
	}
}

func TestPollingDiscoverInstances(t *testing.T) {
	s := newStreet(t, nil)
	a, _ := s.start("sim/api:v1"), s.start("sim/api:v2")
	calls := s.call(func(c *loadgen.NameCaller) {
		c.Poll, c.Query = 4*time.Second, cloudmap.Query{Health: cloudmap.OnlyHealthy}
	})
	second := s.call(func(c *loadgen.NameCaller) {
		c.Poll, c.Query = time.Second, cloudmap.Query{Parameters: map[string]string{"version": "v2"}}
	})
	s.pass(time.Minute)
	s.do(func(tx *world.Tx) {
		i, _ := s.names.Instances.Get(a.ID)
		tx.SetInstanceHealth(i, "UNHEALTHY")
	})
	s.pass(3 * time.Second)
	s.stop(a, 0)
	s.pass(time.Minute)
	near(t, "lost", calls.Report().Failed, 100.0/2*1/(2*4))
	if r := second.Report(); r.Failed != 0 || r.AnsweredBy("v2") != r.Requests {
		t.Errorf("%+v", r)
	}
}

func TestKeptConnections(t *testing.T) {
	keep := func(c *loadgen.NameCaller) { c.KeepAlive = 30 * time.Second }
	s := newStreet(t, nil)
	a, b := s.start("sim/api:v1"), s.start("sim/api:v2?latency=100ms")
	calls := s.call(keep)
	s.pass(time.Minute)
	s.takeOut(a)
	s.pass(10 * time.Second) // no answer is kept any more, connections are
	if r := calls.Report(); r.Failed != 0 {
		t.Fatalf("%+v", r)
	}
	before := calls.Report()
	s.pass(5 * time.Second)
	if after := calls.Report(); after.AnsweredBy("v1") <= before.AnsweredBy("v1") {
		t.Error("nobody used a kept connection")
	}
	s.stop(a, 0)
	s.pass(time.Minute)
	near(t, "closed connections are replaced", calls.Report().Failed, 0)
	s.start("sim/api:v3")
	s.pass(time.Minute)
	s.takeOut(b)
	s.pass(10 * time.Second)
	s.stop(b, 137)
	if r := calls.Report(); r.Failed <= 0 || r.First[0].Cause != "the task went away while requests were in flight" {
		t.Errorf("killed with requests in flight: %+v", r)
	}
}

func TestANameThatIsNoUse(t *testing.T) {
	s := newStreet(t, nil)
	a := s.start("sim/api:v1")
	calls := s.call(nil)
	s.pass(time.Minute)
	if r := calls.Report(); len(r.Outages) != 0 {
		t.Fatalf("%+v", r.Outages)
	}
	from := s.now
	s.takeOut(a)
	s.pass(5 * time.Second)
	r := calls.Report()
	near(t, "those who look up anew", r.Failed, 100*5*0.25)
	if len(r.Outages) != 1 ||
		r.Outages[0] != (loadgen.Outage{From: from, Till: from.Add(5 * time.Second), Why: "the name has no record"}) {
		t.Errorf("%+v", r.Outages)
	}
	s.start("sim/api:v1")
	s.pass(30 * time.Second)
	b := s.start("sim/api:v1")
	s.takeOut(b)
	s.do(func(tx *world.Tx) {
		for _, task := range tx.Tasks.Values() {
			code := 1
			task.Containers[0].Status, task.Containers[0].ExitCode = "STOPPED", &code
			tx.SetStatus(task, "STOPPED")
		}
	})
	s.pass(time.Second)
	if r := calls.Report(); len(r.Outages) != 2 ||
		r.Outages[1].Why != "every record points at a task that does not answer" {
		t.Errorf("%+v", r.Outages)
	}
}

// A TTL of nothing: every request looks up.
func TestNoTTL(t *testing.T) {
	s := newStreet(t, func(r *world.Registry) { r.Records[0].TTL = 0 })
	a, _ := s.start("sim/api:v1"), s.start("sim/api:v2")
	calls := s.call(nil)
	s.pass(10 * time.Second)
	s.takeOut(a)
	s.stop(a, 0)
	s.pass(10 * time.Second)
	r := calls.Report()
	near(t, "v2", r.AnsweredBy("v2"), 1500)
	near(t, "lost", r.Failed, 0)
}
