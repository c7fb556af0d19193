package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/loadgen"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// The registered instances of a Cloud Map name, and interventions on them.

// callerReports returns the results of all callers' requests.
func (f *rehearsal) callerReports() (all []loadgen.Report) {
	for _, t := range f.tallies {
		all = append(all, t.Report())
	}
	for _, t := range f.nameTallies {
		r := t.Report()
		all = append(all, r.Report)
		for _, b := range r.Outages {
			f.nameOutages = append(f.nameOutages, fmt.Sprintf("%s to %s after the start: %s",
				b.From.Sub(f.startedAt).Round(time.Second), b.Till.Sub(f.startedAt).Round(time.Second), b.Why))
		}
	}
	return all
}

// checkNameServed checks that the name is never empty and never resolves to stopped tasks only
// (P1).
func (f *rehearsal) checkNameServed() {
	if len(f.nameOutages) > 0 && !f.mayLoseRequests() {
		f.addViolation("P1", "the name had no usable record: %s", strings.Join(f.nameOutages, "; "))
	}
}

// registeredIDs returns the sorted IDs of the registered instances.
func (f *rehearsal) registeredIDs(tx *world.Tx) (ids []string) {
	if r, ok := tx.Registries.Get(f.World.registryARN()); ok {
		ids = r.Instances.Keys()
	}
	slices.Sort(ids)
	return ids
}

// checkRegistered checks that exactly the serving tasks are registered, as ECS registers them (P3).
func (f *rehearsal) checkRegistered(tx *world.Tx, s *world.Service) {
	if !f.World.usesCloudMap() || f.hasSecondSluice() {
		return
	}
	if n := f.registeredSplit(tx).Canary; n > 0 {
		f.addViolation("P3", "%d instances of the canary are still registered", n)
	}
	if f.hasDeregistration() || f.hasIntervention(RegisterAddress) {
		return
	}
	var want []string
	if p := s.Primary(); p != nil {
		for _, t := range p.Tasks {
			if t.IsRunning() {
				want = append(want, t.ID)
			}
		}
	}
	slices.Sort(want)
	if got := f.registeredIDs(tx); !slices.Equal(got, want) && !f.mayLoseRequests() {
		f.addViolation("P3", "%v are registered; %v serve", got, want)
	}
	f.checkAttributes(tx)
}

// checkAttributes checks that the attributes of each instance equal those that ECS sets (P3).
func (f *rehearsal) checkAttributes(tx *world.Tx) {
	r, ok := tx.Registries.Get(f.World.registryARN())
	if !ok || f.hasIntervention(RegisterTask) || f.hasIntervention(RegisterAddress) {
		return
	}
	for _, i := range r.Instances.Values() {
		t := f.taskOf(tx, i.ID)
		if t == nil {
			continue
		}
		want := map[string]string{world.AttributeIPv4: t.Address.String(), "AVAILABILITY_ZONE": t.Zone,
			"REGION": f.World.Region, "ECS_SERVICE_NAME": f.World.Service,
			"ECS_CLUSTER_NAME": f.World.Cluster, "ECS_TASK_DEFINITION_FAMILY": t.Definition.Family}
		if f.World.Naming.Records == "SRV" {
			want[world.AttributePort] = fmt.Sprint(f.World.Port)
		}
		if id := t.Set.ExternalID; id != "" {
			want["ECS_TASK_SET_EXTERNAL_ID"] = id
		}
		for k, v := range want {
			if i.Attributes[k] != v {
				f.addViolation("P3", "instance %s has %s=%q; ECS sets %q", i.ID, k, i.Attributes[k], v)
			}
		}
	}
}

// hasDeregistration reports whether another actor deregisters an instance, and sluice does not
// revert that or no longer polls.
func (f *rehearsal) hasDeregistration() bool {
	undone := f.OutsidePolicy == "reassert" && f.result.Outcome == sluice.Succeeded &&
		(f.World.Controller != "ECS" || f.hasCanaryService())
	return slices.ContainsFunc(f.Interventions, func(h Intervention) bool {
		watched := h.Stage > 0 && h.At == 0 && h.Stage < len(f.Pipeline)
		return strings.HasPrefix(h.Does, DeregisterInstance) && !(undone && watched)
	})
}

// isSluiceInstance reports whether sluice registered an instance.
func isSluiceInstance(id string) bool { return strings.HasPrefix(id, plan.IDPrefix) }

// registeredText returns the number of registered tasks, for the state of a service.
func (f *rehearsal) registeredText(tx *world.Tx) string {
	s := f.registeredSplit(tx)
	return fmt.Sprintf("%d of the primary registered, %d of the canary", s.Primary, s.Canary)
}

// deregisterInstance deregisters the n-th registered instance, as a person would. It does so only
// if another instance is healthy: otherwise the person causes the lost requests.
func (f *rehearsal) deregisterInstance(n int) {
	f.inWorld(func(tx *world.Tx) {
		if i := f.removableInstance(tx, n); i != nil {
			tx.DeregisterInstance(i)
			f.recordTouch(tx, i.ID, false)
		}
	})
}

// removableInstance returns the n-th instance, if another one is healthy.
func (f *rehearsal) removableInstance(tx *world.Tx, n int) *world.Instance {
	r, ok := tx.Registries.Get(f.World.registryARN())
	ids := f.registeredIDs(tx)
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
func (f *rehearsal) hasHealthySibling(tx *world.Tx, i *world.Instance) bool {
	r, _ := tx.Registries.Get(f.World.registryARN())
	of := f.taskOf(tx, i.ID)
	return of != nil && slices.ContainsFunc(r.Instances.Values(), func(o *world.Instance) bool {
		t := f.taskOf(tx, o.ID)
		return o != i && o.Health == "HEALTHY" && t != nil && t.Set == of.Set
	})
}

// registerAddress registers an address that belongs to no task.
func (f *rehearsal) registerAddress() {
	f.inWorld(func(tx *world.Tx) {
		if r, ok := tx.Registries.Get(f.World.registryARN()); ok {
			tx.RegisterInstance(r, "by-hand", map[string]string{world.AttributeIPv4: "10.255.255.1"})
		}
	})
}

// registerTask registers a healthy primary task that is deregistered, without the attributes that
// ECS sets. It skips a task that fails its container health check: its instance would be HEALTHY,
// and requests would fail before sluice could poll.
func (f *rehearsal) registerTask() {
	f.inWorld(func(tx *world.Tx) {
		r, ok := tx.Registries.Get(f.World.registryARN())
		s := f.findService(tx)
		if !ok || s == nil || s.Primary() == nil {
			return
		}
		for _, t := range s.Primary().Tasks {
			if _, there := r.Instances.Get(t.ID); !there && t.IsRunning() && passesChecks(t) {
				tx.RegisterInstance(r, t.ID, map[string]string{world.AttributeIPv4: t.Address.String(),
					world.AttributePort: fmt.Sprint(f.World.Port)})
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
func (f *rehearsal) setUnhealthy(n int) {
	f.inWorld(func(tx *world.Tx) {
		if i := f.removableInstance(tx, n); i != nil && (isSluiceInstance(i.ID) || f.hasHealthySibling(tx, i)) {
			f.sim.Registry().SetCustomHealth(tx, i, "UNHEALTHY")
		}
	})
}
