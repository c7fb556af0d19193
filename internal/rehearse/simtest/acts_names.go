package simtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/rehearse"
)

// deregisterInstance deregisters the n-th registered instance, as a person would. It does so only
// if another instance is healthy: otherwise the person causes the lost requests.
func (f *simulation) deregisterInstance(n int) {
	f.env.InWorld(func(tx *world.Tx) {
		if i := f.removableInstance(tx, n); i != nil {
			tx.DeregisterInstance(i)
			f.recordTouch(tx, i.ID, false)
		}
	})
}

// removableInstance returns the n-th instance, if another one is healthy.
func (f *simulation) removableInstance(tx *world.Tx, n int) *world.Instance {
	r, ok := tx.Registries.Get(f.env.Case.World.RegistryARN())
	ids := f.env.RegisteredIDs(tx)
	if !ok || len(ids) < 2 {
		return nil
	}
	i, _ := r.Instances.Get(ids[n%len(ids)])
	if slices.ContainsFunc(r.Instances.Values(), func(o *world.Instance) bool {
		return o != i &&
			o.Health == "HEALTHY"
	}) {
		return i
	}
	return nil
}

// hasHealthySibling reports whether another task of the same primary version is healthy. Sluice
// could not return traffic to a version whose only task another actor set to UNHEALTHY.
func (f *simulation) hasHealthySibling(tx *world.Tx, i *world.Instance) bool {
	r, _ := tx.Registries.Get(f.env.Case.World.RegistryARN())
	of := f.env.TaskOf(tx, i.ID)
	return of != nil && slices.ContainsFunc(r.Instances.Values(), func(o *world.Instance) bool {
		t := f.env.TaskOf(tx, o.ID)
		return o != i && o.Health == "HEALTHY" && t != nil && t.Set == of.Set
	})
}

// registerAddress registers an address that belongs to no task.
func (f *simulation) registerAddress() {
	f.env.InWorld(func(tx *world.Tx) {
		if r, ok := tx.Registries.Get(f.env.Case.World.RegistryARN()); ok {
			tx.RegisterInstance(r, "by-hand", map[string]string{world.AttributeIPv4: "10.255.255.1"})
		}
	})
}

// registerTask registers a healthy primary task that is deregistered, without the attributes that
// ECS sets. It skips a task that fails its container health check: its instance would be HEALTHY,
// and requests would fail before sluice could poll.
func (f *simulation) registerTask() {
	f.env.InWorld(func(tx *world.Tx) {
		r, ok := tx.Registries.Get(f.env.Case.World.RegistryARN())
		s := f.env.FindService(tx)
		if !ok || s == nil || s.Primary() == nil {
			return
		}
		for _, t := range s.Primary().Tasks {
			if _, there := r.Instances.Get(t.ID); !there && t.IsRunning() && passesChecks(t) {
				tx.RegisterInstance(r, t.ID, map[string]string{world.AttributeIPv4: t.Address.String(),
					world.AttributePort: fmt.Sprint(f.env.Case.World.Port)})
				f.recordTouch(tx, t.ID, true)
				return
			}
		}
	})
}

// passesChecks reports whether every container of the task that has a health check is
// HEALTHY.
func passesChecks(t *world.Task) bool {
	return !slices.ContainsFunc(t.Containers, func(c *world.Container) bool {
		return c.Spec.Health != nil &&
			c.Health != "HEALTHY"
	})
}

// setUnhealthy sets the n-th instance to UNHEALTHY in Cloud Map, if others are healthy.
func (f *simulation) setUnhealthy(n int) {
	f.env.InWorld(func(tx *world.Tx) {
		if i := f.removableInstance(tx, n); i != nil &&
			(rehearse.IsSluiceInstance(i.ID) || f.hasHealthySibling(tx, i)) {
			f.env.Sim.Registry().SetCustomHealth(tx, i, "UNHEALTHY")
		}
	})
}

// touchedRecord is an instance that another actor deregistered or registered while sluice polled.
type touchedRecord struct {
	id         string
	registered bool
	at         time.Time
}

// recordTouch records another actor's change of an instance if sluice must detect it. The task must
// have run so long that ECS must have registered it, and ECS must not register it again by itself. An
// instance that sluice deregisters at the same time ends as sluice wants it.
func (f *simulation) recordTouch(tx *world.Tx, id string, in bool) {
	const enrolled = 2 * time.Minute
	if !in && (f.env.Case.World.Naming.Restores || f.deregistering[id]) {
		return
	}
	t := f.env.TaskOf(tx, id)
	if t != nil && f.env.Case.IsAttentive() && !f.rollbackBegun && f.env.Case.Interventions[0].Stage > 0 &&
		tx.Now().Sub(t.StartedAt) > enrolled {
		f.touched = touchedRecord{id, in, tx.Now()}
	}
}

// checkRecordNoticed checks that sluice reports another actor's change of an instance within two
// polls (P6).
func (f *simulation) checkRecordNoticed(e sluice.Envelope) {
	t := f.touched
	switch ev := e.Open().(type) {
	case sluice.RollbackStarted:
		f.rollbackBegun = true // a rollback does not compare instances
	case sluice.Writing:
		f.trackDeregistration(ev.Write)
	}
	if t.id == "" {
		return
	}
	if rehearse.ReportsExternalChange(e) {
		f.touched = touchedRecord{}
		return
	}
	late := e.At.Sub(t.at)
	if late <= rehearse.MaxNoticeDelay {
		return
	}
	f.touched = touchedRecord{}
	f.env.InWorld(func(tx *world.Tx) {
		if f.env.TaskOf(tx, t.id) != nil {
			f.report.AddViolation("P6", "an external change of instance %s was not detected for %s, in %s", t.id, late,
				e.Stage)
		}
	})
}

// trackDeregistration records which instances sluice has asked Cloud Map to deregister.
func (f *simulation) trackDeregistration(w sluice.Write) {
	id := w.Resource[strings.LastIndexByte(w.Resource, '/')+1:]
	switch w.Operation {
	case "servicediscovery:DeregisterInstance":
		f.deregistering[id] = true
	case "servicediscovery:RegisterInstance":
		delete(f.deregistering, id)
	}
}
