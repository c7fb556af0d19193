package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// externalChangeGrace is how long after an external change an outcome may ignore it. AWS has no
// compare-and-set, and the claim is released in between.
const externalChangeGrace = 2 * time.Minute

// checkOutcome checks, at the moment of the event, that the version that the outcome names is
// PRIMARY and serves (P2).
func (c *EndChecks) checkOutcome(o sluice.Outcome) {
	want, named := c.namedVersion(o)
	if !named || c.env.Case.HasIntervention(DeleteService) || c.seconds.Exist() || !c.acts.primaryChangedAt.IsZero() &&
		c.env.Clock.Now().Sub(c.acts.primaryChangedAt) < externalChangeGrace {
		return
	}
	c.env.InWorld(func(tx *world.Tx) {
		s := c.env.FindService(tx)
		if s == nil || s.Primary() == nil {
			c.report.AddViolation("P2", "%q was reported while no task set was PRIMARY", o)
			return
		}
		p := s.Primary()
		if v := versionOf(p); v != want {
			c.report.AddViolation("P2", "%q was reported while version %s was PRIMARY, not %s", o, v, want)
		}
		if p.Count((*world.Task).IsRunning) == 0 && s.Desired > 0 && !c.env.Case.MayLoseRequests() {
			c.report.AddViolation("P2", "%q was reported while version %s ran no task", o, want)
		}
	})
}

// namedVersion returns the version that must serve after an outcome.
func (c *EndChecks) namedVersion(o sluice.Outcome) (version string, named bool) {
	if c.env.Case.IsJob() || c.deployment.Plan == nil {
		return "", false
	}
	switch {
	case o == sluice.RolledBack && c.sets.oldID != "":
		return "old", true
	case o == sluice.Succeeded && c.deployment.Plan.FinalState().NewPrimary:
		return "new", c.env.Case.Generated || c.deployment.isNewRevision()
	}
	return "", false
}
