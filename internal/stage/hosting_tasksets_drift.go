package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// listDrift returns task sets that another actor deleted, scaled or promoted.
func (t taskSets) listDrift(_ context.Context, x *expectation, live *ecs.ServiceState) ([]outsideChange, error) {
	s := driftCheck{x: x, live: live}
	b, a := x.before, x.after
	if b.Canary.Exists() && b.Canary.Scale == a.Canary.Scale {
		s.checkScale(plan.CanarySet, live.CreatedByAction(x.canaryID), float64(b.Canary.Scale))
	} else if set := live.CreatedByAction(x.canaryID); t.canaryScaled && set != nil {
		s.checkScale(plan.CanarySet, set, float64(a.Canary.Scale))
	}
	fresh := live.CreatedByAction(x.newPrimaryID)
	starts := a.NewPrimary && !b.NewPrimary // in this stage
	promoted := starts && fresh != nil && fresh.Status == "PRIMARY"
	if b.NewPrimary && a.NewPrimary || promoted {
		s.checkScale(plan.NewPrimarySet, fresh, 100)
	}
	if promoted {
		return s.changes, nil // the stage itself removes the previous primary
	}
	if was := x.snapshot.Primary; was != nil && b.PreviousPrimary && (a.PreviousPrimary || starts && !t.Stage.Recreate) {
		s.checkScale(plan.PreviousPrimarySet, live.TaskSet(was.ID), was.Scale)
	}
	s.checkPrimary(fresh)
	return s.changes, nil
}

// driftCheck compares one read with the expected task sets.
type driftCheck struct {
	x       *expectation
	live    *ecs.ServiceState
	changes []outsideChange
}

// checkScale compares a task set with its expected scale.
func (s *driftCheck) checkScale(label string, set *sluice.TaskSet, scale float64) {
	switch {
	case slices.Contains(s.x.adopted.Deleted, label):
	case set == nil || set.Status == "DRAINING":
		s.changes = append(s.changes, outsideChange{kind: driftDeleted, label: label})
	default:
		if kept, ok := s.x.adopted.Scales[set.ID]; ok {
			scale = kept
		}
		if set.Scale != scale {
			s.changes = append(s.changes, outsideChange{kind: driftScaled, label: label, set: *set, have: set.Scale,
				want: scale})
		}
	}
}

// checkPrimary adds a change if a task set is PRIMARY that should not be.
func (s *driftCheck) checkPrimary(fresh *sluice.TaskSet) {
	label, wanted := plan.NewPrimarySet, fresh
	if !s.x.before.NewPrimary {
		if label = plan.PreviousPrimarySet; s.x.snapshot.Primary == nil {
			return
		}
		wanted = s.live.TaskSet(s.x.snapshot.Primary.ID)
	}
	now := s.live.Primary()
	if wanted == nil || now == nil || now.ID == wanted.ID || now.ID == s.x.adopted.Primary {
		return
	}
	s.changes = append(s.changes, outsideChange{kind: driftPromoted, label: label, set: *now, wantedID: wanted.ID})
}

// revertDrift gives a task set its expected scale, or promotes the one that should be PRIMARY.
func (t taskSets) revertDrift(ctx context.Context, c outsideChange) error {
	if c.kind == driftPromoted {
		return t.sets.Promote(ctx, t.makeWrite, sluice.TaskSet{ID: c.wantedID}, c.label)
	}
	v := sluice.Primary
	if c.label == plan.CanarySet {
		v = sluice.Canary
	}
	m := t.newMember(c.set, v, c.label)
	if err := t.sets.Scale(ctx, t.makeWrite, c.set, c.label, int(c.want)); err != nil {
		return err
	}
	return t.awaitNewTasks(ctx, m, 0)
}
