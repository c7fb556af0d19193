package cloudmap

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice"
)

// shrinking is a service whose desired count falls: its task sets, by their size, and
// its tasks.
type shrinking struct {
	desired int
	scale   map[string]int // of each task set, in percent
	tasks   []member
}

func newShrinking(desired, fresh, scale int) *shrinking {
	s := &shrinking{desired: desired, scale: map[string]int{"old": 100, "canary": scale}}
	if fresh > 0 {
		s.scale["new"] = 100
	}
	for i := range desired {
		s.add(primary(fmt.Sprintf("old%02d", i), true, false), "old", fresh > 0)
	}
	for i := range fresh {
		s.add(primary(fmt.Sprintf("new%02d", i), true, false), "new", false)
	}
	for i := range s.want("canary") {
		s.add(canary(fmt.Sprintf("c%02d", i), false), "canary", false)
	}
	return s
}

func (s *shrinking) add(m member, group string, leaves bool) {
	m.Group, m.BeingReplaced = group, leaves
	s.tasks = append(s.tasks, m)
}

// want is how many tasks a set should have.
func (s *shrinking) want(group string) int { return (s.desired*s.scale[group] + 99) / 100 }

// surplus is how many tasks of a set ECS will stop.
func (s *shrinking) surplus(group string) (n int) {
	for _, m := range s.tasks {
		if m.Group == group {
			n++
		}
	}
	return max(0, n-s.want(group))
}

// read is what a look shows.
func (s *shrinking) read() []member {
	all := slices.Clone(s.tasks)
	for i, m := range all {
		all[i].Surplus = s.surplus(m.Group)
	}
	return all
}

// apply makes a change, in the order of the driver.
func (s *shrinking) apply(c change) {
	put := func(some []member, in bool) {
		for _, m := range some {
			i := slices.IndexFunc(s.tasks, func(t member) bool { return t.instance == m.instance })
			s.tasks[i].registered = in
			s.tasks[i].returnable = !in && m.Variant == sluice.Primary
		}
	}
	put(c.addCanary, true)
	put(c.returnPrimary, true)
	put(c.removeCanary, false)
	put(c.removePrimary, false)
}

// worst is how many records remain if ECS stops, of each set, first the tasks that are
// registered.
func (s *shrinking) worst() (n int) {
	for group := range s.scale {
		in := 0
		for _, m := range s.tasks {
			if m.Group == group && m.registered {
				in++
			}
		}
		n += max(0, in-s.surplus(group))
	}
	return n
}

// stops is ECS choosing a task of a set with too many.
func (s *shrinking) stops(t *rapid.T) {
	var all []int
	for i, m := range s.tasks {
		if s.surplus(m.Group) > 0 {
			all = append(all, i)
		}
	}
	if len(all) > 0 {
		i := rapid.SampledFrom(all).Draw(t, "stopped")
		s.tasks = slices.Delete(s.tasks, i, i+1)
	}
}

func (s *shrinking) busy() bool {
	return slices.ContainsFunc(s.tasks, func(m member) bool { return s.surplus(m.Group) > 0 })
}

// However the desired count falls while a share is held, and whichever tasks ECS stops,
// a fall alone takes no record out, and the name is never empty after a look.
func TestRecordsRemainWhileTheDesiredCountFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		desired := rapid.IntRange(1, 12).Draw(t, "desired")
		s := newShrinking(desired, rapid.IntRange(0, desired).Draw(t, "fresh"), rapid.IntRange(1, 100).Draw(t, "scale"))
		to := sluice.CanaryShare(rapid.IntRange(0, 100).Draw(t, "percent"))
		s.apply(planChange(s.read(), s.desired, to, false))
		for range rapid.IntRange(1, 3).Draw(t, "falls") {
			rested := !s.busy() // else a record may leave that an earlier fall put back
			s.desired = rapid.IntRange(1, s.desired).Draw(t, "falls to")
			c := planChange(s.read(), s.desired, to, false)
			if rested && len(c.removeCanary)+len(c.removePrimary) > 0 {
				t.Fatalf("a desired count of %d takes out %v", s.desired,
					instances(append(c.removeCanary, c.removePrimary...)))
			}
			s.apply(c)
			for range rapid.IntRange(0, 8).Draw(t, "looks") {
				if s.worst() == 0 {
					t.Fatalf("the name may be empty: %+v", s.read())
				}
				for range rapid.IntRange(0, 3).Draw(t, "stops") {
					s.stops(t)
				}
				s.apply(planChange(s.read(), s.desired, to, false))
			}
		}
		for s.busy() {
			s.stops(t)
			s.apply(planChange(s.read(), s.desired, to, false))
			if s.worst() == 0 {
				t.Fatalf("the name may be empty: %+v", s.read())
			}
		}
		if c := planChange(s.read(), s.desired, to, false); !c.isEmpty() {
			t.Fatalf("at rest still %+v", c)
		}
		if at, want := splitOf(s.tasks), poolOf(s.tasks, s.desired).NearestSplit(to); at != want {
			t.Fatalf("at rest %+v is registered, want %+v", at, want)
		}
	})
}

// A share that is asked for while ECS scales in leaves enough records too, and the canary
// leaves nobody behind.
func TestRecordsRemainWhileASharesMoves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		desired := rapid.IntRange(1, 12).Draw(t, "desired")
		s := newShrinking(desired, 0, rapid.IntRange(1, 100).Draw(t, "scale"))
		share := func(label string) sluice.Weights { return sluice.CanaryShare(rapid.IntRange(0, 100).Draw(t, label)) }
		s.apply(planChange(s.read(), s.desired, share("from"), false))
		s.desired = rapid.IntRange(1, s.desired).Draw(t, "falls to")
		s.apply(planChange(s.read(), s.desired, share("to"), false))
		if s.worst() == 0 {
			t.Fatalf("the name may be empty: %+v", s.read())
		}
	})
}

// ECS may stop the tasks of the primary that are well and keep those that are not yet:
// the canary stays until that is over.
func TestTheCanaryStaysWhileThePrimaryMayBeStopped(t *testing.T) {
	starting := primary("p3", false, false)
	starting.Healthy = false
	all := []member{primary("p1", true, false), primary("p2", true, false), starting, canary("c1", true)}
	for i := range all[:3] {
		all[i].Group, all[i].Surplus = "primary", 2
	}
	all[3].Group = "canary"
	if c := planChange(all, 1, sluice.CanaryShare(0), false); !c.isEmpty() {
		t.Errorf("%+v, want no change", c)
	}
	d := &Driver{lastState: NameState{members: all, desired: 1}}
	if d.LastRead().HasOthers([]string{"slc-c1"}) {
		t.Error("others remain for sure, and ECS may stop both")
	}
	all[2].Healthy, all[2].registered = true, true
	if !d.LastRead().HasOthers([]string{"slc-c1"}) {
		t.Error("one of three remains when ECS stops two")
	}
	if c := planChange(all, 1, sluice.CanaryShare(0), false); len(c.removeCanary) != 1 {
		t.Errorf("%+v, want the canary to leave", c)
	}
}

// ECS may stop every task of both variants before others are ready: a share that is asked for then deregisters no
// task that serves.
func TestNoneLeavesWhileEachMayBeStopped(t *testing.T) {
	starting := primary("p3", false, false)
	starting.Healthy = false
	for percent, to := range map[string]sluice.Weights{"0": sluice.CanaryShare(0), "100": sluice.CanaryShare(100)} {
		all := []member{primary("p1", true, false), primary("p2", true, false), starting, canary("c1", true)}
		for i := range all {
			all[i].Group, all[i].Surplus = "primary", 2
		}
		all[3].Group, all[3].Surplus = "canary", 1
		if c := planChange(all, 2, to, false); len(c.removeCanary)+len(c.removePrimary) > 0 {
			t.Errorf("a share of %s %% takes out %v", percent, instances(append(c.removeCanary, c.removePrimary...)))
		}
	}
}
