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
func (f *Rehearsal) checkOutcome(o sluice.Outcome) {
	want, named := f.namedVersion(o)
	if !named || f.HasIntervention(DeleteService) || f.HasSecondSluice() || !f.primaryChangedAt.IsZero() &&
		f.Clock.Now().Sub(f.primaryChangedAt) < externalChangeGrace {
		return
	}
	f.InWorld(func(tx *world.Tx) {
		s := f.FindService(tx)
		if s == nil || s.Primary() == nil {
			f.AddViolation("P2", "%q was reported while no task set was PRIMARY", o)
			return
		}
		p := s.Primary()
		if v := f.versionOf(p); v != want {
			f.AddViolation("P2", "%q was reported while version %s was PRIMARY, not %s", o, v, want)
		}
		if p.Count((*world.Task).IsRunning) == 0 && s.Desired > 0 && !f.MayLoseRequests() {
			f.AddViolation("P2", "%q was reported while version %s ran no task", o, want)
		}
	})
}

// namedVersion returns the version that must serve after an outcome.
func (f *Rehearsal) namedVersion(o sluice.Outcome) (version string, named bool) {
	if f.IsJob() || f.Plan == nil {
		return "", false
	}
	switch {
	case o == sluice.RolledBack && f.oldSetID != "":
		return "old", true
	case o == sluice.Succeeded && f.Plan.FinalState().NewPrimary:
		return "new", f.Generated || f.isNewRevision()
	}
	return "", false
}

// isNewRevision reports whether the deployment deploys another revision than the one that served.
func (f *Rehearsal) isNewRevision() bool { return f.Plan.From != f.Plan.To }
