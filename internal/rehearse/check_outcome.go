package rehearse

import (
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// externalChangeGrace is how long after an external change an outcome may ignore it. AWS has no
// compare-and-set, and the claim is released in between.
const externalChangeGrace = 2 * time.Minute

// checkOutcome checks, at the moment of the event, that the version that the outcome names is
// PRIMARY and serves (P2).
func (f *rehearsal) checkOutcome(o sluice.Outcome) {
	want, named := f.namedVersion(o)
	if !named || f.hasIntervention(DeleteService) || f.hasSecondSluice() || !f.primaryChangedAt.IsZero() &&
		f.clock.Now().Sub(f.primaryChangedAt) < externalChangeGrace {
		return
	}
	f.inWorld(func(tx *world.Tx) {
		s := f.findService(tx)
		if s == nil || s.Primary() == nil {
			f.addViolation("P2", "%q was reported while no task set was PRIMARY", o)
			return
		}
		p := s.Primary()
		if v := f.versionOf(p); v != want {
			f.addViolation("P2", "%q was reported while version %s was PRIMARY, not %s", o, v, want)
		}
		if p.Count((*world.Task).IsRunning) == 0 && s.Desired > 0 && !f.mayLoseRequests() {
			f.addViolation("P2", "%q was reported while version %s ran no task", o, want)
		}
	})
}

// namedVersion returns the version that must serve after an outcome.
func (f *rehearsal) namedVersion(o sluice.Outcome) (version string, named bool) {
	if f.isJob() || f.plan == nil {
		return "", false
	}
	switch {
	case o == sluice.RolledBack && f.oldSetID != "":
		return "old", true
	case o == sluice.Succeeded && f.plan.FinalState().NewPrimary:
		return "new", f.Files == nil || f.isNewRevision()
	}
	return "", false
}

// isNewRevision reports whether the deployment deploys another revision than the one that served.
func (f *rehearsal) isNewRevision() bool { return f.plan.From != f.plan.To }

// addRollbackAfterWrite adds a person who requests a rollback shortly after a write, most often
// while AWS's answers are still stale.
func (d *random) addRollbackAfterWrite(c *Case) {
	c.Interventions = append(c.Interventions,
		Intervention{Write: 1 + d.upTo(11), At: time.Duration(d.upTo(12)) * time.Second, Does: Rollback})
	if d.chance(60) {
		c.Faults = append(c.Faults, fmt.Sprintf("stale %s by=%ds p=0.5", d.oneOf("ecs:*", "ecs:DescribeServices"),
			1+d.upTo(13)))
	}
}
