package world_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/awssim/world/worldtest"
)

// step runs f as one step of the world.
func step(t *testing.T, w *world.World, f func(*world.Tx)) {
	t.Helper()
	if err := w.Do(worldtest.Key, func(tx *world.Tx) error { f(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

// newWorld returns a strict world with a manual clock. change may change its options.
func newWorld(change func(*world.Options)) (*world.World, *moved) {
	c := &moved{now: worldtest.StartTime()}
	o := world.Options{Clock: c, Strict: true}
	if change != nil {
		change(&o)
	}
	return world.New(o), c
}

// moved is a clock that a test moves.
type moved struct {
	worldtest.ManualClock
	now time.Time
}

func (c *moved) Now() time.Time { return c.now }

func TestEventsRunInTheOrderOfTheirTimes(t *testing.T) {
	w, c := newWorld(nil)
	var ran []string
	note := func(name string) func(*world.Tx) {
		return func(tx *world.Tx) {
			ran = append(ran, fmt.Sprintf("%s at %s", name, tx.Now().Sub(worldtest.StartTime())))
		}
	}
	var cancelled, past world.Event
	step(t, w, func(tx *world.Tx) {
		tx.After(3*time.Second, note("third"))
		tx.After(time.Second, func(tx *world.Tx) {
			note("first")(tx)
			past = tx.At(tx.Now().Add(-time.Minute), note("of the past"))
		})
		tx.After(2*time.Second, note("second"))
		tx.After(2*time.Second, note("second, scheduled later"))
		cancelled = tx.After(time.Second, note("cancelled"))
		tx.Cancel(cancelled)
		tx.After(time.Hour, note("not due"))
	})
	c.now = c.now.Add(10 * time.Second)
	w.Advance()
	want := []string{"first at 1s", "of the past at 1s", "second at 2s", "second, scheduled later at 2s", "third at 3s"}
	if !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	if cancelled.Pending() || past.Pending() {
		t.Error("an event is pending that was cancelled or has run")
	}
	if at, ok := w.NextDue(); !ok || at.Sub(worldtest.StartTime()) != time.Hour {
		t.Errorf("the next event is due at %s, %v", at, ok)
	}
}

func TestOnlyAnEarlierEventNudges(t *testing.T) {
	w, _ := newWorld(nil)
	nudged := func() bool {
		select {
		case <-w.Nudged():
			return true
		default:
			return false
		}
	}
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{time.Minute, true}, {time.Hour, false}, {time.Second, true}} {
		step(t, w, func(tx *world.Tx) { tx.After(c.after, func(*world.Tx) {}) })
		if got := nudged(); got != c.want {
			t.Errorf("after %s: nudged %v", c.after, got)
		}
	}
}

// A step ends when the watchers have seen each change, also those that watchers made.
func TestWatchersSeeTheChangesOfWatchersInTheSameStep(t *testing.T) {
	w, _ := newWorld(nil)
	var seen []string
	w.Watch(func(tx *world.Tx, c world.Change) {
		g := c.Object.(*world.TargetGroup)
		seen = append(seen, g.Name)
		if g.Name == "a" {
			tx.Changed(world.GroupChanged, &world.TargetGroup{Name: "made by a watcher"})
		}
	})
	ends := 0
	w.OnStepEnd(func(*world.Tx) { ends++; seen = append(seen, "end") })
	step(t, w, func(tx *world.Tx) {
		tx.Changed(world.GroupChanged, &world.TargetGroup{Name: "a"})
		tx.Changed(world.GroupChanged, &world.TargetGroup{Name: "b"})
	})
	step(t, w, func(*world.Tx) {})
	if want := []string{"a", "b", "made by a watcher", "end"}; !slices.Equal(seen, want) {
		t.Errorf("saw %q, want %q: a step without a change has no end", seen, want)
	}
}

func TestAStepReturnsTheErrorOfItsFunction(t *testing.T) {
	w, _ := newWorld(nil)
	refused := world.Refuse("ClusterNotFoundException", "cluster %s", "prod")
	err := w.Do(worldtest.Key, func(*world.Tx) error { return refused })
	if !errors.Is(err, refused) || err.Error() != "ClusterNotFoundException: cluster prod" {
		t.Errorf("%v", err)
	}
}

// A random number depends on seed, Region, purpose, object and n alone, so a call added elsewhere
// changes nothing.
func TestRandomNumbersAreKeyed(t *testing.T) {
	draw := func(seed uint64, k world.Key, purpose, object string, n int, before int) (x float64) {
		w, _ := newWorld(func(o *world.Options) { o.Seed = seed })
		_ = w.Do(k, func(tx *world.Tx) error {
			for i := range before {
				tx.Random("other", "thing", i)
				tx.NewHex("other", 17)
			}
			x = tx.Random(purpose, object, n)
			return nil
		})
		return x
	}
	base := draw(1, worldtest.Key, "start", "task", 0, 0)
	if again := draw(1, worldtest.Key, "start", "task", 0, 9); again != base {
		t.Errorf("%g after other draws, %g without", again, base)
	}
	for name, x := range map[string]float64{
		"another seed":    draw(2, worldtest.Key, "start", "task", 0, 0),
		"another Region":  draw(1, world.Key{Account: worldtest.Key.Account, Region: "us-east-1"}, "start", "task", 0, 0),
		"another purpose": draw(1, worldtest.Key, "stop", "task", 0, 0),
		"another object":  draw(1, worldtest.Key, "start", "task2", 0, 0),
		"another n":       draw(1, worldtest.Key, "start", "task", 1, 0),
	} {
		if x == base || x < 0 || x >= 1 {
			t.Errorf("%s: %g, as before %g", name, x, base)
		}
	}
}

func TestIdentifiersAreNewAndRepeatable(t *testing.T) {
	ids := func() (all []string) {
		w, _ := newWorld(func(o *world.Options) { o.Seed = 7 })
		step(t, w, func(tx *world.Tx) {
			for range 200 {
				all = append(all, tx.NewHex("task", 32), tx.NewDigits("task set", 19), tx.NewUUID("event"))
			}
		})
		return all
	}
	first := ids()
	if !slices.Equal(first, ids()) {
		t.Error("the second world has other identifiers")
	}
	seen := map[string]bool{}
	for _, id := range first {
		if seen[id] {
			t.Errorf("%s twice", id)
		}
		seen[id] = true
		if len(id) == 19 && (id[0] == '0' || strings.Trim(id, "0123456789") != "") {
			t.Errorf("%s does not have 19 digits without a leading zero", id)
		}
	}
}

// Ordered is compared with a slice over random operations.
func TestOrderedKeepsTheOrderOfInsertion(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var table world.Ordered[int]
	var keys []string
	values := map[string]int{}
	for i := range 5000 {
		key := fmt.Sprint(r.IntN(60))
		if r.IntN(2) == 0 {
			if _, ok := values[key]; !ok {
				keys = append(keys, key)
			}
			values[key] = i
			table.Put(key, i)
		} else {
			delete(values, key)
			keys = slices.DeleteFunc(keys, func(k string) bool { return k == key })
			table.Delete(key)
		}
		var want []int
		for _, k := range keys {
			want = append(want, values[k])
		}
		got, ok := table.Get(key)
		if v, has := values[key]; ok != has || got != v {
			t.Fatalf("operation %d: %s is %d %v, want %d %v", i, key, got, ok, v, has)
		}
		if !slices.Equal(table.Keys(), keys) || !slices.Equal(table.Values(), want) || table.Len() != len(keys) {
			t.Fatalf("operation %d: %v, want %v", i, table.Keys(), keys)
		}
	}
}

// A subnet gives each address once, the first four never, and released ones late.
func TestSubnetAddresses(t *testing.T) {
	w, _ := newWorld(nil)
	step(t, w, func(tx *world.Tx) {
		s := &world.Subnet{CIDR: world.DefaultNetwork(3)}
		first, _ := s.TakeAddress()
		if first.String() != "127.19.0.4" {
			t.Errorf("the first address is %s", first)
		}
		s.ReleaseAddress(first)
		if next, _ := s.TakeAddress(); next == first {
			t.Errorf("%s is used again at once", first)
		}
		seen := map[string]bool{}
		for {
			a, ok := s.TakeAddress()
			if !ok {
				break
			}
			if seen[a.String()] {
				t.Fatalf("%s twice", a)
			}
			seen[a.String()] = true
		}
		if n := 1<<16 - 5 - 1; len(seen) != n { // of 65536: five reserved, one is in use
			t.Errorf("%d addresses, want %d", len(seen), n)
		}
	})
}

func TestResetDeletesStateAndEvents(t *testing.T) {
	w, c := newWorld(nil)
	var effects []world.Effect
	w.SetSink(func(e world.Effect) { effects = append(effects, e) })
	ran := false
	step(t, w, func(tx *world.Tx) {
		tx.Clusters.Put("prod", &world.Cluster{Name: "prod"})
		tx.After(time.Second, func(*world.Tx) { ran = true })
	})
	w.Reset()
	c.now = c.now.Add(time.Minute)
	w.Advance()
	step(t, w, func(tx *world.Tx) {
		if ran || tx.Clusters.Len() != 0 || !tx.Now().Equal(c.now) {
			t.Errorf("ran %v, %d clusters, at %s", ran, tx.Clusters.Len(), tx.Now())
		}
	})
	if len(effects) != 1 || effects[0] != (world.RegionReset{Key: worldtest.Key}) {
		t.Errorf("effects %v", effects)
	}
}

func TestLogKeepsTheNewestEntries(t *testing.T) {
	w, _ := newWorld(func(o *world.Options) { o.LogLimit = 10 })
	step(t, w, func(tx *world.Tx) {
		for i := range 1000 {
			tx.Log("task", "t", "entry %d", i)
		}
	})
	all := w.Entries()
	if len(all) < 10 || len(all) > 20 || all[len(all)-1].Text != "entry 999" ||
		all[0].Text != fmt.Sprintf("entry %d", 1000-len(all)) {
		t.Errorf("%d entries, from %q to %q", len(all), all[0].Text, all[len(all)-1].Text)
	}
	var s strings.Builder
	if err := w.WriteLog(&s); err != nil || !strings.HasSuffix(s.String(), "eu-west-1 task t: entry 999\n") {
		t.Errorf("%v %q", err, s.String())
	}
}
