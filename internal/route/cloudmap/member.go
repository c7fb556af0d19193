package cloudmap

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Attributes that ECS gives its instances (ECS Developer Guide, "Use service
// discovery to connect Amazon ECS services with DNS names").
const (
	initHealth = "AWS_INIT_HEALTH_STATUS"
	addressOf  = "AWS_INSTANCE_IPV4"
	portOf     = "AWS_INSTANCE_PORT"
)

// Task is a task of a variant, as ECS shows it.
type Task struct {
	ID         string // the last part of its ARN, under which ECS registers it
	Variant    sluice.Variant
	Address    string // private IPv4 address
	Zone       string
	Family     string        // of its task definition
	ExternalID string        // of its task set
	Leaves     bool          // it is to be replaced: others are preferred
	Well       bool          // it runs, and no health check of ECS's says otherwise
	Age        time.Duration // since it runs; 0 if that is not known
	Group      string        // of which ECS chooses when it stops some: a task set, a deployment
	Surplus    int           // how many tasks of its group ECS may still stop, since fewer are desired
}

// Place is what the attributes of an instance say of where its task belongs.
type Place struct {
	Cluster, Service, Region string
}

// Attributes are those that ECS would give the task's instance, but for
// EC2_INSTANCE_ID.
func (t Task) Attributes(r plan.Registry, p Place) map[string]string {
	a := map[string]string{addressOf: t.Address, "AVAILABILITY_ZONE": t.Zone, "REGION": p.Region,
		"ECS_SERVICE_NAME": p.Service, "ECS_CLUSTER_NAME": p.Cluster, "ECS_TASK_DEFINITION_FAMILY": t.Family}
	if r.Port != 0 {
		a[portOf] = strconv.Itoa(int(r.Port))
	}
	if t.ExternalID != "" {
		a["ECS_TASK_SET_EXTERNAL_ID"] = t.ExternalID
	}
	return a
}

// member is a task that is found under the name, or could be.
type member struct {
	Task
	instance string // its id
	in       bool   // registered
	healthy  bool   // as Cloud Map has it; true if it is not registered
	out      bool   // of the primary: we took it out
	taken    bool   // likewise, and it may come back
	theirs   bool   // it is as somebody else wants it, and stays so
}

// ready reports whether callers may be sent to it.
func (m member) ready() bool {
	if m.theirs && !m.in {
		return false
	}
	if m.Variant == sluice.Canary {
		return m.Well && m.healthy
	}
	return m.Well && m.healthy && (m.in || m.taken)
}

// change is what to do, in this order: who is to be found is registered and
// answered before anybody is taken out.
type change struct {
	enter   []member // canary
	back    []member // primary, that we took out
	leave   []member // canary
	takeOut []member // primary
}

func (c change) none() bool { return len(c.enter)+len(c.back)+len(c.leave)+len(c.takeOut) == 0 }

// pool counts who could be found.
func pool(all []member, desired int) plan.Pool {
	p := plan.Pool{Desired: desired}
	for _, m := range all {
		switch {
		case !m.ready():
		case m.Variant == sluice.Canary:
			p.Canary++
		default:
			p.Primary++
		}
	}
	return p
}

// now is who is found.
func now(all []member) plan.Split {
	var s plan.Split
	for _, m := range all {
		switch {
		case !m.in || !m.ready():
		case m.Variant == sluice.Canary:
			s.Canary++
		default:
			s.Primary++
		}
	}
	return s
}

// decide says what brings the members to the weights. A desired count that fell takes
// nothing out by itself: ECS chooses which tasks it stops, and takes their records out.
func decide(all []member, desired int, to sluice.Weights) change {
	still := running(all, desired)
	all = staying(all, still)
	want := pool(all, still).Nearest(to)
	var c change
	c.enter, c.leave = chosen(all, sluice.Canary, want.Canary, func(m member) bool { return !m.Well || to.Canary() == 0 })
	c.back, c.takeOut = chosen(all, sluice.Primary, want.Primary, func(member) bool { return want.Primary == 0 })
	return secured(all, desired, to, c)
}

// staying leaves out who is to go and is out already, where enough others are
// there: what served before is not put back beside what serves now.
func staying(all []member, desired int) []member {
	n := 0
	for _, m := range all {
		if m.Variant == sluice.Primary && !m.Leaves && m.ready() {
			n++
		}
	}
	if n == 0 || n < desired {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.Leaves && !m.in })
}

// chosen picks n of a variant to be found: those that somebody else wants found,
// those that stay rather than those that leave, those that are found rather than
// others. Of those that are registered and not ready, goes says which are taken out
// too: of the primary they are ECS's business as long as some of it are to be found; a
// canary that somebody else has told to be UNHEALTHY is not found, and would be
// HEALTHY if it were registered again.
func chosen(all []member, v sluice.Variant, n int, goes func(member) bool) (enter, leave []member) {
	var ready []member
	for _, m := range all {
		switch {
		case m.Variant != v:
		case m.ready():
			ready = append(ready, m)
		case m.in && goes(m):
			leave = append(leave, m)
		}
	}
	slices.SortStableFunc(ready, func(a, b member) int {
		return cmp.Or(first(b.theirs, a.theirs), first(a.Leaves, b.Leaves), first(b.in, a.in), cmp.Compare(a.instance, b.instance))
	})
	for i, m := range ready {
		switch {
		case i < n && !m.in:
			enter = append(enter, m)
		case i >= n && m.in && !m.theirs:
			leave = append(leave, m)
		}
	}
	return enter, leave
}

// first orders what is not before what is.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// after is the ids that are registered once the change is made. It includes those that
// are not well: one that must leave is a difference too.
func after(all []member, c change) []string {
	found := map[string]bool{}
	for _, m := range all {
		found[m.instance] = m.in
	}
	for _, m := range append(slices.Clone(c.enter), c.back...) {
		found[m.instance] = true
	}
	for _, m := range append(slices.Clone(c.leave), c.takeOut...) {
		found[m.instance] = false
	}
	var ids []string
	for _, m := range all {
		if found[m.instance] {
			ids = append(ids, m.instance)
		}
	}
	slices.Sort(ids)
	return ids
}
