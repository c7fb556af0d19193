package rehearse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// recordChecks checks which tasks are registered under the name.
type recordChecks struct {
	env        *Environment
	report     *Report
	deployment *Deployment
	seconds    *SecondSluices
}

// The registered instances of a Cloud Map name, and interventions on them.

// checkRegistered checks that exactly the serving tasks are registered, as ECS registers them (P3).
func (c *recordChecks) checkRegistered(tx *world.Tx, s *world.Service) {
	if !c.env.Case.World.UsesCloudMap() || c.seconds.Exist() {
		return
	}
	if n := c.env.registeredSplit(tx).Canary; n > 0 {
		c.report.AddViolation("P3", "%d instances of the canary are still registered", n)
	}
	if c.hasDeregistration() || c.env.Case.HasIntervention(RegisterAddress) {
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
	if got := c.env.RegisteredIDs(tx); !slices.Equal(got, want) && !c.env.Case.MayLoseRequests() {
		c.report.AddViolation("P3", "%v are registered; %v serve", got, want)
	}
	c.checkAttributes(tx)
}

// checkAttributes checks that the attributes of each instance equal those that ECS sets (P3).
func (c *recordChecks) checkAttributes(tx *world.Tx) {
	r, ok := tx.Registries.Get(c.env.Case.World.RegistryARN())
	if !ok || c.env.Case.HasIntervention(RegisterTask) || c.env.Case.HasIntervention(RegisterAddress) {
		return
	}
	for _, i := range r.Instances.Values() {
		t := c.env.TaskOf(tx, i.ID)
		if t == nil {
			continue
		}
		want := map[string]string{world.AttributeIPv4: t.Address.String(), "AVAILABILITY_ZONE": t.Zone,
			"REGION": c.env.Case.World.Region, "ECS_SERVICE_NAME": c.env.Case.World.Service,
			"ECS_CLUSTER_NAME": c.env.Case.World.Cluster, "ECS_TASK_DEFINITION_FAMILY": t.Definition.Family}
		if c.env.Case.World.Naming.Records == "SRV" {
			want[world.AttributePort] = fmt.Sprint(c.env.Case.World.Port)
		}
		if id := t.Set.ExternalID; id != "" {
			want["ECS_TASK_SET_EXTERNAL_ID"] = id
		}
		for k, v := range want {
			if i.Attributes[k] != v {
				c.report.AddViolation("P3", "instance %s has %s=%q; ECS sets %q", i.ID, k, i.Attributes[k], v)
			}
		}
	}
}

// hasDeregistration reports whether another actor deregisters an instance, and sluice does not
// revert that or no longer polls.
func (c *recordChecks) hasDeregistration() bool {
	undone := c.env.Case.OutsidePolicy == "reassert" && c.report.Result.Outcome == sluice.Succeeded &&
		(c.env.Case.World.Controller != "ECS" || c.env.Case.HasCanaryService())
	return slices.ContainsFunc(c.env.Case.Interventions, func(h Intervention) bool {
		watched := h.Stage > 0 && h.At == 0 && h.Stage < len(c.env.Case.Pipeline)
		return strings.HasPrefix(h.Does, DeregisterInstance) && !(undone && watched)
	})
}

// checkShift checks that a reported shift has happened: the name resolves to the tasks in the plan,
// and to no deregistered one (P4).
func (c *recordChecks) checkShift(e sluice.Envelope, ev sluice.TrafficShifted) {
	if !c.env.Case.World.UsesCloudMap() || len(c.env.Case.Interventions) > 0 || c.env.Case.IsUnsteady() ||
		c.env.Case.keepsRestored() {
		return
	}
	share := c.deployment.shareOf(e.Stage)
	if share != nil && share.Deregistered > 0 && c.env.Case.World.Naming.Restores {
		c.report.AddViolation("P4", "a share of %d%% is reported, but ECS registers the %d deregistered tasks of the "+
			"primary again", ev.ToCanary, share.Deregistered)
	}
	c.env.InWorld(func(tx *world.Tx) {
		c.checkAttributes(tx)
		s := c.env.registeredSplit(tx)
		switch {
		case ev.ToCanary == 0 && s.Canary > 0, ev.ToPrimary == 0 && s.Primary > 0,
			ev.ToCanary > 0 && ev.ToPrimary > 0 && share != nil && s != share.Tasks:
			c.report.AddViolation("P4", "a share of %d%% is reported, but %d of the primary and %d of the canary are "+
				"registered", ev.ToCanary, s.Primary, s.Canary)
		}
	})
}
