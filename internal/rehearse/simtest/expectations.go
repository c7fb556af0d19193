package simtest

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/rehearse"
	"github.com/sluice-ecs/sluice/internal/rehearse/shape"
)

// checkEnd checks the outcome against what the case must lead to (P2).
func (f *simulation) checkEnd(o sluice.Outcome) {
	if f.env.Case.IsJob() {
		f.checkJobEnd(o)
		return
	}
	if o != sluice.Succeeded && mustSucceed(*f.env.Case) && !f.rehearsal.Ends.WasUnanswered() {
		f.report.AddViolation("P2", "the deployment ended %s, but the new version is good: %s", o,
			f.report.Result.Cause)
	}
}

// mustSucceed reports whether no fault concerns the new version and no intervention may change the
// outcome.
func mustSucceed(c rehearse.Case) bool {
	return !c.MustFail() && !stepsMayFail(c) && !c.MayLoseRequests() && !c.IsUnsteady() && len(c.Interventions) == 0 &&
		c.FullDisk.Row == 0 &&
		!c.HasFault("throttle", "invalid") && !outlivesGrace(c) && c.World.Ready == 0 && !c.World.Naming.Restores &&
		!cannotRoll(c) && !gateMayFail(c)
}

// cannotRoll reports whether, at a count that auto scaling may set, the limits of a rolling
// deployment let ECS neither stop nor start a task.
func cannotRoll(c rehearse.Case) bool {
	p, s := c.World.Percents, c.World.Scaling
	if p == (shape.Percents{}) || !s.IsActive() {
		return false
	}
	for n := s.Min; n <= s.Max; n++ {
		if p.Block(n) {
			return true
		}
	}
	return false
}

// outlivesGrace reports whether a version may start too slowly. ECS replaces its tasks if the grace
// period ends before the load balancer has counted enough successful checks. Without a load balancer
// there is no grace period: ECS replaces a task after three failed checks of its container, and some of the tasks before
// they are healthy.
func outlivesGrace(c rehearse.Case) bool {
	g := c.World.Primary
	return c.HasNewOption("healthy-after=45s") &&
		(c.World.Grace < max(2*time.Minute, 45*time.Second+time.Duration(g.Healthy+1)*g.Interval) ||
			c.World.UsesCloudMap() && c.World.Check > 0 && 3*c.World.Check < 45*time.Second)
}

// stepsMayFail reports whether a step may fail. ECS may also no longer return how a step ended when
// sluice resumes.
func stepsMayFail(c rehearse.Case) bool {
	return c.StepsFail() || c.Before+c.After != "" && c.HasFault("expired-credentials")
}
