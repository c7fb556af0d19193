package cloudmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
)

// scene is one look at the tasks and at the name.
type scene struct {
	members []member
	desired int
	all     map[string]bool // ids of every instance
	dead    []string        // instances of ours whose task runs no more
	foreign []string        // instances that are neither ECS's nor ours
}

// look reads tasks and instances and tells what does not belong to this
// deployment's doing.
func (d *Driver) look(ctx context.Context) (scene, error) {
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
	d.live = s
	return s, d.watch(ctx, s)
}

func (d *Driver) scene(tasks []Task, instances []Instance) (s scene) {
	byID, known, runs := map[string]Instance{}, map[string]bool{}, map[string]bool{}
	s.all = map[string]bool{}
	for _, i := range instances {
		byID[i.ID], s.all[i.ID] = i, true
	}
	for _, t := range tasks {
		m := member{Task: t, instance: d.instance(t), healthy: true}
		known[m.instance], runs[t.ID] = true, true
		if _, out := d.Taken[m.instance]; out {
			m.taken = !d.left[m.instance]
		}
		if i, ok := byID[m.instance]; ok {
			m.in, m.healthy = true, i.Healthy
		}
		s.members = append(s.members, m)
	}
	for _, i := range instances {
		switch {
		case known[i.ID]:
		case strings.HasPrefix(i.ID, OwnPrefix) && !runs[taskOf(i.ID)]:
			s.dead = append(s.dead, i.ID)
		case !isTask(i.ID):
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

// settle is how long a look may lag behind what is true.
const settle = 6 * time.Second

// watch notices what others did: an instance that we took out is there again, one
// that we registered is not.
func (d *Driver) watch(ctx context.Context, s scene) error {
	if d.Lenient {
		return nil
	}
	back, gone := d.changed(s)
	if len(back)+len(gone) > 0 {
		if err := d.Pause(ctx, settle); err != nil { // an answer of the past looks the same
			return err
		}
		instances, err := d.Instances(ctx)
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, i := range instances {
			there[i.ID] = true
		}
		back = slices.DeleteFunc(back, func(id string) bool { return !there[id] })
		gone = slices.DeleteFunc(gone, func(id string) bool { return there[id] })
	}
	switch {
	case len(back) > 0:
		return &sluice.Error{Op: "keep instances out of " + d.Registry.FullName(), Resource: d.Registry.ID + "/" + back[0], Kind: sluice.OutsideChange,
			Err:  fmt.Errorf("%s of the primary that was taken out came back: ECS or somebody else registers it again, so that its share cannot be held", sluice.Plural(len(back), "instance")),
			Next: "find out who registers it; a share that takes no primary instance out (a larger scale, or a smaller share) needs none of this"}
	case len(gone) > 0:
		return &sluice.Error{Op: "keep the canary found under " + d.Registry.FullName(), Resource: d.Registry.ID + "/" + gone[0], Kind: sluice.OutsideChange,
			Err:  errors.New("somebody else deregistered it"),
			Next: "find out who; then run sluice resume or sluice rollback"}
	}
	d.note(s)
	return nil
}

func (d *Driver) changed(s scene) (back, gone []string) {
	for _, m := range s.members {
		switch {
		case m.Variant == sluice.Primary && m.in && m.taken && d.seenOut[m.instance]:
			back = append(back, m.instance)
		case d.Holds && m.Variant == sluice.Canary && !m.in && m.Well && d.seenIn[m.instance]:
			gone = append(gone, m.instance)
		}
	}
	return back, gone
}

// note remembers what a look has shown.
func (d *Driver) note(s scene) {
	if d.seenOut == nil {
		d.seenOut, d.seenIn = map[string]bool{}, map[string]bool{}
	}
	for _, m := range s.members {
		switch {
		case m.Variant == sluice.Primary && m.taken && !m.in:
			d.seenOut[m.instance] = true
		case m.Variant == sluice.Canary && m.in && !d.left[m.instance]:
			d.seenIn[m.instance] = true
		}
	}
}
