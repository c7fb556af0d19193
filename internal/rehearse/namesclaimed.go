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
func (f *field) claimed(e sluice.Envelope, ev sluice.TrafficShifted) {
	if !f.World.byName() || len(f.Hands) > 0 || f.unsteady() || f.Outside == "adopt" && f.World.Naming.Restores {
		return
	}
	share := f.shareOf(e.Stage)
	if share != nil && share.Out > 0 && f.World.Naming.Restores {
		f.violate("P4", "a share of %d%% is told, and ECS puts back the %d of the primary that it takes out", ev.ToCanary, share.Out)
	}
	f.inWorld(func(tx *world.Tx) {
		f.described(tx)
		s := f.split(tx)
		switch {
		case ev.ToCanary == 0 && s.Canary > 0, ev.ToPrimary == 0 && s.Primary > 0,
			ev.ToCanary > 0 && ev.ToPrimary > 0 && share != nil && s != share.Tasks:
			f.violate("P4", "a share of %d%% is told, and %d of the primary and %d of the canary are found", ev.ToCanary, s.Primary, s.Canary)
		}
	})
}

// registeredSplit counts the registered tasks of both variants.
func (f *field) split(tx *world.Tx) (s plan.Split) {
	for _, id := range f.found(tx) {
		if isOurs(id) {
			s.Canary++
		} else {
			s.Primary++
		}
	}
	return s
}

// shareOf returns the planned share of a stage: "2 ECS_TRAFFIC_ROUTING".
func (f *field) shareOf(stage string) *plan.Share {
	number, _, _ := strings.Cut(stage, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n > len(f.plan.Stages) {
		return nil
	}
	return f.plan.Stage(n - 1).Share
}

// touchedRecord is an instance that another actor deregistered or registered while sluice polled.
type touched struct {
	id string
	in bool
	at time.Time
}

// recordTouch records another actor's change of an instance if sluice must detect it. The task must
// have run so long that ECS must have registered it, and ECS must not register it again by itself.
func (f *field) touches(tx *world.Tx, id string, in bool) {
	const enrolled = 2 * time.Minute
	if !in && f.World.Naming.Restores {
		return
	}
	t := f.taskOf(tx, id)
	if t != nil && f.attentive() && !f.returning && f.Hands[0].Stage > 0 && tx.Now().Sub(t.StartedAt) > enrolled {
		f.touched = touched{id, in, tx.Now()}
	}
}

// taskOf returns the running task of an instance, or nil.
func (f *field) taskOf(tx *world.Tx, id string) *world.Task {
	id = id[strings.LastIndexByte(id, '-')+1:]
	for _, ts := range f.sets(tx) {
		for _, t := range ts.Tasks {
			if t.ID == id && t.Running() && t.DesiredStatus == "RUNNING" {
				return t
			}
		}
	}
	return nil
}

// checkRecordNoticed checks that sluice reports another actor's change of an instance within two
// polls (P6).
func (f *field) noticingNames(e sluice.Envelope) {
	t := f.touched
	_, back := e.Open().(sluice.RollbackStarted)
	f.returning = f.returning || back // a rollback does not compare instances
	if t.id == "" {
		return
	}
	if back || strings.Contains(string(e.Data), "somebody") {
		f.touched = touched{}
		return
	}
	late := e.At.Sub(t.at)
	if late <= noticeWithin {
		return
	}
	f.touched = touched{}
	f.inWorld(func(tx *world.Tx) {
		if f.taskOf(tx, t.id) != nil {
			f.violate("P6", "what somebody else did to record %s was not noticed for %s, in %s", t.id, late, e.Stage)
		}
	})
}
