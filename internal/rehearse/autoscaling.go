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

// canScale reports whether the desired count may change during a deployment: auto scaling is
// active, or it is restored in between.
func (c Case) canScale() bool {
	return c.World.Scaling.IsActive() && (!c.Suspend || len(c.Interventions)+len(c.Faults)+len(c.Kills) > 0 ||
		c.FullDisk.Row > 0)
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
func (f *Rehearsal) checkScaling() {
	if f.HasIntervention(TakeClaim) || f.secondFinished {
		return
	}
	f.InWorld(func(tx *world.Tx) {
		now, undone := scalingOf(tx), f.OutsidePolicy == "reassert" // sluice reverts external changes
		if now != f.expectedScaling && now != f.scalingBeforeRace && !(undone && now == f.initialScaling) {
			f.AddViolation("P3", "auto scaling is %s; it was %s", now, f.expectedScaling)
		}
	})
	if was, ok := f.serviceTags()[plan.ScalingTag]; ok && !f.HasIntervention(DeleteService) {
		f.AddViolation("P3", "the tag for auto scaling is still on the service: %s", was)
	}
}

// checkSuspended checks that auto scaling is suspended while traffic moves, if the files set it
// (P3: suspensions are as planned). A sluice that stops running restores it, and CodeDeploy
// continues by itself.
func (f *Rehearsal) checkSuspended(tx *world.Tx) {
	if !f.Suspend || len(f.Interventions) > 0 || f.isOver || f.WasPaused && f.World.UsesCodeDeploy() {
		return
	}
	for _, t := range autoscaler.StateOf(tx).Targets.Values() {
		if t.Suspended != (autoscaler.Suspended{In: true, Out: true, Scheduled: true}) {
			f.AddViolation("P3", "traffic shifts while auto scaling is active: suspended %+v", t.Suspended)
		}
	}
}
