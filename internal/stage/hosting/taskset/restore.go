package taskset

import (
	"context"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// RestorePrimary returns to the old primary. If it still exists, traffic moves back immediately.
// Otherwise its revision is started first, and traffic moves when it is healthy.
func (t taskSets) RestorePrimary(ctx context.Context, live *ecs.ServiceState) error {
	if err := t.restoreAttributes(ctx, live); err != nil {
		return err
	}
	old := t.step.Snapshot.Primary
	if old == nil {
		return t.step.Access.RestoreRoutes(ctx)
	}
	if set := live.TaskSet(old.ID); set != nil && set.Status != "DRAINING" {
		err := t.returnToOldPrimary(ctx, *set, *old)
		if gone, readErr := isOldDeleted(ctx, t.step, err, old.ID); readErr != nil || !gone {
			return err
		}
	}
	return t.restartOldPrimary(ctx, *old)
}

// isOldDeleted reports whether AWS refused a write because the old primary is deleted. The read
// before that write was older than the deletion.
func isOldDeleted(ctx context.Context, s *step.Step, refused error, id string) (bool, error) {
	primary, err := s.Memory.Primary.Load(ctx)
	if refused == nil || err != nil || primary.Progress == "" || sluice.KindOf(refused) != "" &&
		sluice.KindOf(refused) != sluice.OutsideChange {
		return false, err
	}
	goes := func(live *ecs.ServiceState) bool {
		set := live.TaskSet(id)
		return set == nil || set.Status == "DRAINING"
	}
	live, err := s.ReadAfter(ctx, step.WriteProof{WriteName: "the deletion of task set " + id,
		SentAt: s.Clock.Now(),
		Shows:  goes})
	return err == nil && goes(live), err
}

func (t taskSets) restoreAttributes(ctx context.Context, live *ecs.ServiceState) error {
	if len(t.step.Snapshot.Attributes.Members) == 0 || !t.step.Snapshot.Service {
		return nil
	}
	u, err := step.AttributesToRestore(ctx, t.step, live)
	if err != nil || len(u.Members) == 0 {
		return err
	}
	return t.step.Client.Update(ctx, t.step.MakeWrite, "restore service", u)
}

// returnToOldPrimary returns to the old primary, which still exists. It may already be scaled down.
func (t taskSets) returnToOldPrimary(ctx context.Context, set, was sluice.TaskSet) error {
	m := t.newMember(set, sluice.Primary, plan.PreviousPrimarySet)
	primary, err := t.step.Memory.Primary.Load(ctx)
	if err != nil {
		return err
	}
	// a read may be older than our own scale-down
	if far := primary.Progress; far == memory.PrimaryEmptied || far == memory.PrimaryPromoted ||
		set.Scale != was.Scale {
		if err := t.sets.Scale(ctx, t.step.MakeWrite, set, m.Label, int(was.Scale)); err != nil {
			return err
		}
		if err := t.awaitRestored(ctx, m, was.Scale); err != nil {
			return err
		}
	}
	if err := t.step.Access.RestoreRoutes(ctx); err != nil {
		return err
	}
	return t.promoteSet(ctx, m)
}

// restartOldPrimary starts the old revision again, since its task set is deleted.
func (t taskSets) restartOldPrimary(ctx context.Context, was sluice.TaskSet) error {
	t.step.EmitNote("the previous primary %s is deleted: starting %s again", was.ID, was.Revision)
	attachment := t.step.Access.AttachmentOf(sluice.Primary)
	if was.TargetGroup != "" {
		attachment.TargetGroup = was.TargetGroup
	}
	by, err := t.step.RestoredID(ctx)
	if err != nil {
		return err
	}
	m, err := t.ensureSet(ctx, sluice.Primary, ecs.WantedTaskSet{By: by, Label: plan.RestoredSet, Scale: int(was.Scale),
		Attach:   attachment,
		Revision: ecs.Revision{ARN: was.Revision, Name: was.Revision}})
	if err != nil {
		return err
	}
	if err := t.promoteRestored(ctx, m, was.Scale); err != nil {
		return step.AdvanceRestoredID(ctx, t.step, err)
	}
	return t.step.Access.RestoreRoutes(ctx)
}

// promoteRestored makes the restored task set PRIMARY once its tasks serve.
func (t taskSets) promoteRestored(ctx context.Context, m step.Member, scale float64) error {
	if err := t.awaitRestored(ctx, m, scale); err != nil {
		return err
	}
	if err := t.maintainScale(ctx, m, scale); err != nil {
		return err
	}
	return t.promoteSet(ctx, m)
}

// stopIdleCanary scales a canary without requests to 0. ECS starts a limited number of tasks a minute, and
// replaces the tasks of a canary that crash or fail the health check of the load balancer, though the
// canary may be complete now: they would take the starts that the restored tasks need. A canary that gets
// requests is removed later with all that was created. A rule that sent requests to it before the
// deployment does not count: they get the same answer as before.
func (t taskSets) stopIdleCanary(ctx context.Context) error {
	canary, err := step.FindVariant(ctx, t.step, sluice.Canary)
	if err != nil || canary == nil || canary.Status == "DRAINING" || canary.Desired == 0 {
		return err
	}
	switch err := step.CheckCanaryUnrouted(ctx, t.step.Access, *canary); {
	case sluice.KindOf(err) == sluice.OutsideChange:
		return nil // a rule sends requests to it
	case err != nil:
		return err
	}
	if gets, err := t.step.Access.CanaryGetsTraffic(ctx); gets || err != nil {
		return err
	}
	if err := t.step.Access.WaitForPropagation(ctx); err != nil {
		return err
	}
	return t.ScaleToZero(ctx, *canary)
}

// maxRescales is how often a task set is scaled again that other actors scale during a rollback.
const maxRescales = 3

// maintainScale restores the scale of a task set that was scaled during the rollback, and waits
// until its tasks are healthy.
func (t taskSets) maintainScale(ctx context.Context, m step.Member, scale float64) error {
	for n := 1; ; n++ {
		is := func(live *ecs.ServiceState) bool {
			set := live.TaskSet(m.ID)
			return set != nil && set.Scale == scale
		}
		// No earlier read: another process or person may have deleted the task set since its tasks serve.
		live, err := t.step.ReadAfter(ctx, step.WriteProof{WriteName: "the scale of the " + m.Label,
			SentAt: t.step.WroteAt,
			Shows:  is})
		if err != nil || is(live) {
			return err
		}
		now, err := capacity.ObserveExisting(ctx, t.step, m)
		if err != nil || now.Scale == scale {
			return err
		}
		if n > maxRescales {
			return &sluice.Error{Op: "keep the scale of the " + m.Label, Resource: m.ID, Kind: sluice.OutsideChange,
				Err: fmt.Errorf("the scale is %g%% again, although sluice set %g%% %d times", now.Scale, scale,
					maxRescales),
				Next: "find the process or person that scales the task set, then run sluice rollback"}
		}
		t.step.EmitWarning(
			"external change: task set %s was scaled to %g%% during the rollback. sluice scales it to %g%% "+
				"again", m.ID, now.Scale, scale)
		if err := t.sets.Scale(ctx, t.step.MakeWrite, now.TaskSet, m.Label, int(scale)); err != nil {
			return err
		}
		if err := t.awaitRestored(ctx, m, scale); err != nil {
			return err
		}
	}
}

// awaitRestored waits until the tasks of a set that was scaled or created run. It keeps failing tasks of
// the new version from taking all task starts.
func (t taskSets) awaitRestored(ctx context.Context, m step.Member, scale float64) error {
	share := &startShare{sets: t, restored: m, scaledTo: map[string]int{}}
	return capacity.AwaitRestored(ctx, t.step, capacity.Restored{Member: m, WhileMissing: share.see,
		HasScale: func(set sluice.TaskSet) bool { return int(set.Scale) == int(scale) }})
}

// RepromotePrimary keeps the restored primary PRIMARY and at its scale. It promotes it again if
// another actor promoted a task set that is about to be removed.
func (t taskSets) RepromotePrimary(ctx context.Context) error {
	restored, err := t.step.RestoredID(ctx)
	if err != nil {
		return err
	}
	canaryID, err := t.step.CanaryID(ctx)
	if err != nil {
		return err
	}
	ours := func(live *ecs.ServiceState) bool {
		now := live.Primary()
		return now != nil && (now.ExternalID == string(t.step.NewPrimaryID()) || now.ExternalID == string(canaryID))
	}
	live, err := readPromoted(ctx, t.step, func(live *ecs.ServiceState) bool { return !ours(live) })
	if err != nil {
		return err
	}
	now, back := live.Primary(), findRestored(t.step, live, restored)
	if back == nil {
		return nil
	}
	m := t.newMember(*back, sluice.Primary, plan.PreviousPrimarySet)
	if back.ID != t.step.Snapshot.Primary.ID {
		m.Label = plan.RestoredSet
	}
	if !ours(live) && back.Scale == t.step.Snapshot.Primary.Scale {
		return nil // it was read in this poll
	}
	if !ours(live) {
		return t.maintainScale(ctx, m, t.step.Snapshot.Primary.Scale)
	}
	t.step.EmitWarning(
		"external change: task set %s was made PRIMARY during the rollback. sluice deletes it and makes %s "+
			"PRIMARY again", now.ID, back.ID)
	if err := t.promoteSet(ctx, m); err != nil {
		return err
	}
	_, err = t.step.ReadAfter(ctx, step.WriteProof{WriteName: "task set " + back.ID + " as PRIMARY",
		SentAt: t.step.Clock.Now(),
		Shows: func(live *ecs.ServiceState) bool {
			return live.Primary() != nil && live.Primary().ID == back.ID
		}})
	if err != nil {
		return err
	}
	return t.maintainScale(ctx, m, t.step.Snapshot.Primary.Scale)
}

// readPromoted reads until a read shows the task set that we promoted, if this deployment promoted
// one. A read that does not show it may be older. After a time limit another actor has changed it.
func readPromoted(ctx context.Context, s *step.Step, shows func(*ecs.ServiceState) bool) (*ecs.ServiceState, error) {
	primary, err := s.Memory.Primary.Load(ctx)
	if err != nil {
		return nil, err
	}
	if primary.Progress != memory.PrimaryPromoted {
		return step.ObserveShared(ctx, s)
	}
	return s.ReadSharedAfter(ctx, step.WriteProof{WriteName: "the task set that sluice made PRIMARY",
		SentAt: s.WroteAt,
		Shows:  shows})
}

// findRestored is the task set to which the rollback returned: the old primary, or the one that was
// started in its place.
func findRestored(s *step.Step, live *ecs.ServiceState, restored sluice.ActionID) *sluice.TaskSet {
	if s.Snapshot.Primary == nil {
		return nil
	}
	if old := live.TaskSet(s.Snapshot.Primary.ID); old != nil && old.Status != "DRAINING" {
		return old
	}
	return live.CreatedByAction(restored)
}

func (t taskSets) RestoreCapacity(ctx context.Context, m step.Member) (bool, error) {
	if m.Scale != 0 {
		return false, nil
	}
	return true, t.sets.Scale(ctx, t.step.MakeWrite, m.TaskSet, plan.ServingSet, 100)
}

func (t taskSets) ListLeftovers(_ context.Context, live *ecs.ServiceState, former string) ([]step.Member, error) {
	var all []step.Member
	for _, set := range live.TaskSets {
		switch {
		case set.Status == "PRIMARY", sluice.ActionID(set.ExternalID).Deployment() == t.step.Deployment:
		case plan.IsLeftover(set, former), set.Status == "ACTIVE" && isLeftover(t.step, set):
			all = append(all, t.newMember(set, sluice.Canary, plan.OtherSets))
		case isRemovableOther(t.step, live, set):
			all = append(all, t.newMember(set, sluice.Canary, plan.ExternalSets))
		}
	}
	return all, nil
}
