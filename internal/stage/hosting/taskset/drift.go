package taskset

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// ListDrift returns task sets that another actor deleted, scaled or promoted.
func (t taskSets) ListDrift(_ context.Context, x *step.Expectation, live *ecs.ServiceState) ([]step.OutsideChange,
	error) {
	s := driftCheck{x: x, live: live}
	b, a := x.Before, x.After
	if b.Canary.Exists() && b.Canary.Scale == a.Canary.Scale {
		s.checkScale(plan.CanarySet, live.CreatedByAction(x.CanaryID), float64(b.Canary.Scale))
	} else if set := live.CreatedByAction(x.CanaryID); t.step.CanaryScaled && set != nil {
		s.checkScale(plan.CanarySet, set, float64(a.Canary.Scale))
	}
	fresh := live.CreatedByAction(x.NewPrimaryID)
	starts := a.NewPrimary && !b.NewPrimary // in this stage
	promoted := starts && fresh != nil && fresh.Status == "PRIMARY"
	if b.NewPrimary && a.NewPrimary || promoted {
		s.checkScale(plan.NewPrimarySet, fresh, 100)
	}
	if promoted {
		return s.changes, nil // the stage itself removes the previous primary
	}
	if was := x.Snapshot.Primary; was != nil && b.PreviousPrimary && (a.PreviousPrimary || starts &&
		!t.step.Stage.Recreate) {
		s.checkScale(plan.PreviousPrimarySet, live.TaskSet(was.ID), was.Scale)
	}
	s.checkPrimary(fresh)
	return s.changes, nil
}

// driftCheck compares one read with the expected task sets.
type driftCheck struct {
	x       *step.Expectation
	live    *ecs.ServiceState
	changes []step.OutsideChange
}

// checkScale compares a task set with its expected scale.
func (s *driftCheck) checkScale(label string, set *sluice.TaskSet, scale float64) {
	switch {
	case slices.Contains(s.x.Adopted.Deleted, label):
	case set == nil || set.Status == "DRAINING":
		s.changes = append(s.changes, step.OutsideChange{Kind: step.DriftDeleted, Label: label})
	default:
		if kept, ok := s.x.Adopted.Scales[set.ID]; ok {
			scale = kept
		}
		if set.Scale != scale {
			s.changes = append(s.changes, step.OutsideChange{Kind: step.DriftScaled, Label: label, Set: *set,
				Have: set.Scale,
				Want: scale})
		}
	}
}

// checkPrimary adds a change if a task set is PRIMARY that should not be.
func (s *driftCheck) checkPrimary(fresh *sluice.TaskSet) {
	label, wanted := plan.NewPrimarySet, fresh
	if !s.x.Before.NewPrimary {
		if label = plan.PreviousPrimarySet; s.x.Snapshot.Primary == nil {
			return
		}
		wanted = s.live.TaskSet(s.x.Snapshot.Primary.ID)
	}
	now := s.live.Primary()
	if wanted == nil || now == nil || now.ID == wanted.ID || now.ID == s.x.Adopted.Primary {
		return
	}
	s.changes = append(s.changes, step.OutsideChange{Kind: step.DriftPromoted, Label: label, Set: *now,
		WantedID: wanted.ID})
}

// RevertDrift gives a task set its expected scale, or promotes the one that should be PRIMARY.
func (t taskSets) RevertDrift(ctx context.Context, c step.OutsideChange) error {
	if c.Kind == step.DriftPromoted {
		return t.sets.Promote(ctx, t.step.MakeWrite, sluice.TaskSet{ID: c.WantedID}, c.Label)
	}
	v := sluice.Primary
	if c.Label == plan.CanarySet {
		v = sluice.Canary
	}
	m := t.newMember(c.Set, v, c.Label)
	if err := t.sets.Scale(ctx, t.step.MakeWrite, c.Set, c.Label, int(c.Want)); err != nil {
		return err
	}
	return capacity.AwaitNewTasks(ctx, t.step, m, 0)
}
