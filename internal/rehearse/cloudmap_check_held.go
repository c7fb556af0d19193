package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// shareChecks checks that a share of registered tasks stays as reported.
type shareChecks struct {
	env        *Environment
	report     *Report
	deployment *Deployment
	promised   promisedShare // the share that must stay registered
}

// promisedShare is a share that was reported, and the time since which the registered share
// differs.
type promisedShare struct {
	share    *plan.Share
	offSince time.Time
}

// maxShareRepair is how long starting and stopping tasks may change a share: until the next poll,
// at most 20 s later, plus two rounds of Cloud Map operations.
const maxShareRepair = 45 * time.Second

// trackShare records which share sluice must maintain, and checks it (P4).
func (c *shareChecks) trackShare(e sluice.Envelope) {
	switch ev := e.Open().(type) {
	case sluice.TrafficShifted:
		c.promised = promisedShare{}
		if share := c.deployment.shareOf(e.Stage); share != nil && ev.ToCanary > 0 && c.env.Case.isUndisturbed() {
			c.promised.share = share
		}
	case sluice.StageStarted:
		s := plan.Stage{Name: ev.Name}
		both := s.ReplacesPrimary() && c.deployment.Plan.CanaryServesAtOnce() // old and new primary are registered
		if both || s.ShiftsTraffic() || s.StartsCanary() || s.RollsBack() || s.EndsCanary() && !s.ReplacesAll() {
			c.promised = promisedShare{}
		}
	case sluice.RollbackStarted, sluice.DeploymentEnded:
		c.promised = promisedShare{}
	}
	c.checkShareRestored(e.At)
}

// checkShareRestored checks that a share that tasks changed is restored in time.
func (c *shareChecks) checkShareRestored(now time.Time) {
	if late := now.Sub(c.promised.offSince); !c.promised.offSince.IsZero() && late > maxShareRepair {
		c.report.AddViolation("P4", "for %s the share of registered tasks was not %d%%", late,
			c.promised.share.Requested)
		c.promised = promisedShare{}
	}
}

// updateShareDrift records, at each change of instances, whether the registered share differs.
func (c *shareChecks) updateShareDrift(tx *world.Tx) {
	r, ok := tx.Registries.Get(c.env.Case.World.RegistryARN())
	if c.promised.share == nil || !ok {
		return
	}
	c.checkShareRestored(tx.Now())
	var s plan.Split
	for _, i := range r.Instances.Values() {
		switch {
		case i.Health != "HEALTHY":
		case IsSluiceInstance(i.ID):
			s.Canary++
		default:
			s.Primary++
		}
	}
	switch {
	case c.promised.share == nil || s == c.promised.share.Tasks:
		c.promised.offSince = time.Time{}
	case c.promised.offSince.IsZero():
		c.promised.offSince = tx.Now()
	}
}
