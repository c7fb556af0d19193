package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice/awssim/scaler"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// Scaling is Application Auto Scaling of the desired count, by a policy that keeps
// the CPU where it is. Max 0: there is none.
type Scaling struct {
	Min, Max int
	Load     int           // of each task's CPU, in percent, that callers ask for; 0: what the policy keeps
	Was      string        // suspended before anybody deploys: "in+scheduled"; empty: nothing
	Since    time.Duration // how long that load has been there when the deployment begins
}

// scaledAt is the share of a task's CPU, in percent, that the policy keeps.
const scaledAt = 60

// moves reports whether auto scaling may change the desired count by itself. Where
// two task sets share a load that it keeps, that too is less for each.
func (s Scaling) moves() bool { return s.Max > 0 }

// scaled takes over how the service that runs is auto scaled; its load, which nobody
// tells, is what the policy keeps.
func (w *World) scaled(live *plan.LiveScaling) {
	if live != nil && len(live.Targets) > 0 {
		w.Scaling = Scaling{Min: live.Targets[0].Min, Max: live.Targets[0].Max}
	}
}

// service is what of it stands in the world's file with the service.
func (s Scaling) service(tasks int) string {
	if s.Max == 0 {
		return ""
	}
	load := s.Load
	if load == 0 {
		load = scaledAt
	}
	return fmt.Sprintf(", demand: %d", load*tasks)
}

// file is what of it stands in the world's file by itself.
func (s Scaling) file(line func(string, ...any), service string) {
	if s.Max == 0 {
		return
	}
	was := ""
	if s.Was != "" {
		was = ", suspended: [" + strings.ReplaceAll(s.Was, "+", ", ") + "]"
	}
	line("scalableTargets:\n  - {service: %s, min: %d, max: %d%s, policy: {name: cpu, target: %d}}", service, s.Min, s.Max, was, scaledAt)
}

// suspendParts is what the files say of it.
func (c Case) suspendParts(d *draft) {
	if c.Suspend {
		line(&d.app, "suspendAutoScaling: true")
	}
}

// scales reports whether the desired count may change while a deployment looks at
// it: auto scaling is at work, or it is given back on the way.
func (c Case) scales() bool {
	return c.World.Scaling.moves() && (!c.Suspend || len(c.Hands)+len(c.Faults)+len(c.Kills) > 0 || c.Full.Row > 0)
}

// drawScaling draws auto scaling that is quiet, about to scale in, or about to
// scale out, and whether the deployment suspends it.
func (d *draws) drawScaling(c *Case) {
	n := c.World.Tasks
	c.World.Scaling = Scaling{Min: 1 + d.upTo(n-1), Max: n + d.upTo(2*n), Load: []int{scaledAt, scaledAt, 20, 95}[d.upTo(3)],
		Was: d.one("", "", "in", "out+scheduled", "in+out+scheduled"), Since: d.span(0, 2*time.Minute, 14*time.Minute)}
	c.Suspend = d.chance(65)
}

// resumeScaling is somebody who resumes auto scaling, whatever was suspended of it.
func (f *field) resumeScaling() {
	f.outside = true
	defer func() { f.outside = false }()
	f.inWorld(func(tx *world.Tx) {
		for _, t := range scaler.StateOf(tx).Targets.Values() {
			t.Suspended = scaler.Suspended{}
		}
		if f.setting {
			f.crossed = f.scaling
		}
		f.scaling = scalingOf(tx)
	})
}

// scalingOf are the scalable targets, as text.
func scalingOf(tx *world.Tx) string {
	var all []string
	for _, t := range scaler.StateOf(tx).Targets.Values() {
		all = append(all, fmt.Sprintf("%s %s %d to %d, suspended %+v, %d policies, made %s", t.ID, t.ARN, t.Min, t.Max, t.Suspended, t.Policies.Len(), t.CreatedAt.Format(time.RFC3339)))
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// setsScaling writes all of a target: AWS has nothing by which somebody else's change
// could be seen that comes between a look and the write.
const setsScaling = "application-autoscaling:RegisterScalableTarget"

// scaledAsBefore: auto scaling is as it was, or as somebody else set it meanwhile
// (P3). A deployment that lost the service may not write any more.
func (f *field) scaledAsBefore() {
	if f.excuses(TakeClaim) || f.secondRan {
		return
	}
	f.inWorld(func(tx *world.Tx) {
		now, undone := scalingOf(tx), f.Outside == "reassert" // what somebody else set is set back
		if now != f.scaling && now != f.crossed && !(undone && now == f.scaledAtFirst) {
			f.violate("P3", "auto scaling is %s; it was %s", now, f.scaling)
		}
	})
	if was, ok := f.tags()[plan.ScalingTag]; ok && !f.excuses(DeleteService) {
		f.violate("P3", "the note on the service is left: %s", was)
	}
}

// held: while traffic moves, auto scaling is suspended if the files ask for it (P3:
// suspensions are as planned). A sluice that has to leave gives it back, and CodeDeploy
// goes on by itself.
func (f *field) held(tx *world.Tx) {
	if !f.Suspend || len(f.Hands) > 0 || f.over || f.paused && f.World.byCodeDeploy() {
		return
	}
	for _, t := range scaler.StateOf(tx).Targets.Values() {
		if t.Suspended != (scaler.Suspended{In: true, Out: true, Scheduled: true}) {
			f.violate("P3", "traffic moves while auto scaling is at work: suspended %+v", t.Suspended)
		}
	}
}

// scalingFault strikes the calls on auto scaling.
func (d *draws) scalingFault() string {
	on := d.one("application-autoscaling:*", "application-autoscaling:RegisterScalableTarget", "application-autoscaling:DescribeScalableTargets")
	return []string{
		fmt.Sprintf("throttle %s p=0.%d", on, 1+d.upTo(3)), fmt.Sprintf("5xx %s p=0.2", on), fmt.Sprintf("lost-reply %s times=%d", on, 1+d.upTo(2)),
		fmt.Sprintf("no-send %s p=0.2", on), fmt.Sprintf("stale application-autoscaling:DescribeScalableTargets by=%ds p=0.5", 1+d.upTo(4)),
		fmt.Sprintf("throttle %s for=%ds", on, 1+d.upTo(200)),
	}[d.upTo(5)]
}
