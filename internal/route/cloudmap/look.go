package cloudmap

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// nameState is the state of the tasks and of the registered instances in one read.
type scene struct {
	members    []member
	desired    int
	all        map[string]Instance // by id
	dead       []string            // instances that sluice registered and whose task has stopped
	stray      []string            // instances that ECS registered and whose task is not running
	foreign    []string            // instances that neither ECS nor sluice registered
	neighbours []string            // other ECS services with instances under the name
}

// observeState reads tasks and instances and detects changes by other actors.
func (d *Driver) look(ctx context.Context) (scene, error) {
	s, err := d.see(ctx)
	if err != nil {
		return scene{}, err
	}
	if d.live = s; !d.Lenient {
		err = d.watch(ctx)
	}
	return d.live, err
}

// readState reads tasks and instances once, without a check for changes by other actors.
func (d *Driver) see(ctx context.Context) (scene, error) {
	tasks, desired, err := d.Tasks(ctx)
	if err != nil {
		return scene{}, err
	}
	instances, err := d.Instances(ctx)
	if err != nil {
		return scene{}, err
	}
	s := d.scene(tasks, instances)
	s.desired = desired
	slices.SortStableFunc(s.members, func(a, b member) int { return cmp.Compare(a.instance, b.instance) })
	return s, nil
}

func (d *Driver) scene(tasks []Task, instances []Instance) (s scene) {
	known, runs := map[string]bool{}, map[string]bool{}
	s.all, s.neighbours = map[string]Instance{}, Neighbours(instances, d.Place)
	for _, i := range instances {
		s.all[i.ID] = i
	}
	for _, t := range tasks {
		m := member{Task: t, instance: d.instance(t), healthy: true}
		known[m.instance], runs[t.ID] = true, true
		if _, m.out = d.Taken[m.instance]; m.out {
			m.taken = !d.left[m.instance]
		}
		m.theirs = d.Theirs[m.instance]
		if i, ok := s.all[m.instance]; ok {
			m.in, m.healthy = true, i.Healthy
		}
		s.members = append(s.members, m)
	}
	for _, i := range instances {
		switch {
		case known[i.ID], neighbour(i, d.Place) != "":
		case strings.HasPrefix(i.ID, OwnPrefix) && !runs[taskOf(i.ID)]:
			s.dead = append(s.dead, i.ID)
		case isTask(i.ID):
			s.stray = append(s.stray, i.ID)
		default:
			s.foreign = append(s.foreign, i.ID)
		}
	}
	return s
}

// IsUnknown reports whether neither ECS nor sluice creates ids of this form.
func Stranger(id string) bool { return !isTask(id) && !strings.HasPrefix(id, OwnPrefix) }

// isTaskID reports whether an id has the form of ids that ECS creates.
func isTask(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// taskOf returns the task of an instance that sluice registered.
func taskOf(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

// instanceIDOf returns the id under which a task is registered: the id of ECS for the primary, an
// id of sluice for the canary. It is a valid DNS label, as SRV records require.
func (d *Driver) instance(t Task) string {
	if t.Variant == sluice.Canary {
		return d.Own + t.ID
	}
	return t.ID
}
