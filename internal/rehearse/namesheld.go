package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// promisedShare is a share that was reported, and the time since which the registered share
// differs.
type promised struct {
	share *plan.Share
	off   time.Time
}

// maxShareRepair is how long starting and stopping tasks may change a share: until the next poll,
// at most 20 s later, plus two rounds of Cloud Map operations.
const restoredWithin = 45 * time.Second

// trackShare records which share sluice must maintain, and checks it (P4).
func (f *field) keeping(e sluice.Envelope) {
	switch ev := e.Open().(type) {
	case sluice.TrafficShifted:
		f.promised = promised{}
		if share := f.shareOf(e.Stage); share != nil && ev.ToCanary > 0 && f.undisturbed() {
			f.promised.share = share
		}
	case sluice.StageStarted:
		switch ev.Name {
		case appfile.StageTrafficRouting, appfile.StageCanaryClean, appfile.StageCanaryRollout, appfile.StageRollback:
			f.promised = promised{}
		}
	case sluice.RollbackStarted, sluice.DeploymentEnded:
		f.promised = promised{}
	}
	f.overdue(e.At)
}

// isUndisturbed reports whether only the deployment itself changes the registered instances.
func (c Case) undisturbed() bool {
	return c.World.byName() && len(c.Hands)+len(c.Faults)+len(c.Kills) == 0 && c.Full.Row == 0 && !c.unsteady() && !c.mustFail()
}

// checkShareRestored checks that a share that tasks changed is restored in time.
func (f *field) overdue(now time.Time) {
	if late := now.Sub(f.promised.off); !f.promised.off.IsZero() && late > restoredWithin {
		f.violate("P4", "for %s callers have found another share than %d%%", late, f.promised.share.Asked)
		f.promised = promised{}
	}
}

// updateShareDrift records, at each change of instances, whether the registered share differs.
func (f *field) offShare(tx *world.Tx) {
	r, ok := tx.Registries.Get(f.World.registry())
	if f.promised.share == nil || !ok {
		return
	}
	f.overdue(tx.Now())
	var s plan.Split
	for _, i := range r.Instances.Values() {
		switch {
		case i.Health != "HEALTHY":
		case isOurs(i.ID):
			s.Canary++
		default:
			s.Primary++
		}
	}
	switch {
	case f.promised.share == nil || s == f.promised.share.Tasks:
		f.promised.off = time.Time{}
	case f.promised.off.IsZero():
		f.promised.off = tx.Now()
	}
}
