package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// foreign tells task sets that were deleted, scaled or promoted by somebody else.
func (t taskSets) foreign(_ context.Context, x *expectation, live *ecs.Live) (all []change, _ error) {
	look := func(label string, set *sluice.TaskSet, scale float64) {
		switch {
		case slices.Contains(x.accepted.Gone, label):
		case set == nil || set.Status == "DRAINING":
			all = append(all, change{did: wasDeleted, label: label})
		default:
			if s, ok := x.accepted.Scales[set.ID]; ok {
				scale = s
			}
			if set.Scale != scale {
				all = append(all, change{did: wasScaled, label: label, set: *set, have: set.Scale, want: scale})
			}
		}
	}
	b, a := x.before, x.after
	if b.canary > 0 && b.canary == a.canary {
		look(plan.CanarySet, live.Made(x.canary), float64(b.canary))
	}
	if b.fresh && a.fresh {
		look(plan.NewPrimarySet, live.Made(x.fresh), 100)
	}
	if was := x.former.Primary; was != nil && b.old && a.old {
		look(plan.OldPrimarySet, live.TaskSet(was.ID), was.Scale)
	}
	if b.fresh == a.fresh {
		all = append(all, t.promoted(x, live)...)
	}
	return all, nil
}

// promoted tells of a task set that is PRIMARY and should not be.
func (t taskSets) promoted(x *expectation, live *ecs.Live) []change {
	label, wanted := plan.NewPrimarySet, live.Made(x.fresh)
	if !x.before.fresh {
		if label = plan.OldPrimarySet; x.former.Primary == nil {
			return nil
		}
		wanted = live.TaskSet(x.former.Primary.ID)
	}
	now := live.Primary()
	if wanted == nil || now == nil || now.ID == wanted.ID || now.ID == x.accepted.Primary {
		return nil
	}
	return []change{{did: wasPromoted, label: label, set: *now, of: wanted.ID}}
}

// undo scales a task set as it should be, or promotes the one that should be
// PRIMARY.
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
