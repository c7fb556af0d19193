package rehearse

import (
	"strconv"
	"strings"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// checkShift checks that a reported shift has happened: the name resolves to the tasks in the plan,
// and to no deregistered one (P4).
func (f *rehearsal) checkShift(e sluice.Envelope, ev sluice.TrafficShifted) {
	if !f.World.usesCloudMap() || len(f.Interventions) > 0 || f.isUnsteady() || f.OutsidePolicy == "adopt" &&
		f.World.Naming.Restores {
		return
	}
	share := f.shareOf(e.Stage)
	if share != nil && share.Deregistered > 0 && f.World.Naming.Restores {
		f.addViolation("P4", "a share of %d%% is reported, but ECS registers the %d deregistered tasks of the primary "+
			"again", ev.ToCanary, share.Deregistered)
	}
	f.inWorld(func(tx *world.Tx) {
		f.checkAttributes(tx)
		s := f.registeredSplit(tx)
		switch {
		case ev.ToCanary == 0 && s.Canary > 0, ev.ToPrimary == 0 && s.Primary > 0,
			ev.ToCanary > 0 && ev.ToPrimary > 0 && share != nil && s != share.Tasks:
			f.addViolation("P4", "a share of %d%% is reported, but %d of the primary and %d of the canary are "+
				"registered", ev.ToCanary, s.Primary, s.Canary)
		}
	})
}

// registeredSplit counts the registered tasks of both variants.
func (f *rehearsal) registeredSplit(tx *world.Tx) (s plan.Split) {
	for _, id := range f.registeredIDs(tx) {
		if isSluiceInstance(id) {
			s.Canary++
		} else {
			s.Primary++
		}
	}
	return s
}

// shareOf returns the planned share of a stage: "2 ECS_TRAFFIC_ROUTING".
func (f *rehearsal) shareOf(stage string) *plan.Share {
	number, _, _ := strings.Cut(stage, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n > len(f.plan.Stages) {
		return nil
	}
	return f.plan.Stage(n - 1).Share
}

// touchedRecord is an instance that another actor deregistered or registered while sluice polled.
type touchedRecord struct {
	id         string
	registered bool
	at         time.Time
}

// recordTouch records another actor's change of an instance if sluice must detect it. The task must
// have run so long that ECS must have registered it, and ECS must not register it again by itself.
func (f *rehearsal) recordTouch(tx *world.Tx, id string, in bool) {
	const enrolled = 2 * time.Minute
	if !in && f.World.Naming.Restores {
		return
	}
	t := f.taskOf(tx, id)
	if t != nil && f.isAttentive() && !f.rollbackBegun && f.Interventions[0].Stage > 0 &&
		tx.Now().Sub(t.StartedAt) > enrolled {
		f.touched = touchedRecord{id, in, tx.Now()}
	}
}

// taskOf returns the running task of an instance, or nil.
func (f *rehearsal) taskOf(tx *world.Tx, id string) *world.Task {
	id = id[strings.LastIndexByte(id, '-')+1:]
	for _, ts := range f.taskSets(tx) {
		for _, t := range ts.Tasks {
			if t.ID == id && t.IsRunning() && t.DesiredStatus == "RUNNING" {
				return t
			}
		}
	}
	return nil
}

// checkRecordNoticed checks that sluice reports another actor's change of an instance within two
// polls (P6).
func (f *rehearsal) checkRecordNoticed(e sluice.Envelope) {
	t := f.touched
	_, back := e.Open().(sluice.RollbackStarted)
	f.rollbackBegun = f.rollbackBegun || back // a rollback does not compare instances
	if t.id == "" {
		return
	}
	if back || externalChangePattern.Match(e.Data) {
		f.touched = touchedRecord{}
		return
	}
	late := e.At.Sub(t.at)
	if late <= maxNoticeDelay {
		return
	}
	f.touched = touchedRecord{}
	f.inWorld(func(tx *world.Tx) {
		if f.taskOf(tx, t.id) != nil {
			f.addViolation("P6", "an external change of instance %s was not detected for %s, in %s", t.id, late,
				e.Stage)
		}
	})
}
