package scheduler

import (
	"strconv"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// registration is the scheduler's state of a task's Cloud Map instances.
type registration struct {
	made bool        // the task has been registered
	next world.Event // the pending registration or health report
}

// registerInCloudMap registers a RUNNING task with the registries of its set. A task with a
// container health check is registered immediately as UNHEALTHY and becomes HEALTHY with the task.
// Any other task is registered as HEALTHY after the setting RegistrationGap.
func registerInCloudMap(tx *world.Tx, t *world.Task) {
	if t.Set == nil || len(t.Set.Registries) == 0 {
		return
	}
	if isChecked(t) {
		registerTask(tx, t)
		return
	}
	afterRegistrationGap(tx, t, func(tx *world.Tx) { registerTask(tx, t) })
}

// afterRegistrationGap calls f after the setting RegistrationGap, if the task still runs.
func afterRegistrationGap(tx *world.Tx, t *world.Task, f func(*world.Tx)) {
	n, k := &stateOfTask(t).registration, tx.Settings().RegistrationGap
	tx.Cancel(n.next)
	d := tx.RandomBetween(k.Min, k.Max, "registration gap", t.ID, int(t.Version))
	if d == 0 {
		f(tx)
		return
	}
	n.next = tx.After(d, func(tx *world.Tx) {
		if t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" {
			f(tx)
		}
	})
}

// registerTask registers a task with each registry of its set that lacks it.
func registerTask(tx *world.Tx, t *world.Task) {
	stateOfTask(t).registration.made = true
	for _, e := range t.Set.Registries {
		r, ok := tx.Registries.Get(e.Registry)
		if !ok {
			continue
		}
		if _, there := r.Instances.Get(t.ID); !there {
			tx.RegisterInstance(r, t.ID, instanceAttributes(tx, t, r, e))
		}
	}
	scheduleReconcile(tx, t.Service)
}

// instanceAttributes returns the attributes that ECS gives an instance (Developer Guide, "Use
// service discovery to connect Amazon ECS services with DNS names").
func instanceAttributes(tx *world.Tx, t *world.Task, r *world.Registry, e world.RegistryAttachment) map[string]string {
	a := map[string]string{
		world.AttributeIPv4: t.Address.String(), "AVAILABILITY_ZONE": t.Zone, "REGION": tx.Key.Region,
		"ECS_SERVICE_NAME": t.Service.Name, "ECS_CLUSTER_NAME": t.Cluster.Name,
		"ECS_TASK_DEFINITION_FAMILY": t.Definition.Family,
	}
	if e.Port != 0 {
		a[world.AttributePort] = strconv.Itoa(int(t.PublishedPort(e.Container, e.Port)))
	}
	if t.Instance != nil {
		a["EC2_INSTANCE_ID"] = t.Instance.ID
	}
	if t.Set.ExternalID != "" {
		a["ECS_TASK_SET_EXTERNAL_ID"] = t.Set.ExternalID
	}
	if r.HasCustomHealth {
		a[world.AttributeInit] = "HEALTHY"
		if isChecked(t) && worstCheckedHealth(t) != "HEALTHY" {
			a[world.AttributeInit] = "UNHEALTHY"
		}
	}
	return a
}

// deregisterTask deregisters the instances with the task's id, whoever registered them. It does not
// wait for callers that still cache the address.
func deregisterTask(tx *world.Tx, t *world.Task) {
	tx.Cancel(stateOfTask(t).registration.next)
	for _, i := range registeredInstances(tx, t) {
		tx.DeregisterInstance(i)
	}
}

// registeredInstances returns the registered instances of a task.
func registeredInstances(tx *world.Tx, t *world.Task) (all []*world.Instance) {
	if t.Set == nil {
		return nil
	}
	for _, e := range t.Set.Registries {
		if r, ok := tx.Registries.Get(e.Registry); ok {
			if i, there := r.Instances.Get(t.ID); there {
				all = append(all, i)
			}
		}
	}
	return all
}

// countRegistries returns how many of a set's registries exist.
func countRegistries(tx *world.Tx, ts *world.TaskSet) (n int) {
	for _, e := range ts.Registries {
		if _, ok := tx.Registries.Get(e.Registry); ok {
			n++
		}
	}
	return n
}

// reportHealth reports the health of a task with container health checks to Cloud Map.
func reportHealth(tx *world.Tx, t *world.Task) {
	if t.Set == nil || len(t.Set.Registries) == 0 || !isChecked(t) || t.LastStatus != "RUNNING" {
		return
	}
	switch worstCheckedHealth(t) {
	case "UNHEALTHY":
		setInstanceHealth(tx, t, "UNHEALTHY")
	case "HEALTHY":
		afterRegistrationGap(tx, t, func(tx *world.Tx) {
			if worstCheckedHealth(t) == "HEALTHY" {
				setInstanceHealth(tx, t, "HEALTHY")
			}
		})
	}
}

// worstCheckedHealth returns the worst health of the essential containers that have a health check.
// Other essential containers keep a task at UNKNOWN; scheduler and Cloud Map ignore them.
func worstCheckedHealth(t *world.Task) string {
	health := "HEALTHY"
	for _, c := range t.Containers {
		switch {
		case c.Spec.Health == nil, !c.Spec.Essential:
		case c.Health == "UNHEALTHY":
			return "UNHEALTHY"
		case c.Health != "HEALTHY":
			health = "UNKNOWN"
		}
	}
	return health
}

func setInstanceHealth(tx *world.Tx, t *world.Task, health string) {
	for _, i := range registeredInstances(tx, t) {
		tx.SetInstanceHealth(i, health)
	}
}

// isRegistered reports whether the Cloud Map instances of a running task are HEALTHY. With the
// setting ECSRestoresInstances a missing instance counts as well; AWS does not document this.
func isRegistered(tx *world.Tx, t *world.Task) bool {
	if t.Set == nil || len(t.Set.Registries) == 0 {
		return true
	}
	all := registeredInstances(tx, t)
	for _, i := range all {
		if i.Health != "HEALTHY" {
			return false
		}
	}
	if tx.Settings().ECSRestoresInstances || !stateOfTask(t).registration.made {
		return len(all) == countRegistries(tx, t.Set)
	}
	return true
}

// instanceChanged schedules the service whose task is registered as the instance.
func instanceChanged(tx *world.Tx, i *world.Instance) {
	t, ok := tx.Tasks.Get(tx.ARN("ecs", "task/"+i.Attributes["ECS_CLUSTER_NAME"]+"/"+i.ID))
	if ok && t.Service != nil {
		scheduleReconcile(tx, t.Service)
	}
}

// restoreInstances registers the instances of running tasks again that another actor deregistered.
func restoreInstances(tx *world.Tx, svc *world.Service) {
	if !tx.Settings().ECSRestoresInstances {
		return
	}
	for _, ts := range svc.TaskSets {
		for _, t := range ts.Tasks {
			if t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" && stateOfTask(t).registration.made &&
				len(registeredInstances(tx, t)) < countRegistries(tx, ts) {
				registerTask(tx, t)
			}
		}
	}
}
