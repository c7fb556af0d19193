package discovered

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/route/cloudmap"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// writeRecord makes a write and marks the last read as stale.
func (d *traffic) writeRecord(ctx context.Context, a sluice.Attempt,
	call func(context.Context) (string, error)) error {
	d.stale = true
	if a.Planned.Operation == "servicediscovery:DeregisterInstance" {
		if err := step.SaveShiftTime(ctx, d.step); err != nil {
			return err
		}
	}
	return d.step.MakeWrite(ctx, a, call)
}

// maxTasksAge is how long a read of tasks and name is used. MaintainShare and the calls after it in
// the same poll share one read.
const maxTasksAge = time.Second

// refreshTasks reads tasks and name, unless the last read is newer than maxTasksAge.
func refreshTasks(ctx context.Context, d *traffic) error {
	if !d.stale && !d.tasksReadAt.IsZero() && d.step.Clock.Now().Sub(d.tasksReadAt) < maxTasksAge {
		return nil
	}
	_, err := d.names.Observe(ctx)
	return err
}

// namedTasks returns the tasks of both variants in the form of the name's driver. Every read of the name begins with it,
// so it loads the saved instances.
func (d *traffic) namedTasks(ctx context.Context) (all []cloudmap.Task, desired int, err error) {
	if err := loadSaved(ctx, d); err != nil {
		return nil, 0, err
	}
	live, err := d.step.ObserveService(ctx)
	if err != nil {
		return nil, 0, err
	}
	leaves, err := isLeaving(ctx, d, live)
	if err != nil {
		return nil, 0, err
	}
	every, err := d.step.Hosting.ListAllTasks(ctx)
	if err != nil {
		return nil, 0, err
	}
	surplus, err := countSurplus(ctx, d, live, every)
	if err != nil {
		return nil, 0, err
	}
	d.tasks = nil
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		d.tasks = append(d.tasks, every[v]...)
		if v == sluice.Primary {
			d.primaryTasks = len(d.tasks)
		}
		for _, t := range every[v] {
			if t.Address == "" {
				continue
			}
			x := cloudmap.Task{ID: t.ID, Variant: v, Address: t.Address, Zone: t.Zone, Family: FamilyOf(t.Revision),
				Healthy: isHealthy(d, t), Age: taskAge(d, t),
				Group: t.StartedBy, Surplus: surplus[t.StartedBy]}
			if set := live.TaskSet(t.StartedBy); set != nil {
				x.ExternalID = set.ExternalID
			}
			x.BeingReplaced = v == sluice.Primary && leaves(t)
			all = append(all, x)
		}
	}
	d.tasksReadAt, d.stale = d.step.Clock.Now(), false
	return all, live.Desired, nil
}

// stoppedTasks returns those of the given primary tasks that have stopped or are stopping, if the
// stage may deregister them.
func (d *traffic) stoppedTasks(ctx context.Context, tasks []string) ([]string, error) {
	if !d.step.Stage.MayWrite(sluice.Write{Operation: "servicediscovery:DeregisterInstance",
		Resource: plan.PrimaryInstances}) {
		return nil, nil
	}
	return d.step.Client.StoppedTasks(ctx, tasks)
}

// FamilyOf returns the family of a revision.
func FamilyOf(revision string) string {
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
func isHealthy(d *traffic, t ecs.Task) bool {
	if t.Status != "RUNNING" || t.Health == "UNHEALTHY" {
		return false
	}
	checked := d.formerChecks
	if isNew(d, t) || t.Revision == d.step.Plan.To { // the same revision may be deployed again
		checked = d.step.Task.ContainersWithCheck()
	}
	for _, name := range checked {
		if t.Containers[name] != "HEALTHY" {
			return false
		}
	}
	return !slices.Contains(t.UnhealthyStates(), "UNHEALTHY")
}

// isNew reports whether the task is not of the former revision.
func isNew(d *traffic, t ecs.Task) bool {
	return d.step.Snapshot == nil || t.Revision != d.step.Snapshot.Revision
}

// isLeaving returns a check of the primary's tasks: whether a task is going to be stopped. In a
// rollback those are the tasks that the deployment created, otherwise those that served before.
func isLeaving(ctx context.Context, d *traffic, live *ecs.ServiceState) (func(ecs.Task) bool, error) {
	if d.step.IsRollback() {
		made, err := d.step.Hosting.ListCreated(ctx)
		return func(t ecs.Task) bool {
			return slices.ContainsFunc(made, func(m step.Member) bool { return m.ID == t.StartedBy })
		}, err
	}
	if old := d.step.OldPrimaryID(); old != "" {
		return func(t ecs.Task) bool { return t.StartedBy == old }, nil
	}
	now, _ := live.PrimaryDeployment()
	return func(t ecs.Task) bool { return now != "" && t.StartedBy != now }, nil
}

// registeredOf returns the registered instances of a member's tasks.
func registeredOf(ctx context.Context, d *traffic, m step.Member) ([]string, error) {
	if err := refreshTasks(ctx, d); err != nil {
		return nil, err
	}
	var ids []string
	for _, task := range taskIDsOf(d, m) {
		ids = append(ids, d.names.LastRead().InstancesOf(task)...)
	}
	return ids, nil
}

// taskIDsOf returns the IDs of a member's tasks, as of the last read.
func taskIDsOf(d *traffic, m step.Member) (ids []string) {
	for _, t := range d.tasks {
		if m.HasTask(t) {
			ids = append(ids, t.ID)
		}
	}
	return ids
}

// targetStates returns the member's tasks as targets for a verdict. A target is healthy if callers
// can be sent to its task. For a primary task this means that ECS has registered it, or that it is
// healthy and sluice keeps it deregistered.
func targetStates(ctx context.Context, d *traffic, m step.Member) ([]sluice.Target, error) {
	if err := refreshTasks(ctx, d); err != nil {
		return nil, err
	}
	all := []sluice.Target{}
	for _, t := range d.tasks {
		if !m.HasTask(t) {
			continue
		}
		x := sluice.Target{ID: t.Address, State: "initial", Description: "not registered under " +
			d.names.Instances.Registry.FullName() + " yet"}
		switch {
		case t.Health == "UNHEALTHY":
			x.State, x.Description = "unhealthy", "a container health check fails"
		case d.names.LastRead().IsUnhealthy(t.ID):
			x.State = "unhealthy"
			x.Description = "its instance under " + d.names.Instances.Registry.FullName() + " is UNHEALTHY"
		case isHealthy(d, t) && (m.Variant == sluice.Canary || d.names.IsDiscoverable(t.ID)):
			x.State, x.Description = "healthy", ""
		}
		all = append(all, x)
	}
	return all, nil
}
