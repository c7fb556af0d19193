package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/autoscaler"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Scaling is Application Auto Scaling of the desired count, by a policy with a CPU target. Max 0:
// no auto scaling.
type Scaling struct {
	Min, Max        int
	Load            int           // of each task's CPU, in percent; 0: the target of the policy
	SuspendedBefore string        // suspensions before the deployment: "in+scheduled"; empty: none
	Since           time.Duration // duration of that load before the deployment begins
}

// targetCPU is the CPU target of the policy, in percent of a task.
const targetCPU = 60

// isActive reports whether auto scaling may change the desired count. It is true at the target load
// too: if two task sets share the load, each has less.
func (s Scaling) isActive() bool { return s.Max > 0 }

// setScaling sets the limits of the real service. Its load is unknown: the world uses the target of
// the policy.
func (w *World) setScaling(live *plan.ScalingState) {
	if live != nil && len(live.Targets) > 0 {
		w.Scaling = Scaling{Min: live.Targets[0].Min, Max: live.Targets[0].Max}
	}
}

// serviceText returns its part of the service's line in the world file.
func (s Scaling) serviceText(tasks int) string {
	if s.Max == 0 {
		return ""
	}
	load := s.Load
	if load == 0 {
		load = targetCPU
	}
	return fmt.Sprintf(", demand: %d", load*tasks)
}

// writeTargets writes the scalable target to the world file.
func (s Scaling) writeTargets(line func(string, ...any), service string) {
	if s.Max == 0 {
		return
	}
	was := ""
	if s.SuspendedBefore != "" {
		was = ", suspended: [" + strings.ReplaceAll(s.SuspendedBefore, "+", ", ") + "]"
	}
	line("scalableTargets:\n  - {service: %s, min: %d, max: %d%s, policy: {name: cpu, target: %d}}", service, s.Min,
		s.Max, was, targetCPU)
}

// writeSuspend writes suspendAutoScaling to the application file.
func (c Case) writeSuspend(d *draft) {
	if c.Suspend {
		writeLine(&d.app, "suspendAutoScaling: true")
	}
}

// canScale reports whether the desired count may change during a deployment: auto scaling is
// active, or it is restored in between.
func (c Case) canScale() bool {
	return c.World.Scaling.isActive() && (!c.Suspend || len(c.Interventions)+len(c.Faults)+len(c.Kills) > 0 ||
		c.FullDisk.Row > 0)
}

// generateScaling generates auto scaling that is steady, about to scale in, or about to scale out,
// and whether the deployment suspends it.
func (d *random) generateScaling(c *Case) {
	n := c.World.Tasks
	c.World.Scaling = Scaling{Min: 1 + d.upTo(n-1), Max: n + d.upTo(2*n),
		Load:            []int{targetCPU, targetCPU, 20, 95}[d.upTo(3)],
		SuspendedBefore: d.oneOf("", "", "in", "out+scheduled", "in+out+scheduled"),
		Since:           d.oneDuration(0, 2*time.Minute, 14*time.Minute)}
	c.Suspend = d.chance(65)
}

// resumeScaling is a person who resumes all of auto scaling.
func (f *rehearsal) resumeScaling() {
	f.externalActs = true
	defer func() { f.externalActs = false }()
	f.inWorld(func(tx *world.Tx) {
		for _, t := range autoscaler.StateOf(tx).Targets.Values() {
			t.Suspended = autoscaler.Suspended{}
		}
		if f.writingScaling {
			f.scalingBeforeRace = f.expectedScaling
		}
		f.expectedScaling = scalingOf(tx)
	})
}

// scalingOf returns the scalable targets as text.
func scalingOf(tx *world.Tx) string {
	var all []string
	for _, t := range autoscaler.StateOf(tx).Targets.Values() {
		all = append(all, fmt.Sprintf("%s %s %d to %d, suspended %+v, %d policies, created %s", t.ID, t.ARN, t.Min,
			t.Max, t.Suspended, t.Policies.Len(), t.CreatedAt.Format(time.RFC3339)))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// scalingWrite writes a whole target. AWS offers no way to detect another actor's change between a
// read and the write.
const scalingWrite = "application-autoscaling:RegisterScalableTarget"

// checkScaling checks that auto scaling is as before, or as another actor set it during the
// deployment (P3). A deployment that lost the service may not write any more.
func (f *rehearsal) checkScaling() {
	if f.hasIntervention(TakeClaim) || f.secondFinished {
		return
	}
	f.inWorld(func(tx *world.Tx) {
		now, undone := scalingOf(tx), f.OutsidePolicy == "reassert" // sluice reverts external changes
		if now != f.expectedScaling && now != f.scalingBeforeRace && !(undone && now == f.initialScaling) {
			f.addViolation("P3", "auto scaling is %s; it was %s", now, f.expectedScaling)
		}
	})
	if was, ok := f.serviceTags()[plan.ScalingTag]; ok && !f.hasIntervention(DeleteService) {
		f.addViolation("P3", "the tag for auto scaling is still on the service: %s", was)
	}
}

// checkSuspended checks that auto scaling is suspended while traffic moves, if the files set it
// (P3: suspensions are as planned). A sluice that stops running restores it, and CodeDeploy
// continues by itself.
func (f *rehearsal) checkSuspended(tx *world.Tx) {
	if !f.Suspend || len(f.Interventions) > 0 || f.isOver || f.wasPaused && f.World.usesCodeDeploy() {
		return
	}
	for _, t := range autoscaler.StateOf(tx).Targets.Values() {
		if t.Suspended != (autoscaler.Suspended{In: true, Out: true, Scheduled: true}) {
			f.addViolation("P3", "traffic shifts while auto scaling is active: suspended %+v", t.Suspended)
		}
	}
}

// scalingFault returns a fault of the calls on auto scaling.
func (d *random) scalingFault() string {
	on := d.oneOf("application-autoscaling:*", "application-autoscaling:RegisterScalableTarget",
		"application-autoscaling:DescribeScalableTargets")
	return []string{
		fmt.Sprintf("throttle %s p=0.%d", on, 1+d.upTo(3)), fmt.Sprintf("5xx %s p=0.2", on),
		fmt.Sprintf("lost-reply %s times=%d", on, 1+d.upTo(2)),
		fmt.Sprintf("no-send %s p=0.2", on),
		fmt.Sprintf("stale application-autoscaling:DescribeScalableTargets by=%ds p=0.5", 1+d.upTo(4)),
		fmt.Sprintf("throttle %s for=%ds", on, 1+d.upTo(200)),
	}[d.upTo(5)]
}
