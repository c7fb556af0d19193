package scheduler

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// registration is the scheduler's state of a task's Cloud Map instances.
type record struct {
	made bool        // the task has been registered
	next world.Event // the pending registration or health report
}

// registerInCloudMap registers a RUNNING task with the registries of its set. A task with a
// container health check is registered immediately as UNHEALTHY and becomes HEALTHY with the task.
// Any other task is registered as HEALTHY after the setting RegistrationGap.
func (s *Scheduler) enrol(tx *world.Tx, t *world.Task) {
	if t.Set == nil || len(t.Set.Enrolled) == 0 {
		return
	}
	if isChecked(t) {
		s.putIn(tx, t)
		return
	}
	s.gap(tx, t, func(tx *world.Tx) { s.putIn(tx, t) })
}

// afterRegistrationGap calls f after the setting RegistrationGap, if the task still runs.
func (s *Scheduler) gap(tx *world.Tx, t *world.Task, f func(*world.Tx)) {
	n, k := &taskNote(t).record, tx.Knobs().RegistrationGap
	tx.Cancel(n.next)
	d := tx.Between(k.Min, k.Max, "registration gap", t.ID, int(t.Version))
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
func (s *Scheduler) putIn(tx *world.Tx, t *world.Task) {
	taskNote(t).record.made = true
	for _, e := range t.Set.Enrolled {
		r, ok := tx.Registries.Get(e.Registry)
		if !ok {
			continue
		}
		if _, there := r.Instances.Get(t.ID); !there {
			tx.Enrol(r, t.ID, attributesOf(tx, t, r, e))
		}
	}
	s.poke(tx, t.Service)
}

// instanceAttributes returns the attributes that ECS gives an instance (Developer Guide, "Use
// service discovery to connect Amazon ECS services with DNS names").
func attributesOf(tx *world.Tx, t *world.Task, r *world.Registry, e world.Enrolment) map[string]string {
	a := map[string]string{
		world.AttributeIPv4: t.Address.String(), "AVAILABILITY_ZONE": t.Zone, "REGION": tx.Key.Region,
		"ECS_SERVICE_NAME": t.Service.Name, "ECS_CLUSTER_NAME": t.Cluster.Name, "ECS_TASK_DEFINITION_FAMILY": t.Definition.Family,
	}
	if e.Port != 0 {
		a[world.AttributePort] = strconv.Itoa(int(e.Port))
	}
	if t.LaunchType == "EC2" {
		a["EC2_INSTANCE_ID"] = hostOf(t)
	}
	if t.Set.ExternalID != "" {
		a["ECS_TASK_SET_EXTERNAL_ID"] = t.Set.ExternalID
	}
	if r.Custom {
		a[world.AttributeInit] = "HEALTHY"
		if isChecked(t) && worstCheck(t) != "HEALTHY" {
			a[world.AttributeInit] = "UNHEALTHY"
		}
	}
	return a
}

// hostID returns the id of the instance that runs a task of launch type EC2. A cluster has one
// instance in each zone.
func hostOf(t *world.Task) string {
	sum := sha256.Sum256([]byte(t.Cluster.Name + " " + t.Zone))
	return "i-" + hex.EncodeToString(sum[:])[:17]
}

// deregisterTask deregisters the instances with the task's id, whoever registered them. It does not
// wait for callers that still cache the address.
func (s *Scheduler) takeOut(tx *world.Tx, t *world.Task) {
	tx.Cancel(taskNote(t).record.next)
	for _, i := range recordsOf(tx, t) {
		tx.Withdraw(i)
	}
}

// registeredInstances returns the registered instances of a task.
func recordsOf(tx *world.Tx, t *world.Task) (all []*world.Instance) {
	if t.Set == nil {
		return nil
	}
	for _, e := range t.Set.Enrolled {
		if r, ok := tx.Registries.Get(e.Registry); ok {
			if i, there := r.Instances.Get(t.ID); there {
				all = append(all, i)
			}
		}
	}
	return all
}

// countRegistries returns how many of a set's registries exist.
func places(tx *world.Tx, ts *world.TaskSet) (n int) {
	for _, e := range ts.Enrolled {
		if _, ok := tx.Registries.Get(e.Registry); ok {
			n++
		}
	}
	return n
}

// reportHealth reports the health of a task with container health checks to Cloud Map.
func (s *Scheduler) vouch(tx *world.Tx, t *world.Task) {
	if t.Set == nil || len(t.Set.Enrolled) == 0 || !isChecked(t) || t.LastStatus != "RUNNING" {
		return
	}
	switch worstCheck(t) {
	case "UNHEALTHY":
		s.tellRecords(tx, t, "UNHEALTHY")
	case "HEALTHY":
		s.gap(tx, t, func(tx *world.Tx) {
			if worstCheck(t) == "HEALTHY" {
				s.tellRecords(tx, t, "HEALTHY")
			}
		})
	}
}

// worstCheckedHealth returns the worst health of the containers that have a health check. Other
// containers keep a task at UNKNOWN; Cloud Map ignores them.
func worstCheck(t *world.Task) string {
	health := "HEALTHY"
	for _, c := range t.Containers {
		switch {
		case c.Spec.Health == nil:
		case c.Health == "UNHEALTHY":
			return "UNHEALTHY"
		case c.Health != "HEALTHY":
			health = "UNKNOWN"
		}
	}
	return health
}

func (s *Scheduler) tellRecords(tx *world.Tx, t *world.Task, health string) {
	for _, i := range recordsOf(tx, t) {
		tx.SetInstanceHealth(i, health)
	}
}

// isRegistered reports whether the Cloud Map instances of a running task are HEALTHY. With the
// setting ECSRestoresInstances a missing instance counts as well; AWS does not document this.
func isFound(tx *world.Tx, t *world.Task) bool {
	if t.Set == nil || len(t.Set.Enrolled) == 0 {
		return true
	}
	all := recordsOf(tx, t)
	for _, i := range all {
		if i.Health != "HEALTHY" {
			return false
		}
	}
	if tx.Knobs().ECSRestoresInstances || !taskNote(t).record.made {
		return len(all) == places(tx, t.Set)
	}
	return true
}

// instanceChanged schedules the service whose task is registered as the instance.
func (s *Scheduler) instanceChanged(tx *world.Tx, i *world.Instance) {
	t, ok := tx.Tasks.Get(tx.ARN("ecs", "task/"+i.Attributes["ECS_CLUSTER_NAME"]+"/"+i.ID))
	if ok && t.Service != nil {
		s.poke(tx, t.Service)
	}
}

// restoreInstances registers the instances of running tasks again that another actor deregistered.
func (s *Scheduler) restore(tx *world.Tx, svc *world.Service) {
	if !tx.Knobs().ECSRestoresInstances {
		return
	}
	for _, ts := range svc.TaskSets {
		for _, t := range ts.Tasks {
			if t.LastStatus == "RUNNING" && t.DesiredStatus == "RUNNING" && taskNote(t).record.made && len(recordsOf(tx, t)) < places(tx, ts) {
				s.putIn(tx, t)
			}
		}
	}
}
