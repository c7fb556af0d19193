package rehearse

import (
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// checkChange checks each change of the world when it happens.
func (f *field) step(tx *world.Tx, c world.Change) {
	switch o := c.Object.(type) {
	case *world.Listener:
		for _, r := range o.Rules {
			f.weighed(tx, r)
		}
	case *world.Service:
		f.besideEmptied(o)
	case *world.TaskSet:
		f.noteStart(o)
		f.unique(o)
		f.emptied(o)
	case *world.Task:
		f.ranOnce(o)
	case *world.Instance:
		f.offShare(tx)
	}
}

// steadyWait is how long the rehearsal waits for a steady state before the checks of the end:
// drains, failed starts, scheduler loops.
const restFor = 15 * time.Minute

// judgeEnd checks the end against the promises.
func (f *field) judge() {
	r := &f.result
	f.lossless()
	f.named()
	f.sleep(restFor)
	for range 20 {
		if f.beside > 0 {
			f.sleep(restFor)
		}
	}
	if r.Outcome != sluice.Succeeded && r.Outcome != sluice.RolledBack && !f.byItself() {
		f.finish()
	}
	f.ended(r.Outcome)
	f.inWorld(func(tx *world.Tx) {
		f.askedOnce(tx)
		f.tookBack(tx)
		if now := f.foreign(tx); now != f.others && !f.excuses(DeleteService) {
			f.violate("P3", "what is not ours has changed:\n%s\nbefore:\n%s", now, f.others)
		}
	})
}
