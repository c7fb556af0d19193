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
func (f *Rehearsal) callerReports() (all []loadgen.Report) {
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
func (f *Rehearsal) checkNameServed() {
	if len(f.nameOutages) > 0 && !f.MayLoseRequests() {
		f.AddViolation("P1", "the name had no usable record: %s", strings.Join(f.nameOutages, "; "))
	}
}

// RegisteredIDs returns the sorted IDs of the registered instances.
func (f *Rehearsal) RegisteredIDs(tx *world.Tx) (ids []string) {
	if r, ok := tx.Registries.Get(f.World.RegistryARN()); ok {
		ids = r.Instances.Keys()
	}
	slices.Sort(ids)
	return ids
}

// checkRegistered checks that exactly the serving tasks are registered, as ECS registers them (P3).
func (f *Rehearsal) checkRegistered(tx *world.Tx, s *world.Service) {
	if !f.World.UsesCloudMap() || f.HasSecondSluice() {
		return
	}
	if n := f.registeredSplit(tx).Canary; n > 0 {
		f.AddViolation("P3", "%d instances of the canary are still registered", n)
	}
	if f.hasDeregistration() || f.HasIntervention(RegisterAddress) {
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
	if got := f.RegisteredIDs(tx); !slices.Equal(got, want) && !f.MayLoseRequests() {
		f.AddViolation("P3", "%v are registered; %v serve", got, want)
	}
	f.checkAttributes(tx)
}

// checkAttributes checks that the attributes of each instance equal those that ECS sets (P3).
func (f *Rehearsal) checkAttributes(tx *world.Tx) {
	r, ok := tx.Registries.Get(f.World.RegistryARN())
	if !ok || f.HasIntervention(RegisterTask) || f.HasIntervention(RegisterAddress) {
		return
	}
	for _, i := range r.Instances.Values() {
		t := f.TaskOf(tx, i.ID)
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
				f.AddViolation("P3", "instance %s has %s=%q; ECS sets %q", i.ID, k, i.Attributes[k], v)
			}
		}
	}
}

// hasDeregistration reports whether another actor deregisters an instance, and sluice does not
// revert that or no longer polls.
func (f *Rehearsal) hasDeregistration() bool {
	undone := f.OutsidePolicy == "reassert" && f.Result.Outcome == sluice.Succeeded &&
		(f.World.Controller != "ECS" || f.HasCanaryService())
	return slices.ContainsFunc(f.Interventions, func(h Intervention) bool {
		watched := h.Stage > 0 && h.At == 0 && h.Stage < len(f.Pipeline)
		return strings.HasPrefix(h.Does, DeregisterInstance) && !(undone && watched)
	})
}

// IsSluiceInstance reports whether sluice registered an instance.
func IsSluiceInstance(id string) bool { return strings.HasPrefix(id, plan.IDPrefix) }

// registeredText returns the number of registered tasks, for the state of a service.
func (f *Rehearsal) registeredText(tx *world.Tx) string {
	s := f.registeredSplit(tx)
	return fmt.Sprintf("%d of the primary registered, %d of the canary", s.Primary, s.Canary)
}
