package cloudmap

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// NameState is the state of the tasks and of the registered instances in one read.
type NameState struct {
	members       []member
	desired       int
	all           map[string]Instance // by id
	dead          []string            // instances that sluice registered and whose task has stopped
	orphaned      []string            // instances that ECS registered and whose task is not running
	unknown       []string            // instances that neither ECS nor sluice registered
	otherServices []string            // other ECS services with instances under the name
}

// LastRead returns the state of the last read.
func (d *Driver) LastRead() NameState { return d.lastState }

// Split returns the number of registered, ready tasks of each variant.
func (s NameState) Split() plan.Split { return splitOf(s.members) }

// Pool returns the number of tasks that could be registered.
func (s NameState) Pool() plan.Pool { return poolOf(s.members, s.desired) }

// UnknownInstances returns the instances that neither ECS nor sluice registered.
func (s NameState) UnknownInstances() []string { return s.unknown }

// RegisteredIDs returns the ids of a variant's registered instances, healthy or not.
func (s NameState) RegisteredIDs(v sluice.Variant) (ids []string) {
	for _, m := range s.members {
		if m.Variant == v && m.registered {
			ids = append(ids, m.instance)
		}
	}
	return ids
}

// CountDeregistered returns how many running tasks of the primary are deregistered.
func (s NameState) CountDeregistered() (n int) {
	for _, m := range s.members {
		if m.returnable && !m.registered {
			n++
		}
	}
	return n
}

// IsUnhealthy reports whether a task of the canary is registered with status UNHEALTHY. sluice
// registered it HEALTHY, so another actor changed the status.
func (s NameState) IsUnhealthy(task string) bool {
	return slices.ContainsFunc(s.members, func(m member) bool {
		return m.Variant == sluice.Canary && m.ID == task && m.registered && !m.cloudMapHealthy
	})
}

// SetUnhealthy returns the ids of the primary's registered instances that another actor set
// UNHEALTHY: their tasks are healthy in ECS, and have run longer than Cloud Map needs to show that.
func (s NameState) SetUnhealthy() (ids []string) {
	for _, m := range s.members {
		if m.Variant == sluice.Primary && m.registered && m.Healthy && !m.cloudMapHealthy && m.Age > registrationLimit {
			ids = append(ids, m.instance)
		}
	}
	return ids
}

// InstancesOf returns the ids under which a task is registered.
func (s NameState) InstancesOf(task string) []string {
	var ids []string
	for id := range s.all {
		if id == task || strings.HasPrefix(id, OwnPrefix) && strings.HasSuffix(id, "-"+task) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// HasOthers reports whether instances other than ids remain registered whichever tasks ECS stops.
func (s NameState) HasOthers(ids []string) bool {
	in := map[string]bool{}
	for _, m := range s.members {
		in[m.instance] = m.registered && !slices.Contains(ids, m.instance)
	}
	return countRemaining(s.members, in) > 0
}

// OtherServices returns the other ECS services with instances under the name.
func (s NameState) OtherServices() []string { return s.otherServices }

// observeState reads tasks and instances and detects changes by other actors.
func (d *Driver) observeState(ctx context.Context) (NameState, error) {
	s, err := d.readState(ctx)
	if err != nil {
		return NameState{}, err
	}
	if d.lastState = s; !d.IgnoresChanges {
		err = d.detectChanges(ctx)
	}
	return d.lastState, err
}

// readState reads tasks and instances once, without a check for changes by other actors.
func (d *Driver) readState(ctx context.Context) (NameState, error) {
	tasks, desired, err := d.Tasks(ctx)
	if err != nil {
		return NameState{}, err
	}
	instances, err := d.Instances.ListInstances(ctx)
	if err != nil {
		return NameState{}, err
	}
	s := d.buildState(tasks, instances)
	s.desired = desired
	slices.SortStableFunc(s.members, func(a, b member) int { return cmp.Compare(a.instance, b.instance) })
	return s, nil
}

func (d *Driver) buildState(tasks []Task, instances []Instance) (s NameState) {
	known, runs := map[string]bool{}, map[string]bool{}
	s.all, s.otherServices = map[string]Instance{}, OtherServices(instances, d.Place)
	for _, i := range instances {
		s.all[i.ID] = i
	}
	for _, t := range tasks {
		m := member{Task: t, instance: d.instanceIDOf(t), cloudMapHealthy: true}
		known[m.instance], runs[t.ID] = true, true
		if _, m.deregistered = d.Deregistered[m.instance]; m.deregistered {
			// a primary that keeps its records is deregistered only to be stopped
			m.returnable = !d.notReturning[m.instance] && !(d.KeepsPrimary && m.BeingReplaced)
		}
		m.unmanaged = d.Unmanaged[m.instance]
		if i, ok := s.all[m.instance]; ok {
			m.registered, m.cloudMapHealthy = true, i.Healthy
		}
		s.members = append(s.members, m)
	}
	for _, i := range instances {
		switch {
		case known[i.ID], otherService(i, d.Place) != "":
		case strings.HasPrefix(i.ID, OwnPrefix) && !runs[taskOf(i.ID)]:
			s.dead = append(s.dead, i.ID)
		case isTaskID(i.ID):
			s.orphaned = append(s.orphaned, i.ID)
		default:
			s.unknown = append(s.unknown, i.ID)
		}
	}
	return s
}

// IsUnknown reports whether neither ECS nor sluice creates ids of this form.
func IsUnknown(id string) bool { return !isTaskID(id) && !strings.HasPrefix(id, OwnPrefix) }

// isTaskID reports whether an id has the form of ids that ECS creates.
func isTaskID(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// taskOf returns the task of an instance that sluice registered.
func taskOf(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

// instanceIDOf returns the id under which a task is registered: the id of ECS for the primary, an
// id of sluice for the canary. It is a valid DNS label, as SRV records require.
func (d *Driver) instanceIDOf(t Task) string {
	if t.Variant == sluice.Canary {
		return d.Prefix + t.ID
	}
	return t.ID
}
