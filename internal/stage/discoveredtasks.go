package stage

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
)

// write makes a write; what was seen before is of the past then.
func (d *discovered) write(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
	d.stale = true
	if a.Planned.Operation == "servicediscovery:DeregisterInstance" {
		if err := d.moving(ctx); err != nil {
			return err
		}
	}
	return d.act(ctx, a, call)
}

// oneLook is how long what was seen is good for: tend and what follows it in one
// turn of a wait are one look.
const oneLook = time.Second

// lookAt looks at tasks and name, unless that was done just now.
func (d *discovered) lookAt(ctx context.Context) error {
	if !d.stale && !d.looked.IsZero() && d.Clock.Now().Sub(d.looked) < oneLook {
		return nil
	}
	_, err := d.names.Look(ctx)
	return err
}

// crowd are the tasks of both variants, as the name's driver takes them.
func (d *discovered) crowd(ctx context.Context) (all []cloudmap.Task, desired int, err error) {
	live, err := d.observe(ctx)
	if err != nil {
		return nil, 0, err
	}
	leaves, err := d.leaving(ctx, live)
	if err != nil {
		return nil, 0, err
	}
	every, err := d.hosting.everyTask(ctx)
	if err != nil {
		return nil, 0, err
	}
	surplus, err := d.surplus(ctx, live, every)
	if err != nil {
		return nil, 0, err
	}
	d.tasks = nil
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		d.tasks = append(d.tasks, every[v]...)
		for _, t := range every[v] {
			if t.Address == "" {
				continue
			}
			x := cloudmap.Task{ID: t.ID, Variant: v, Address: t.Address, Zone: t.Zone, Family: familyOf(t.Revision), Well: d.isWell(t), Age: d.age(t),
				Group: t.StartedBy, Surplus: surplus[t.StartedBy]}
			if set := live.TaskSet(t.StartedBy); set != nil {
				x.ExternalID = set.ExternalID
			}
			x.Leaves = v == sluice.Primary && leaves(t)
			all = append(all, x)
		}
	}
	d.looked, d.stale = d.Clock.Now(), false
	return all, live.Desired, nil
}

// stopped tells which of those tasks of the primary are to stop, or have, where the stage
// may take their records away.
func (d *discovered) stopped(ctx context.Context, tasks []string) ([]string, error) {
	if !d.Stage.Lists(sluice.Write{Operation: "servicediscovery:DeregisterInstance", Resource: plan.PrimaryInstances}) {
		return nil, nil
	}
	return d.hand.Stopped(ctx, tasks)
}

func familyOf(revision string) string {
	for i := len(revision) - 1; i >= 0; i-- {
		if revision[i] == ':' {
			return revision[:i]
		}
	}
	return revision
}

// isWell: it runs, and every container of it that has a health check is HEALTHY.
// What else a task says is UNKNOWN for ever where one essential container has no
// check (ECS Developer Guide, "Determine Amazon ECS task health using container
// health checks").
func (d *discovered) isWell(t ecs.Task) bool {
	if t.Status != "RUNNING" || t.Health == "UNHEALTHY" {
		return false
	}
	checked := d.before
	if d.isNew(t) {
		checked = d.task.Checked()
	}
	for _, name := range checked {
		if t.Containers[name] != "HEALTHY" {
			return false
		}
	}
	return !slices.Contains(t.Unwell(), "UNHEALTHY")
}

// isNew reports whether the task is not of the revision that served before.
func (d *discovered) isNew(t ecs.Task) bool {
	return d.former == nil || t.Revision != d.former.Revision
}

// leaving tells which of the primary's tasks are to go: in a rollback those that
// the deployment made, else those of what served before.
func (d *discovered) leaving(ctx context.Context, live *ecs.Live) (func(ecs.Task) bool, error) {
	if d.returns() {
		made, err := d.hosting.made(ctx)
		return func(t ecs.Task) bool {
			return slices.ContainsFunc(made, func(m member) bool { return m.ID == t.StartedBy })
		}, err
	}
	if old := d.oldPrimary(); old != "" {
		return func(t ecs.Task) bool { return t.StartedBy == old }, nil
	}
	now, _ := live.PrimaryDeployment()
	return func(t ecs.Task) bool { return now != "" && t.StartedBy != now }, nil
}

// of reports whether a task belongs to a member.
func (m member) runs(t ecs.Task) bool { return t.StartedBy == m.ID }

// foundOf are the instances of a member's tasks that are registered.
func (d *discovered) foundOf(ctx context.Context, m member) ([]string, error) {
	if err := d.load(ctx); err != nil {
		return nil, err
	}
	if err := d.lookAt(ctx); err != nil {
		return nil, err
	}
	var ids []string
	for _, task := range d.tasksOf(m) {
		ids = append(ids, d.names.InstancesOf(task)...)
	}
	return ids, nil
}

// tasksOf are the ids of a member's tasks, as of the last look.
func (d *discovered) tasksOf(m member) (ids []string) {
	for _, t := range d.tasks {
		if m.runs(t) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// states are the member's tasks as a verdict takes targets: healthy are those that
// callers can be sent to. A new primary that ECS registers is healthy when it is
// found, unless we keep it out.
func (d *discovered) states(ctx context.Context, m member) ([]sluice.Target, error) {
	if err := d.lookAt(ctx); err != nil {
		return nil, err
	}
	all := []sluice.Target{}
	for _, t := range d.tasks {
		if !m.runs(t) {
			continue
		}
		x := sluice.Target{ID: t.Address, State: "initial", Description: "it is not found under " + d.names.Registry.FullName() + " yet"}
		switch {
		case t.Health == "UNHEALTHY":
			x.State, x.Description = "unhealthy", "a container health check fails"
		case d.names.IsSick(t.ID):
			x.State, x.Description = "unhealthy", "its record under "+d.names.Registry.FullName()+" is UNHEALTHY"
		case d.isWell(t) && (m.variant == sluice.Canary || d.names.IsReady(t.ID)):
			x.State, x.Description = "healthy", ""
		}
		all = append(all, x)
	}
	return all, nil
}
