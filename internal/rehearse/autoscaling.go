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

// ScalingChecks checks the scalable targets.
type ScalingChecks struct {
	env        *Environment
	report     *Report
	deployment *Deployment
	seconds    *SecondSluices

	initial    string    // the scalable targets at the start
	expected   string    // the scalable targets, as they must be at the end
	beforeRace string    // expected before a change during sluice's write, or that its last read may not show
	acceptedAt time.Time // of that change, until the next write; zero: a write has overwritten it, or has seen it
	isWriting  bool      // sluice is writing a scalable target
}

// oldestRead is how old an answer of AWS may be with the faults of generated cases.
const oldestRead = 10 * time.Second

// beginWrite records that sluice makes a write. A change of another actor long before it is shown by reads, unless an
// earlier write overwrote it.
func (c *ScalingChecks) beginWrite(operation string) {
	if c.isWriting = operation == scalingWrite; !c.isWriting || c.acceptedAt.IsZero() {
		return
	}
	if c.env.Clock.Now().Sub(c.acceptedAt) > oldestRead {
		c.beforeRace = ""
	}
	c.acceptedAt = time.Time{} // the first write decides whether the change is overwritten
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
func (c *ScalingChecks) checkScaling() {
	if c.env.Case.HasIntervention(TakeClaim) || c.seconds.finished {
		return
	}
	c.env.InWorld(func(tx *world.Tx) {
		now, undone := scalingOf(tx), c.env.Case.OutsidePolicy == "reassert" // sluice reverts external changes
		if now != c.expected && now != c.beforeRace && !(undone && now == c.initial) {
			c.report.AddViolation("P3", "auto scaling is %s; it was %s", now, c.expected)
		}
	})
	if was, ok := c.env.serviceTags()[plan.ScalingTag]; ok && !c.env.Case.HasIntervention(DeleteService) {
		c.report.AddViolation("P3", "the tag for auto scaling is still on the service: %s", was)
	}
}

// checkSuspended checks that auto scaling is suspended while traffic moves, if the files set it
// (P3: suspensions are as planned). A sluice that stops running restores it, and CodeDeploy
// continues by itself.
func (c *ScalingChecks) checkSuspended(tx *world.Tx) {
	if !c.env.Case.Suspend || len(c.env.Case.Interventions) > 0 || c.env.IsOver || c.deployment.WasPaused &&
		c.env.Case.World.UsesCodeDeploy() {
		return
	}
	for _, t := range autoscaler.StateOf(tx).Targets.Values() {
		if t.Suspended != (autoscaler.Suspended{In: true, Out: true, Scheduled: true}) {
			c.report.AddViolation("P3", "traffic shifts while auto scaling is active: suspended %+v", t.Suspended)
		}
	}
}

// Accept expects the scalable targets at the end as another actor has set them now.
func (c *ScalingChecks) Accept(tx *world.Tx) {
	c.beforeRace, c.acceptedAt = "", time.Time{}
	switch {
	case c.isWriting:
		c.beforeRace = c.expected
	case c.env.Case.HasFault("stale"):
		c.beforeRace, c.acceptedAt = c.expected, c.env.Clock.Now()
	}
	c.expected = scalingOf(tx)
}
