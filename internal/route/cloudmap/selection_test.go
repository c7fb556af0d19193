package cloudmap

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-ecs/sluice"
)

func primary(id string, in, taken bool) member {
	return member{Task: Task{ID: id, Variant: sluice.Primary, Healthy: true}, instance: id, registered: in,
		cloudMapHealthy: true, returnable: taken}
}

func canary(id string, in bool) member {
	return member{Task: Task{ID: id, Variant: sluice.Canary, Healthy: true}, instance: "slc-" + id, registered: in,
		cloudMapHealthy: true}
}

func instances(all []member) (ids []string) {
	for _, m := range all {
		ids = append(ids, m.instance)
	}
	return ids
}

func TestDecide(t *testing.T) {
	four := func() []member {
		return []member{primary("p1", true, false), primary("p2", true, false), primary("p3", true, false),
			primary("p4", true, false)}
	}
	old := func(m member) member { m.BeingReplaced = true; return m }
	kept := func(m member) member { m.unmanaged = true; return m }
	sick := func(m member) member { m.cloudMapHealthy = false; return m }
	unwell := func(m member) member { m.Healthy = false; return m }
	for name, c := range map[string]struct {
		all    []member
		to     int
		change string // entering, put back, leaving, taken out
	}{
		"one of four enters, one of the primary leaves": {append(four(), canary("c1", false), canary("c2", false)), 25,
			"[slc-c1] [] [] [p4]"},
		"everything to the canary": {append(four(), canary("c1", false), canary("c2", false),
			canary("c3", false), canary("c4", false)), 100, "[slc-c1 slc-c2 slc-c3 slc-c4] [] [] [p1 p2 p3 p4]"},
		"and back, under the same ids": {[]member{primary("p1", false, true),
			primary("p2", false, true), canary("c1", true)}, 0, "[] [p1 p2] [slc-c1] []"},
		"nothing to do": {append(four()[:3], primary("p4", false, true),
			canary("c1", true)), 25, "[] [] [] []"},
		"a canary that died is followed by another": {append(four()[:3], primary("p4", false, true),
			canary("c2", false)), 25, "[slc-c2] [] [] []"},
		"no canary left: the primary comes back": {[]member{primary("p1", false, true),
			primary("p2", false, true)}, 100, "[] [p1 p2] [] []"},
		"new tasks of the primary before old ones": {[]member{old(primary("o1", true, false)),
			primary("n1", true, false), canary("c1", true)}, 50, "[] [] [] []"},
		"new tasks of the primary before an old one that is adopted": {append(four()[:3],
			kept(old(primary("a1", true, false))), canary("c1", true)), 25, "[] [] [] []"},
		"one that is adopted before others": {append(four()[:3], kept(primary("z1", true, false)),
			canary("c1", true)), 25, "[] [] [] [p3]"},
		"what leaves and is out is not put back": {[]member{old(primary("o1", false, true)),
			old(primary("o2", false, true)), primary("n1", false, true), primary("n2", false, true),
			primary("n3", false, true), primary("n4", false, true), canary("c1", true)}, 0,
			"[] [n1 n2 n3 n4] [slc-c1] []"},
		"a canary that fails is taken out": {append(four(), unwell(canary("c1", true))), 50,
			"[] [] [slc-c1] []"},
		"one that is told to be UNHEALTHY stays so": {append(four(), sick(canary("c1", true))), 50, "[] [] [] []"},
		"and leaves with the others": {append(four(), sick(canary("c1", true))), 0,
			"[] [] [slc-c1] []"},
		"ECS's own unhealthy records are left": {append(four(), sick(primary("p5", true, false))), 0,
			"[] [] [] []"},
		"but not if the canary is to be alone": {[]member{sick(primary("p1", true, false)), canary("c1", true),
			canary("c2", true), canary("c3", true), canary("c4", true)}, 100, "[] [] [] [p1]"},
		"what somebody else took out stays out": {append(four()[:3], primary("p4", false, false)), 0,
			"[] [] [] []"},
	} {
		t.Run(name, func(t *testing.T) {
			got := planChange(c.all, 4, sluice.CanaryShare(c.to), false)
			if s := fmt.Sprint(instances(got.addCanary), instances(got.returnPrimary), instances(got.removeCanary),
				instances(got.removePrimary)); s != c.change {
				t.Errorf("%s, want %s", s, c.change)
			}
		})
	}
}

// Whatever stands, what is decided leaves nobody with an empty name, is done once,
// and takes nobody out below the desired count.
func TestDecideIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []member
		for i := range rapid.IntRange(0, 12).Draw(t, "primary") {
			m := primary(fmt.Sprintf("p%02d", i), rapid.Bool().Draw(t, "in"), false)
			m.returnable = !m.registered && rapid.Bool().Draw(t, "taken")
			m.BeingReplaced, m.cloudMapHealthy = rapid.Bool().Draw(t, "leaves"), rapid.Bool().Draw(t, "healthy")
			all = append(all, m)
		}
		for i := range rapid.IntRange(0, 8).Draw(t, "canary") {
			m := canary(fmt.Sprintf("c%02d", i), rapid.Bool().Draw(t, "in"))
			m.Healthy = rapid.Bool().Draw(t, "well")
			all = append(all, m)
		}
		desired, to := rapid.IntRange(1, 8).Draw(t, "desired"),
			sluice.CanaryShare(rapid.IntRange(0, 100).Draw(t, "percent"))
		c := planChange(all, desired, to, false)
		left := idsAfter(all, c)
		p := poolOf(all, desired)
		if len(left) == 0 && p.Primary+p.Canary > 0 {
			t.Fatalf("the name is empty after %+v", c)
		}
		done := slices.Clone(all)
		for i, m := range done {
			if m.registered = slices.Contains(left, m.instance); m.Variant == sluice.Primary && !m.registered &&
				(all[i].registered || m.returnable) {
				done[i].returnable = true
			}
			done[i].registered = m.registered
		}
		if again := planChange(done, desired, to, false); !again.isEmpty() {
			t.Fatalf("after %+v still %+v", c, again)
		}
	})
}

// A task of the primary that is about to stop may be registered again while a deployment that was
// killed starts anew. If no share needs deregistered primary tasks, that is no external change: the
// stage deregisters it again.
func TestAStoppingTaskThatReturnsIsNoChange(t *testing.T) {
	const id = "26338802c3bacb912fea02566663c054"
	for _, keeps := range []bool{true, false} {
		d := &Driver{KeepsPrimary: keeps, Deregistered: map[string]map[string]string{id: {}},
			seenDeregistered: map[string]bool{id: true}}
		s := d.buildState([]Task{{ID: id, Variant: sluice.Primary, Healthy: true, BeingReplaced: true}},
			[]Instance{{ID: id, Healthy: true}})
		if got := d.findChanges(s).Returned; (len(got) == 0) != keeps {
			t.Errorf("keeps the primary: %t, returned %v", keeps, got)
		}
	}
}
