package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// checkChange checks each change of the world when it happens.
func (f *Rehearsal) checkChange(tx *world.Tx, c world.Change) {
	switch o := c.Object.(type) {
	case *world.Listener:
		for _, r := range o.Rules {
			f.checkWeights(tx, r)
		}
	case *world.Service:
		f.checkCanaryEmptied(o)
	case *world.TaskSet:
		f.noteStart(o)
		f.checkUnique(o)
		f.checkEmptied(o)
	case *world.Task:
		f.checkRunOnce(o)
	case *world.Instance:
		f.updateShareDrift(tx)
	}
}

// steadyWait is how long the rehearsal waits for a steady state before the checks of the end:
// drains, failed starts, scheduler loops.
const steadyWait = 15 * time.Minute

// judgeEnd checks the end against the promises.
func (f *Rehearsal) judgeEnd() {
	r := &f.Result
	f.checkLossless()
	f.checkCause()
	f.Sleep(steadyWait)
	for range 20 {
		if f.secondsRunning > 0 {
			f.Sleep(steadyWait)
		}
	}
	if r.Outcome != sluice.Succeeded && r.Outcome != sluice.RolledBack && !f.IsJob() {
		f.rollBackUnfinished()
	}
	f.checkEnd(r.Outcome)
	f.InWorld(func(tx *world.Tx) {
		f.checkDeployedOnce(tx)
		f.checkStoppedWithRollback(tx)
		if now := f.unmanagedText(tx); now != f.unmanagedBefore && !f.HasIntervention(DeleteService) {
			f.AddViolation("P3", "unmanaged resources have changed:\n%s\nbefore:\n%s", now, f.unmanagedBefore)
		}
	})
}
