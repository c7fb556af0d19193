package fault_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/fault"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// hands is a clock that a test moves.
type hands struct{ now time.Time }

func (h *hands) Now() time.Time                             { return h.now }
func (h *hands) Sleep(context.Context, time.Duration) error { return nil }

var (
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	east  = world.Key{Account: "123456789012", Region: "us-east-1"}
)

type bench struct {
	*fault.Set
	t       *testing.T
	w       *world.World
	clock   *hands
	crashed []string
}

func newBench(t *testing.T, lines ...string) *bench {
	b := &bench{t: t, clock: &hands{epoch}}
	b.w = world.New(world.Options{Clock: b.clock, Strict: true})
	b.Set = fault.New(b.w, 7, b)
	for _, l := range lines {
		b.inject(l)
	}
	return b
}

func (b *bench) CrashTask(_ *world.Tx, task *world.Task, _ int) {
	b.crashed = append(b.crashed, task.ID)
	task.LastStatus = "DEACTIVATING"
}

func (b *bench) InterruptTask(tx *world.Tx, task *world.Task) { b.CrashTask(tx, task, 0) }

func (b *bench) inject(line string) {
	b.t.Helper()
	f, err := fault.Parse(line)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Inject(f)
}

func (b *bench) pass(d time.Duration) {
	b.clock.now = b.clock.now.Add(d)
	b.w.Advance()
}

func (b *bench) strike(service, operation string) (fault.Kind, time.Duration) {
	f, d := b.CallFault(service, operation, b.clock.now)
	return f.Kind, d
}

func (b *bench) troubles() (t world.ActiveFaults) {
	_ = b.w.Do(east, func(tx *world.Tx) error { t = tx.ActiveFaults; return nil })
	return t
}

func TestTimesLimitsAndTheFirstStrikes(t *testing.T) {
	b := newBench(t, "throttle ecs:CreateTaskSet times=2", "5xx ecs:Create* times=1", "latency ecs:* by=300ms",
		"latency *:* by=1s")
	var got []fault.Kind
	for range 4 {
		k, d := b.strike("ecs", "CreateTaskSet")
		if d != 1300*time.Millisecond {
			t.Errorf("latency %v", d)
		}
		got = append(got, k)
	}
	if want := []fault.Kind{fault.Throttle, fault.Throttle, fault.ServerError, ""}; !slices.Equal(got, want) {
		t.Errorf("struck %v, want %v", got, want)
	}
	if k, d := b.strike("sts", "GetCallerIdentity"); k != "" || d != time.Second {
		t.Errorf("another service is struck by %q %v", k, d)
	}
	if l := b.List(); l[0].Struck != 2 || !l[0].Over || l[2].Over || l[2].Struck != 4 {
		t.Errorf("%+v", l)
	}
	b.Clear()
	if k, d := b.strike("ecs", "CreateTaskSet"); k != "" || d != 0 {
		t.Errorf("after Clear: %q %v", k, d)
	}
}

func TestAfterAndForBoundATime(t *testing.T) {
	b := newBench(t, "5xx ecs:* after=10s for=5s", "expired-credentials times=1 after=1m")
	for at, want := range []fault.Kind{0: "", 9: "", 10: fault.ServerError, 14: fault.ServerError, 15: "", 59: "",
		60: fault.ExpiredCredentials, 61: ""} {
		if k, _ := b.strike("ecs", "ListTasks"); k != want && slices.Contains([]int{0, 9, 10, 14, 15, 59, 60, 61}, at) {
			t.Errorf("at %d s: %q, want %q", at, k, want)
		}
		b.pass(time.Second)
	}
}

func TestChanceIsKeyed(t *testing.T) {
	row := func(line string) (hits []bool) {
		b := newBench(t, line)
		for range 2000 {
			k, _ := b.strike("ecs", "ListTasks")
			hits = append(hits, k != "")
		}
		return hits
	}
	one, again, other := row("5xx ecs:* p=0.1"), row("5xx ecs:* p=0.1"), row("5xx ecs:L* p=0.1")
	n := 0
	for _, hit := range one {
		if hit {
			n++
		}
	}
	if !slices.Equal(one, again) || slices.Equal(one, other) || n < 150 || n > 250 {
		t.Errorf("%d of 2000 struck; same again %v, same for another line %v", n, slices.Equal(one, again),
			slices.Equal(one, other))
	}
}

func TestTroublesOverlapAndEnd(t *testing.T) {
	b := newBench(t)
	b.troubles() // the Region is there before the faults
	b.inject("no-capacity prod for=60s")
	b.inject("no-capacity prod after=30s for=60s")
	b.inject("slow-start web by=30s")
	b.inject("zone-lost us-east-1a after=10s")
	if tr := b.troubles(); !tr.NoCapacity["prod"] || len(tr.ZonesLost) != 0 || len(tr.SlowStart) != 1 ||
		tr.SlowStart[0].By != 30 {
		t.Errorf("at once: %+v", tr)
	}
	b.pass(10 * time.Second)
	if tr := b.troubles(); !tr.ZonesLost["us-east-1a"] {
		t.Errorf("after 10 s: %+v", tr)
	}
	b.pass(65 * time.Second)
	if tr := b.troubles(); !tr.NoCapacity["prod"] {
		t.Errorf("the second fault ended with the first: %+v", tr)
	}
	b.pass(15 * time.Second)
	if tr := b.troubles(); tr.NoCapacity["prod"] {
		t.Errorf("after 90 s: %+v", tr)
	}
	other := world.Key{Account: "123456789012", Region: "eu-west-1"}
	_ = b.w.Do(other, func(tx *world.Tx) error {
		if len(tx.ActiveFaults.SlowStart) != 1 {
			t.Errorf("a Region that came later has %+v", tx.ActiveFaults)
		}
		return nil
	})
	b.Clear()
	if tr := b.troubles(); len(tr.SlowStart)+len(tr.ZonesLost) != 0 {
		t.Errorf("after Clear: %+v", tr)
	}
}

func TestCrashOfOneRevision(t *testing.T) {
	b := newBench(t)
	_ = b.w.Do(east, func(tx *world.Tx) error {
		for i, revision := range []int{1, 2, 1, 2} {
			id := string(rune('a' + i))
			tx.Tasks.Put(id, &world.Task{ID: id, Service: &world.Service{Name: "web"}, LastStatus: "RUNNING",
				DesiredStatus: "RUNNING", Definition: &world.TaskDefinition{Family: "web", Revision: revision}})
		}
		return nil
	})
	b.inject("task-crash web count=5 revision=2")
	b.pass(time.Second)
	if !slices.Equal(b.crashed, []string{"b", "d"}) {
		t.Errorf("crashed %v", b.crashed)
	}
}

func TestCrashTakesTheOldestRunningTasksOnce(t *testing.T) {
	b := newBench(t)
	_ = b.w.Do(east, func(tx *world.Tx) error {
		for i, status := range []string{"PENDING", "RUNNING", "RUNNING", "RUNNING"} {
			svc := &world.Service{Name: []string{"web", "web", "shop", "web"}[i]}
			id := string(rune('a' + i))
			tx.Tasks.Put(id, &world.Task{ID: id, Service: svc, LastStatus: status, DesiredStatus: "RUNNING"})
		}
		return nil
	})
	b.inject("task-crash web count=1 exit=137 after=5s")
	b.inject("task-crash web count=5 after=5s")
	b.pass(4 * time.Second)
	if len(b.crashed) != 0 {
		t.Errorf("too early: %v", b.crashed)
	}
	b.pass(time.Second)
	b.pass(time.Hour)
	if !slices.Equal(b.crashed, []string{"b", "d"}) {
		t.Errorf("crashed %v", b.crashed)
	}
	if l := b.List(); !l[0].Over || l[0].Struck != 1 || l[1].Struck != 1 {
		t.Errorf("%+v", l)
	}
}
