package cloudmap

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
)

// scene is one look at the tasks and at the name.
type scene struct {
	members    []member
	desired    int
	all        map[string]Instance // by id
	dead       []string            // instances of ours whose task runs no more
	stray      []string            // instances as ECS makes them, whose task is not among those that run
	foreign    []string            // instances that are neither ECS's nor ours
	neighbours []string            // other ECS services that are found too
}

// look reads tasks and instances and tells what does not belong to this
// deployment's doing.
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

// see is one look, whatever it shows.
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

// Stranger reports whether an id is neither one of ECS's nor one of ours.
func Stranger(id string) bool { return !isTask(id) && !strings.HasPrefix(id, OwnPrefix) }

// isTask reports whether an id is one that ECS gives.
func isTask(id string) bool {
	return len(id) == 32 && strings.Trim(id, "0123456789abcdef") == ""
}

// taskOf is the task behind an instance of ours.
func taskOf(id string) string { return id[strings.LastIndexByte(id, '-')+1:] }

// instance is the id under which a task is found: ECS's for the primary, one of
// ours for the canary. It is fit for a label of DNS, as SRV records need.
func (d *Driver) instance(t Task) string {
	if t.Variant == sluice.Canary {
		return d.Own + t.ID
	}
	return t.ID
}
