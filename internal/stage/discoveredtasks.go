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

// writeRecord makes a write and marks the last read as stale.
func (d *discovered) write(ctx context.Context, a sluice.Attempt, call func(context.Context) (string, error)) error {
	d.stale = true
	if a.Planned.Operation == "servicediscovery:DeregisterInstance" {
		if err := d.moving(ctx); err != nil {
			return err
		}
	}
	return d.act(ctx, a, call)
}

// maxTasksAge is how long a read of tasks and name is used. maintainShare and the calls after it in
// the same poll share one read.
const oneLook = time.Second

// refreshTasks reads tasks and name, unless the last read is newer than maxTasksAge.
func (d *discovered) lookAt(ctx context.Context) error {
	if !d.stale && !d.looked.IsZero() && d.Clock.Now().Sub(d.looked) < oneLook {
		return nil
	}
	_, err := d.names.Look(ctx)
	return err
}

// namedTasks returns the tasks of both variants in the form of the name's driver.
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

// stoppedTasks returns those of the given primary tasks that have stopped or are stopping, if the
// stage may deregister them.
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

// isHealthy reports whether a task is RUNNING and every container with a health check is HEALTHY.
// The task's own status is not used: it stays UNKNOWN if one essential container has no check (ECS
// Developer Guide, "Determine Amazon ECS task health using container health checks").
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

// isNew reports whether the task is not of the former revision.
func (d *discovered) isNew(t ecs.Task) bool {
	return d.former == nil || t.Revision != d.former.Revision
}

// isLeaving returns a check of the primary's tasks: whether a task is going to be stopped. In a
// rollback those are the tasks that the deployment created, otherwise those that served before.
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

// hasTask reports whether a task belongs to the member.
func (m member) runs(t ecs.Task) bool { return t.StartedBy == m.ID }

// registeredOf returns the registered instances of a member's tasks.
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

// taskIDsOf returns the IDs of a member's tasks, as of the last read.
func (d *discovered) tasksOf(m member) (ids []string) {
	for _, t := range d.tasks {
		if m.runs(t) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// targetStates returns the member's tasks as targets for a verdict. A target is healthy if callers
// can be sent to its task. For a primary task this means that ECS has registered it, or that it is
// healthy and sluice keeps it deregistered.
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
