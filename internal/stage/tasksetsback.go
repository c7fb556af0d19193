package stage

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// restorePrimary returns to the old primary. If it still exists, traffic moves back immediately.
// Otherwise its revision is started first, and traffic moves when it is healthy.
func (t taskSets) restore(ctx context.Context, live *ecs.Live) error {
	if err := t.restoreAttributes(ctx, live); err != nil {
		return err
	}
	old := t.former.Primary
	if old == nil {
		return t.access.restore(ctx)
	}
	if set := live.TaskSet(old.ID); set != nil && set.Status != "DRAINING" {
		err := t.reviveOld(ctx, *set, *old)
		if gone, readErr := t.leaves(ctx, err, old.ID); readErr != nil || !gone {
			return err
		}
	}
	return t.restartOld(ctx, *old)
}

// isOldDeleted reports whether AWS refused a write because the old primary is deleted. The read
// before that write was older than the deletion.
func (t taskSets) leaves(ctx context.Context, refused error, id string) (bool, error) {
	_, begun, err := saved[string](ctx, t.Host, keyFresh)
	if refused == nil || err != nil || !begun || sluice.KindOf(refused) != "" && sluice.KindOf(refused) != sluice.OutsideChange {
		return false, err
	}
	goes := func(live *ecs.Live) bool {
		set := live.TaskSet(id)
		return set == nil || set.Status == "DRAINING"
	}
	live, err := t.readAfter(ctx, proof{write: "the deletion of task set " + id, at: t.Clock.Now(), shows: goes})
	return err == nil && goes(live), err
}

func (t taskSets) restoreAttributes(ctx context.Context, live *ecs.Live) error {
	if len(t.former.Attributes.Members) == 0 || !t.former.Service {
		return nil
	}
	u := t.formerAttributes(live)
	if len(u.Members) == 0 {
		return nil
	}
	return t.hand.Update(ctx, t.act, "restore service", u)
}

// attributesToRestore are the attributes that a rollback writes. A desired count that is neither
// the file's nor the former one was set by another actor and is kept.
func (r *Run) formerAttributes(live *ecs.Live) ecs.Update {
	u, set := r.former.Attributes, r.countGiven()
	if set == nil || !slices.Contains(u.Members, "desiredCount") || live.Desired == *set || live.Desired == r.former.Desired {
		return u
	}
	r.warn("the desired count (%d) was set by others and is left as it is", live.Desired)
	return u.Without("desiredCount")
}

// returnToOldPrimary returns to the old primary, which still exists. It may already be scaled down.
func (t taskSets) reviveOld(ctx context.Context, set, was sluice.TaskSet) error {
	m := t.member(set, sluice.Primary, plan.OldPrimarySet)
	far, _, err := saved[string](ctx, t.Host, keyFresh)
	if err != nil {
		return err
	}
	if far == freshEmptied || far == freshPromoted || set.Scale != was.Scale { // a read may be older than our own scale-down
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

// restartOldPrimary starts the old revision again, since its task set is deleted.
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
	if err := t.keepScale(ctx, m, was.Scale); err != nil {
		return err
	}
	if err := t.promote(ctx, m); err != nil {
		return err
	}
	return t.access.restore(ctx)
}

// maxRescales is how often a task set is scaled again that other actors scale during a rollback.
const rescales = 3

// maintainScale restores the scale of a task set that was scaled during the rollback, and waits
// until its tasks are healthy.
func (t taskSets) keepScale(ctx context.Context, m member, scale float64) error {
	for n := 1; ; n++ {
		is := func(live *ecs.Live) bool {
			set := live.TaskSet(m.ID)
			return set != nil && set.Scale == scale
		}
		live, err := t.readAfter(ctx, proof{write: "the scale of the " + m.label, at: t.wrote, shows: is})
		if err != nil || is(live) {
			return err
		}
		now, err := t.find(ctx, m)
		if err != nil || now.Scale == scale {
			return err
		}
		if n > rescales {
			return &sluice.Error{Op: "keep the scale of the " + m.label, Resource: m.ID, Kind: sluice.OutsideChange,
				Err:  fmt.Errorf("it has %g%% again, and it was scaled to %g%% %d times", now.Scale, scale, rescales),
				Next: "find out what scales it; then run sluice rollback"}
		}
		t.warn("somebody else's change: task set %s was scaled to %g%% during the rollback; it is scaled to %g%% again", m.ID, now.Scale, scale)
		if err := t.sets.Scale(ctx, t.act, now.TaskSet, m.label, int(scale)); err != nil {
			return err
		}
		if err := t.awaitBack(ctx, m); err != nil {
			return err
		}
	}
}

// repromotePrimary keeps the restored primary PRIMARY and at its scale. It promotes it again if
// another actor promoted a task set that is about to be removed.
func (t taskSets) stays(ctx context.Context) error {
	restored, err := t.restoredID(ctx)
	if err != nil {
		return err
	}
	canaryID, err := t.canaryID(ctx)
	if err != nil {
		return err
	}
	ours := func(live *ecs.Live) bool {
		now := live.Primary()
		return now != nil && (now.ExternalID == string(t.newPrimaryID()) || now.ExternalID == string(canaryID))
	}
	live, err := t.readPromoted(ctx, func(live *ecs.Live) bool { return !ours(live) })
	if err != nil {
		return err
	}
	now, back := live.Primary(), t.returnedTo(live, restored)
	if back == nil {
		return nil
	}
	m := t.member(*back, sluice.Primary, plan.OldPrimarySet)
	if back.ID != t.former.Primary.ID {
		m.label = plan.RestoredSet
	}
	if !ours(live) {
		return t.keepScale(ctx, m, t.former.Primary.Scale)
	}
	t.warn("somebody else's change: task set %s was made PRIMARY during the rollback; it is taken away, and %s is PRIMARY again", now.ID, back.ID)
	if err := t.promote(ctx, m); err != nil {
		return err
	}
	_, err = t.readAfter(ctx, proof{write: "task set " + back.ID + " as PRIMARY", at: t.Clock.Now(), shows: func(live *ecs.Live) bool {
		return live.Primary() != nil && live.Primary().ID == back.ID
	}})
	if err != nil {
		return err
	}
	return t.keepScale(ctx, m, t.former.Primary.Scale)
}

// readPromoted reads until a read shows the task set that we promoted, if this deployment promoted
// one. A read that does not show it may be older. After a time limit another actor has changed it.
func (t taskSets) readPromoted(ctx context.Context, shows func(*ecs.Live) bool) (*ecs.Live, error) {
	far, _, err := saved[string](ctx, t.Host, keyFresh)
	if err != nil {
		return nil, err
	}
	if far != freshPromoted {
		return t.observe(ctx)
	}
	return t.readAfter(ctx, proof{write: "what we made PRIMARY", at: t.wrote, shows: shows})
}

// findRestored is the task set to which the rollback returned: the old primary, or the one that was
// started in its place.
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

func (t taskSets) left(_ context.Context, live *ecs.Live, former string) ([]member, error) {
	var all []member
	for _, set := range live.TaskSets {
		switch {
		case set.Status == "PRIMARY", sluice.ActionID(set.ExternalID).Deployment() == t.Deployment:
		case plan.LeftOver(set, former), set.Status == "ACTIVE" && t.leftByFormer(set):
			all = append(all, t.member(set, sluice.Canary, plan.OtherSets))
		case t.theirs(live, set):
			all = append(all, t.member(set, sluice.Canary, plan.ForeignSets))
		}
	}
	return all, nil
}
