package rehearse

import (
	"strconv"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/awssim/world"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// checkShift checks that a reported shift has happened: the name resolves to the tasks in the plan,
// and to no deregistered one (P4).
func (f *Rehearsal) checkShift(e sluice.Envelope, ev sluice.TrafficShifted) {
	if !f.World.UsesCloudMap() || len(f.Interventions) > 0 || f.IsUnsteady() || f.OutsidePolicy == "adopt" &&
		f.World.Naming.Restores {
		return
	}
	share := f.shareOf(e.Stage)
	if share != nil && share.Deregistered > 0 && f.World.Naming.Restores {
		f.AddViolation("P4", "a share of %d%% is reported, but ECS registers the %d deregistered tasks of the primary "+
			"again", ev.ToCanary, share.Deregistered)
	}
	f.InWorld(func(tx *world.Tx) {
		f.checkAttributes(tx)
		s := f.registeredSplit(tx)
		switch {
		case ev.ToCanary == 0 && s.Canary > 0, ev.ToPrimary == 0 && s.Primary > 0,
			ev.ToCanary > 0 && ev.ToPrimary > 0 && share != nil && s != share.Tasks:
			f.AddViolation("P4", "a share of %d%% is reported, but %d of the primary and %d of the canary are "+
				"registered", ev.ToCanary, s.Primary, s.Canary)
		}
	})
}

// registeredSplit counts the registered tasks of both variants.
func (f *Rehearsal) registeredSplit(tx *world.Tx) (s plan.Split) {
	for _, id := range f.RegisteredIDs(tx) {
		if IsSluiceInstance(id) {
			s.Canary++
		} else {
			s.Primary++
		}
	}
	return s
}

// shareOf returns the planned share of a stage: "2 ECS_TRAFFIC_ROUTING".
func (f *Rehearsal) shareOf(stage string) *plan.Share {
	number, _, _ := strings.Cut(stage, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n > len(f.Plan.Stages) {
		return nil
	}
	return f.Plan.Stage(n - 1).Share
}

// TaskOf returns the running task of an instance, or nil.
func (f *Rehearsal) TaskOf(tx *world.Tx, id string) *world.Task {
	id = id[strings.LastIndexByte(id, '-')+1:]
	for _, ts := range f.TaskSets(tx) {
		for _, t := range ts.Tasks {
			if t.ID == id && t.IsRunning() && t.DesiredStatus == "RUNNING" {
				return t
			}
		}
	}
	return nil
}
