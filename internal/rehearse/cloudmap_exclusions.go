package rehearse

import (
	"slices"
	"strings"
	"time"
)

// The promises that a case with a Cloud Map name makes impossible to keep.

// mayLoseRequestsByName reports whether callers by name lose requests in any deployment. ECS scales
// in and rolls without waiting for callers that cache the address, so images must serve on after
// SIGTERM. An invented address reaches no task.
func (c Case) mayLoseRequestsByName() bool {
	return c.World.UsesCloudMap() && (c.HasIntervention(RegisterAddress) || c.stopsAtOnce() && !c.servesAfterStop() ||
		c.hasStaleRecords() || c.IsRegisteredEarly() || c.replacesSlowTasks() && !c.servesAfterStop())
}

// replacesSlowTasks reports whether ECS replaces tasks that become healthy later than three failed checks of
// their container allow, and starts the replacements late, because it starts few tasks a minute. The replaced
// tasks are then healthy and registered too, and ECS stops those that it has too many. No deployment can
// prevent that.
func (c Case) replacesSlowTasks() bool {
	return c.World.Lags.Starts > 0 && c.World.Check > 0 &&
		max(c.bootTime(c.Old), c.bootTime(c.New)) > 3*c.World.Check
}

// bootTime returns how long after its start a version becomes healthy.
func (c Case) bootTime(options string) time.Duration {
	return max(c.World.Boot, durationOption(options, "healthy-after"))
}

// IsRegisteredEarly reports whether a version is registered before it answers, because it has no
// container health check. ECS then registers a task HEALTHY right after its start. Neither AWS nor
// a deployment detects when it answers.
//
// "Cloud Map registration starts UNHEALTHY and becomes HEALTHY when the container health checks
// pass; without a container check right after start" (ECS Developer Guide, "Service discovery").
func (c Case) IsRegisteredEarly() bool {
	return c.World.Check == 0 && (c.World.Boot > 0 || c.HasNewOption("healthy-after"))
}

// stopsAtOnce reports whether ECS or another actor may stop a task while callers cache its address.
// If ECS registers deregistered instances again, sluice cannot prevent that for primary tasks.
func (c Case) stopsAtOnce() bool {
	return c.World.Controller == "ECS" && !c.rollsWithoutTraffic() || c.World.Scaling.IsActive() ||
		c.HasIntervention(SetDesiredCount) || c.HasIntervention(ScaleCanary) || c.HasIntervention(RegisterTask) ||
		c.World.Naming.Restores
}

// rollsWithoutTraffic reports whether ECS rolls the primary, forward and back, while only the
// canary is registered. On the way back this needs capacity for a canary of the former version.
func (c Case) rollsWithoutTraffic() bool {
	alone := slices.ContainsFunc(c.Pipeline, func(s string) bool { return strings.HasSuffix(s, " canary=100") })
	return alone && !c.HasFault("no-capacity", "slow-start", "failed-operation") &&
		!c.HasIntervention(DeregisterInstance)
}

// hasStaleRecords reports whether another actor or auto scaling stops canary tasks while sluice may
// not run to deregister them.
func (c Case) hasStaleRecords() bool {
	stops := c.HasIntervention(ScaleCanary) || c.HasIntervention(SetDesiredCount) || c.World.Scaling.IsActive()
	return stops && len(c.Kills)+len(c.Faults)+c.FullDisk.Row > 0
}

// servesAfterStop reports whether both versions answer after SIGTERM until no caller uses their
// address.
func (c Case) servesAfterStop() bool {
	for _, options := range []string{c.Old, c.New} {
		if c.termTime(options) < c.AddressCacheTime() && !strings.Contains(options, "ignores-term") {
			return false
		}
	}
	return true
}

// termTime returns how long a version answers after SIGTERM.
func (c Case) termTime(options string) time.Duration {
	if d := durationOption(options, "term"); d > 0 {
		return d
	}
	return c.World.Stop
}

// durationOption returns the value of an option of a version; 0 if it does not have the option.
func durationOption(options, name string) time.Duration {
	for _, o := range strings.Split(options, "&") {
		if v, ok := strings.CutPrefix(o, name+"="); ok {
			d, _ := time.ParseDuration(v)
			return d
		}
	}
	return 0
}

// AddressCacheTime returns how long callers may use an address after ECS stopped its task: ECS
// deregisters the instance at the same time. Name servers may follow a change late.
func (c Case) AddressCacheTime() time.Duration {
	return c.World.TTL + c.World.Lags.Names + 15*time.Second
}

// isUndisturbed reports whether only the deployment itself changes the registered instances.
func (c Case) isUndisturbed() bool {
	return c.World.UsesCloudMap() && len(c.Interventions)+len(c.Faults)+len(c.Kills) == 0 && c.FullDisk.Row == 0 &&
		!c.IsUnsteady() && !c.MustFail() && !c.keepsRestored()
}

// keepsRestored reports whether ECS registers deregistered instances again, and sluice keeps them.
func (c Case) keepsRestored() bool {
	return c.World.Naming.Restores && c.OutsidePolicy == "adopt"
}
