package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

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
func (f *Rehearsal) trackShare(e sluice.Envelope) {
	switch ev := e.Open().(type) {
	case sluice.TrafficShifted:
		f.promised = promisedShare{}
		if share := f.shareOf(e.Stage); share != nil && ev.ToCanary > 0 && f.isUndisturbed() {
			f.promised.share = share
		}
	case sluice.StageStarted:
		s := plan.Stage{Name: ev.Name}
		both := s.ReplacesPrimary() && f.Plan.CanaryServesAtOnce() // old and new primary are registered
		if both || s.ShiftsTraffic() || s.StartsCanary() || s.RollsBack() || s.EndsCanary() && !s.ReplacesAll() {
			f.promised = promisedShare{}
		}
	case sluice.RollbackStarted, sluice.DeploymentEnded:
		f.promised = promisedShare{}
	}
	f.checkShareRestored(e.At)
}

// isUndisturbed reports whether only the deployment itself changes the registered instances.
func (c Case) isUndisturbed() bool {
	return c.World.UsesCloudMap() && len(c.Interventions)+len(c.Faults)+len(c.Kills) == 0 && c.FullDisk.Row == 0 &&
		!c.IsUnsteady() && !c.MustFail()
}

// checkShareRestored checks that a share that tasks changed is restored in time.
func (f *Rehearsal) checkShareRestored(now time.Time) {
	if late := now.Sub(f.promised.offSince); !f.promised.offSince.IsZero() && late > maxShareRepair {
		f.AddViolation("P4", "for %s the share of registered tasks was not %d%%", late, f.promised.share.Requested)
		f.promised = promisedShare{}
	}
}

// updateShareDrift records, at each change of instances, whether the registered share differs.
func (f *Rehearsal) updateShareDrift(tx *world.Tx) {
	r, ok := tx.Registries.Get(f.World.RegistryARN())
	if f.promised.share == nil || !ok {
		return
	}
	f.checkShareRestored(tx.Now())
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
	case f.promised.share == nil || s == f.promised.share.Tasks:
		f.promised.offSince = time.Time{}
	case f.promised.offSince.IsZero():
		f.promised.offSince = tx.Now()
	}
}
