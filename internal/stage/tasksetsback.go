package stage

import (
	"context"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// restore returns to the old primary. If it still stands, traffic goes back at
// once; else its revision is started first, and traffic stays where it is until
// that is healthy.
func (t taskSets) restore(ctx context.Context, live *ecs.Live) error {
	if err := t.restoreAttributes(ctx, live); err != nil {
		return err
	}
	old := t.former.Primary
	if old == nil {
		return t.access.restore(ctx)
	}
	if set := live.TaskSet(old.ID); set != nil && set.Status != "DRAINING" {
		return t.reviveOld(ctx, *set, *old)
	}
	return t.restartOld(ctx, *old)
}

func (t taskSets) restoreAttributes(ctx context.Context, live *ecs.Live) error {
	if len(t.former.Attributes.Members) == 0 || !t.former.Service {
		return nil
	}
	u := t.former.Attributes
	if set := t.countGiven(); set != nil && live.Desired != *set && live.Desired != t.former.Desired {
		t.warn("the desired count (%d) was set by somebody else and is left as it is", live.Desired)
		if u = u.Without("desiredCount"); len(u.Members) == 0 {
			return nil
		}
	}
	return t.hand.Update(ctx, t.act, "restore service", u)
}

// reviveOld returns to the old primary, which still stands. It may have been
// scaled down already.
func (t taskSets) reviveOld(ctx context.Context, set, was sluice.TaskSet) error {
	m := t.member(set, sluice.Primary, plan.OldPrimarySet)
	if set.Scale != was.Scale {
		if err := t.sets.Scale(ctx, t.act, set, m.label, int(was.Scale)); err != nil {
			return err
		}
		if err := t.awaitBack(ctx, m); err != nil {
			return err
		}
	}
	if err := t.access.restore(ctx); err != nil {
		return err
	}
	return t.promote(ctx, m)
}

// restartOld starts the old revision again, since its task set is gone.
func (t taskSets) restartOld(ctx context.Context, was sluice.TaskSet) error {
	t.note("the old primary %s is gone: starting %s again", was.ID, was.Revision)
	attachment := t.access.attach(sluice.Primary)
	if was.TargetGroup != "" {
		attachment.TargetGroup = was.TargetGroup
	}
	by, err := t.restoredID(ctx)
	if err != nil {
		return err
	}
	m, err := t.ensure(ctx, sluice.Primary, ecs.Wanted{By: by, Label: plan.RestoredSet, Scale: int(was.Scale), Attach: attachment,
		Revision: ecs.Revision{ARN: was.Revision, Name: was.Revision}})
	if err != nil {
		return err
	}
	if err := t.awaitBack(ctx, m); err != nil {
		return t.restoredAgain(ctx, err)
	}
	if err := t.promote(ctx, m); err != nil {
		return err
	}
	return t.access.restore(ctx)
}

// stays promotes what was returned to once more if somebody promoted meanwhile what is
// about to be taken away.
func (t taskSets) stays(ctx context.Context) error {
	live, err := t.observe(ctx)
	if err != nil {
		return err
	}
	canary, err := t.canarySet(ctx, live)
	if err != nil {
		return err
	}
	restored, err := t.restoredID(ctx)
	if err != nil {
		return err
	}
	now, back := live.Primary(), t.returnedTo(live, restored)
	ours := now != nil && (now.ExternalID == string(t.newPrimaryID()) || canary != nil && now.ID == canary.ID)
	if !ours || back == nil {
		return nil
	}
	m := t.member(*back, sluice.Primary, plan.OldPrimarySet)
	if back.ID != t.former.Primary.ID {
		m.label = plan.RestoredSet
	}
	t.warn("somebody else's change: task set %s was made PRIMARY during the rollback; it is taken away, and %s is PRIMARY again", now.ID, back.ID)
	if err := t.promote(ctx, m); err != nil {
		return err
	}
	return t.current(ctx)
}

// returnedTo is the task set to which the rollback returned: the old primary, or the
// one that was started in its place.
func (t taskSets) returnedTo(live *ecs.Live, restored sluice.ActionID) *sluice.TaskSet {
	if t.former.Primary == nil {
		return nil
	}
	if old := live.TaskSet(t.former.Primary.ID); old != nil && old.Status != "DRAINING" {
		return old
	}
	return live.Made(restored)
}

func (t taskSets) revive(ctx context.Context, m member) (bool, error) {
	if m.Scale != 0 {
		return false, nil
	}
	return true, t.sets.Scale(ctx, t.act, m.TaskSet, plan.ServingSet, 100)
}

func (t taskSets) left(ctx context.Context, former string) ([]member, error) {
	live, err := t.observe(ctx)
	if err != nil {
		return nil, err
	}
	var all []member
	for _, set := range live.TaskSets {
		if plan.LeftOver(set, former) {
			all = append(all, t.member(set, sluice.Canary, plan.OtherSets))
		}
	}
	return all, nil
}
