package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// listDrift returns task sets that another actor deleted, scaled or promoted.
func (t taskSets) foreign(_ context.Context, x *expectation, live *ecs.Live) ([]change, error) {
	s := sight{x: x, live: live}
	b, a := x.before, x.after
	if b.canary > 0 && b.canary == a.canary {
		s.stands(plan.CanarySet, live.Made(x.canary), float64(b.canary))
	} else if set := live.Made(x.canary); t.grown && set != nil {
		s.stands(plan.CanarySet, set, float64(a.canary))
	}
	fresh := live.Made(x.fresh)
	starts := a.fresh && !b.fresh // in this stage
	promoted := starts && fresh != nil && fresh.Status == "PRIMARY"
	if b.fresh && a.fresh || promoted {
		s.stands(plan.NewPrimarySet, fresh, 100)
	}
	if promoted {
		return s.all, nil // the stage itself removes the previous primary
	}
	if was := x.former.Primary; was != nil && b.old && (a.old || starts && !t.Stage.Recreate) {
		s.stands(plan.OldPrimarySet, live.TaskSet(was.ID), was.Scale)
	}
	s.serves(fresh)
	return s.all, nil
}

// driftCheck compares one read with the expected task sets.
type sight struct {
	x    *expectation
	live *ecs.Live
	all  []change
}

// checkScale compares a task set with its expected scale.
func (s *sight) stands(label string, set *sluice.TaskSet, scale float64) {
	switch {
	case slices.Contains(s.x.accepted.Gone, label):
	case set == nil || set.Status == "DRAINING":
		s.all = append(s.all, change{did: wasDeleted, label: label})
	default:
		if kept, ok := s.x.accepted.Scales[set.ID]; ok {
			scale = kept
		}
		if set.Scale != scale {
			s.all = append(s.all, change{did: wasScaled, label: label, set: *set, have: set.Scale, want: scale})
		}
	}
}

// checkPrimary adds a change if a task set is PRIMARY that should not be.
func (s *sight) serves(fresh *sluice.TaskSet) {
	label, wanted := plan.NewPrimarySet, fresh
	if !s.x.before.fresh {
		if label = plan.OldPrimarySet; s.x.former.Primary == nil {
			return
		}
		wanted = s.live.TaskSet(s.x.former.Primary.ID)
	}
	now := s.live.Primary()
	if wanted == nil || now == nil || now.ID == wanted.ID || now.ID == s.x.accepted.Primary {
		return
	}
	s.all = append(s.all, change{did: wasPromoted, label: label, set: *now, of: wanted.ID})
}

// revertDrift gives a task set its expected scale, or promotes the one that should be PRIMARY.
func (t taskSets) undo(ctx context.Context, c change) error {
	if c.did == wasPromoted {
		return t.sets.Promote(ctx, t.act, sluice.TaskSet{ID: c.of}, c.label)
	}
	v := sluice.Primary
	if c.label == plan.CanarySet {
		v = sluice.Canary
	}
	m := t.member(c.set, v, c.label)
	if err := t.sets.Scale(ctx, t.act, c.set, c.label, int(c.want)); err != nil {
		return err
	}
	return t.awaitNew(ctx, m, 0)
}
