package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/appfile"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// promised is a share that was told, and since when callers find another one.
type promised struct {
	share *plan.Share
	off   time.Time
}

// restoredWithin is how long tasks that come and go may change a share: until the
// next look, at most 20 s later, and as long as Cloud Map's operations and a second
// round of them take.
const restoredWithin = 45 * time.Second

// keeping follows which share is to be kept, and looks whether it is (P4).
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

// undisturbed: nothing but the deployment itself changes who can be found.
func (c Case) undisturbed() bool {
	return c.World.byName() && len(c.Hands)+len(c.Faults)+len(c.Kills) == 0 && c.Full.Row == 0 && !c.unsteady() && !c.mustFail()
}

// overdue: what tasks that came and went made of the share is made good by now.
func (f *field) overdue(now time.Time) {
	if late := now.Sub(f.promised.off); !f.promised.off.IsZero() && late > restoredWithin {
		f.violate("P4", "for %s callers have found another share than %d%%", late, f.promised.share.Asked)
		f.promised = promised{}
	}
}

// offShare looks, as records come and go, whether callers find the share.
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
