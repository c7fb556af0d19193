package cloudmap

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// nameState is the state of the tasks and of the registered instances in one read.
type nameState struct {
	members       []member
	desired       int
	all           map[string]Instance // by id
	dead          []string            // instances that sluice registered and whose task has stopped
	orphaned      []string            // instances that ECS registered and whose task is not running
	unknown       []string            // instances that neither ECS nor sluice registered
	otherServices []string            // other ECS services with instances under the name
}

// observeState reads tasks and instances and detects changes by other actors.
func (d *Driver) observeState(ctx context.Context) (nameState, error) {
	s, err := d.readState(ctx)
	if err != nil {
		return nameState{}, err
	}
	if d.lastState = s; !d.IgnoresChanges {
		err = d.detectChanges(ctx)
	}
	return d.lastState, err
}

// readState reads tasks and instances once, without a check for changes by other actors.
func (d *Driver) readState(ctx context.Context) (nameState, error) {
	tasks, desired, err := d.Tasks(ctx)
	if err != nil {
		return nameState{}, err
	}
	instances, err := d.ListInstances(ctx)
	if err != nil {
		return nameState{}, err
	}
	s := d.newNameState(tasks, instances)
	s.desired = desired
	slices.SortStableFunc(s.members, func(a, b member) int { return cmp.Compare(a.instance, b.instance) })
	return s, nil
}

func (d *Driver) newNameState(tasks []Task, instances []Instance) (s nameState) {
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
