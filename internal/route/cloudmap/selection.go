package cloudmap

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Keys of the attributes that ECS sets on its instances (ECS Developer Guide, "Use service
// discovery to connect Amazon ECS services with DNS names").
const (
	initHealthKey = "AWS_INIT_HEALTH_STATUS"
	addressKey    = "AWS_INSTANCE_IPV4"
	portKey       = "AWS_INSTANCE_PORT"
)

// Task is a task of a variant, as ECS returns it.
type Task struct {
	ID            string // the last part of its ARN, under which ECS registers it
	Variant       sluice.Variant
	Address       string // private IPv4 address
	Zone          string
	Family        string        // of its task definition
	ExternalID    string        // of its task set
	BeingReplaced bool          // it is being replaced: other tasks are preferred
	Healthy       bool          // it runs, and no health check of ECS reports it unhealthy
	Age           time.Duration // since it runs; 0 if that is not known
	Group         string        // the task set or deployment from which ECS chooses the tasks that it stops
	Surplus       int           // how many tasks of its group ECS may still stop, since fewer are desired
}

// Place names the service in the attributes of its instances.
type Place struct {
	Cluster, Service, Region string
}

// Attributes returns the attributes that ECS would set on the instance of the task, except
// EC2_INSTANCE_ID.
func (t Task) Attributes(r plan.Registry, p Place) map[string]string {
	a := map[string]string{addressKey: t.Address, "AVAILABILITY_ZONE": t.Zone, "REGION": p.Region,
		"ECS_SERVICE_NAME": p.Service, "ECS_CLUSTER_NAME": p.Cluster, "ECS_TASK_DEFINITION_FAMILY": t.Family}
	if r.Port != 0 {
		a[portKey] = strconv.Itoa(int(r.Port))
	}
	if t.ExternalID != "" {
		a["ECS_TASK_SET_EXTERNAL_ID"] = t.ExternalID
	}
	return a
}

// member is a task that is registered under the name, or could be.
type member struct {
	Task
	instance        string // its id
	registered      bool   // registered
	cloudMapHealthy bool   // as Cloud Map has it; true if it is not registered
	deregistered    bool   // of the primary: sluice deregistered it
	returnable      bool   // of the primary: sluice deregistered it and may register it again
	unmanaged       bool   // another actor set its state, which is kept
}

// isReady reports whether callers may be sent to the task.
func (m member) isReady() bool {
	if m.unmanaged && !m.registered {
		return false
	}
	if m.Variant == sluice.Canary {
		return m.Healthy && m.cloudMapHealthy
	}
	return m.Healthy && m.cloudMapHealthy && (m.registered || m.returnable)
}

// change lists the registrations and deregistrations, in this order. New instances are registered
// and callers can resolve them before others are deregistered.
type change struct {
	addCanary     []member // canary
	returnPrimary []member // primary instances that sluice deregistered
	removeCanary  []member // canary
	removePrimary []member // primary
}

func (c change) isEmpty() bool {
	return len(c.addCanary)+len(c.returnPrimary)+len(c.removeCanary)+len(c.removePrimary) == 0
}

// poolOf counts the tasks that could be registered.
func poolOf(all []member, desired int) plan.Pool {
	p := plan.Pool{Desired: desired}
	for _, m := range all {
		switch {
		case !m.isReady():
		case m.Variant == sluice.Canary:
			p.Canary++
		default:
			p.Primary++
		}
	}
	return p
}

// splitOf counts the registered, ready tasks of each variant.
func splitOf(all []member) plan.Split {
	var s plan.Split
	for _, m := range all {
		switch {
		case !m.registered || !m.isReady():
		case m.Variant == sluice.Canary:
			s.Canary++
		default:
			s.Primary++
		}
	}
	return s
}

// planChange computes the change that makes the members match the weights. A lower desired count
// alone deregisters no instance: ECS chooses the tasks that it stops, and deregisters them.
// keepsPrimary means that no task of the primary is deregistered for the canary's share.
func planChange(all []member, desired int, to sluice.Weights, keepsPrimary bool) change {
	still := runningCount(all, desired)
	all = withoutReplaced(all, still)
	want := splitTo(poolOf(all, still), to, keepsPrimary)
	var c change
	c.addCanary, c.removeCanary = selectMembers(all, sluice.Canary, want.Canary,
		func(m member) bool { return !m.Healthy || to.Canary() == 0 })
	c.returnPrimary, c.removePrimary = selectMembers(all, sluice.Primary, want.Primary,
		func(member) bool { return want.Primary == 0 })
	return secureChange(all, desired, to, c, keepsPrimary)
}

// splitTo returns the split of a pool for the weights.
func splitTo(p plan.Pool, to sluice.Weights, keepsPrimary bool) plan.Split {
	if keepsPrimary {
		return p.AddedSplit(to)
	}
	return p.NearestSplit(to)
}

// withoutReplaced omits tasks that are being replaced and are deregistered, if enough other primary
// tasks are ready. The previous version is not registered again next to the new one.
func withoutReplaced(all []member, desired int) []member {
	n := 0
	for _, m := range all {
		if m.Variant == sluice.Primary && !m.BeingReplaced && m.isReady() {
			n++
		}
	}
	if n == 0 || n < desired {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool { return m.BeingReplaced && !m.registered })
}

// selectMembers chooses n ready tasks of a variant to be registered. Order of preference: not being
// replaced, state set by another actor, registered already.
// goes selects registered tasks that are not ready and are deregistered as well. Such primary tasks
// are left to ECS while others serve. A canary that another actor set to UNHEALTHY stays
// registered: callers are not sent to it, and a new registration would make it HEALTHY.
func selectMembers(all []member, v sluice.Variant, n int, goes func(member) bool) (enter, leave []member) {
	var ready []member
	for _, m := range all {
		switch {
		case m.Variant != v:
		case m.isReady():
			ready = append(ready, m)
		case m.registered && goes(m):
			leave = append(leave, m)
		}
	}
	slices.SortStableFunc(ready, func(a, b member) int {
		return cmp.Or(orderFalseFirst(a.BeingReplaced, b.BeingReplaced), orderFalseFirst(b.unmanaged, a.unmanaged),
			orderFalseFirst(b.registered, a.registered), cmp.Compare(a.instance, b.instance))
	})
	for i, m := range ready {
		switch {
		case i < n && !m.registered:
			enter = append(enter, m)
		case i >= n && m.registered && !m.unmanaged:
			leave = append(leave, m)
		}
	}
	return enter, leave
}

// orderFalseFirst orders false before true.
func orderFalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// idsAfter returns the ids that are registered after the change. It includes unhealthy ones: one
// that must be deregistered is a difference too.
func idsAfter(all []member, c change) []string {
	found := map[string]bool{}
	for _, m := range all {
		found[m.instance] = m.registered
	}
	for _, m := range append(slices.Clone(c.addCanary), c.returnPrimary...) {
		found[m.instance] = true
	}
	for _, m := range append(slices.Clone(c.removeCanary), c.removePrimary...) {
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
