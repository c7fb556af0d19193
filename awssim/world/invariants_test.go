package world_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Each invariant reports the state that breaks it, and no state that does not. A strict world
// panics; a listening one logs it and continues.
func TestInvariants(t *testing.T) {
	set := func(status string, computed int) *world.TaskSet {
		return &world.TaskSet{Status: status, Computed: computed}
	}
	service := func(status string, sets ...*world.TaskSet) world.Change {
		s := &world.Service{Cluster: &world.Cluster{Name: "prod"}, Name: "web", Status: status, TaskSets: sets}
		for _, ts := range sets {
			ts.Service = s
		}
		return world.Change{Kind: world.ServiceChanged, Object: s}
	}
	task := func(last, desired, container string, essential bool) world.Change {
		return world.Change{Kind: world.TaskChanged, Object: &world.Task{ID: "1", LastStatus: last,
			DesiredStatus: desired, Containers: []*world.Container{{Status: container,
				Spec: world.ContainerSpec{Name: "web", Essential: essential}}}}}
	}
	strange := service("ACTIVE", set("ACTIVE", 1))
	strange.Object.(*world.Service).TaskSets[0].Service = &world.Service{}
	unlisted := world.Change{Kind: world.TaskChanged, Object: &world.Task{ID: "1", LastStatus: "RUNNING",
		Address: netip.MustParseAddr("10.0.0.4")}}
	for _, c := range []struct {
		name   string
		change world.Change
		want   string // "" if nothing is violated
	}{
		{"one PRIMARY", service("ACTIVE", set("PRIMARY", 1), set("ACTIVE", 1)), ""},
		{"two PRIMARY", service("ACTIVE", set("PRIMARY", 1), set("PRIMARY", 1)), "has 2 PRIMARY task sets"},
		{"inactive and empty", service("INACTIVE"), ""},
		{"inactive with a set", service("INACTIVE", set("ACTIVE", 0)), "is INACTIVE and has 1 task sets"},
		{"drained", service("ACTIVE", set("DRAINING", 0)), ""},
		{"drains and wants tasks", service("ACTIVE", set("DRAINING", 2)), "drains and still wants 2 tasks"},
		{"a service drains and wants tasks", service("DRAINING", set("ACTIVE", 2)), "drains and still wants 2 tasks"},
		{"the set of another service", strange, "belongs to another"},
		{"running", task("RUNNING", "RUNNING", "RUNNING", true), ""},
		{"stopped with a container", task("STOPPED", "STOPPED", "RUNNING", true), "is STOPPED, its container"},
		{"running with a pending one", task("RUNNING", "STOPPED", "PENDING", false), "is PENDING"},
		{"without its essential container", task("RUNNING", "RUNNING", "STOPPED", true), "essential container web"},
		{"without another container", task("RUNNING", "RUNNING", "STOPPED", false), ""},
		{"an address of nobody", unlisted, "not registered as its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			violated := func(strict bool) (text string) {
				w, _ := newWorld(func(o *world.Options) { o.Strict = strict })
				defer func() {
					if p := recover(); p != nil {
						text = "panic: " + fmt.Sprint(p)
					}
				}()
				step(t, w, func(tx *world.Tx) { tx.Changed(c.change.Kind, c.change.Object) })
				for _, e := range w.Entries() {
					text += e.String()
				}
				return text
			}
			for _, strict := range []bool{true, false} {
				got := violated(strict)
				if c.want == "" && got != "" || !strings.Contains(got, c.want) ||
					strings.HasPrefix(got, "panic") != (strict && c.want != "") {
					t.Errorf("strict %v: %q, want %q", strict, got, c.want)
				}
			}
		})
	}
}
