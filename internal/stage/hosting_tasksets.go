package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// taskSets hosts the variants as two task sets of one service with deployment
// controller EXTERNAL.
type taskSets struct {
	*Run
	sets ecs.TaskSets
}

func (taskSets) kindName() string { return "task set" }

func (t taskSets) newMember(set sluice.TaskSet, v sluice.Variant, label string) member {
	return member{TaskSet: set, variant: v, label: label, service: t.client}
}

// snapshotCanary returns none: a task set of an earlier deployment is not taken over.
func (taskSets) snapshotCanary(context.Context) (*memory.CanaryService, error) { return nil, nil }

func (t taskSets) createService(ctx context.Context) (*ecs.ServiceState, error) {
	id := sluice.NewActionID(t.Deployment, "service", "create")
	if err := t.client.Create(ctx, t.makeWrite, id, *t.service.Input, t.newClaimTags()); err != nil {
		return nil, err
	}
	return t.observeService(ctx)
}

func (t taskSets) ensureCanary(ctx context.Context, rev ecs.Revision, scale int) (member, error) {
	by, err := t.canaryID(ctx)
	if err != nil {
		return member{}, err
	}
	return t.ensureSet(ctx, sluice.Canary, ecs.WantedTaskSet{By: by, Label: plan.CanarySet, Revision: rev, Scale: scale,
		Attach: t.traffic.attachmentOf(sluice.Canary)})
}

// ensureSet creates the task set or finds it, and emits an event if it was found.
func (t taskSets) ensureSet(ctx context.Context, v sluice.Variant, w ecs.WantedTaskSet) (member, error) {
	set, found, err := t.sets.EnsureSet(ctx, t.makeWrite, w)
	if err == nil && found {
		t.Host.Emit(sluice.Adopted{Action: w.By, Resource: set.ID})
	}
	m := t.newMember(set, v, w.Label)
	if !found {
		m.createdAt = t.Clock.Now()
	}
	return m, err
}

// startPrimary writes the file's fields to the service, creates the new primary, waits until it is
// healthy and promotes it.
func (t taskSets) startPrimary(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (member, error) {
	if err := t.updateService(ctx, live); err != nil {
		return member{}, err
	}
	if err := t.saveNewPrimaryStep(ctx, memory.PrimaryBegun); err != nil {
		return member{}, err
	}
	if t.Stage.Recreate {
		if err := t.saveNewPrimaryStep(ctx, memory.PrimaryEmptied); err != nil {
			return member{}, err
		}
		if err := t.drainOldPrimary(ctx, live); err != nil {
			return member{}, err
		}
	}
	m, err := t.ensureSet(ctx, sluice.Primary, ecs.WantedTaskSet{By: t.newPrimaryID(), Label: plan.NewPrimarySet,
		Revision: rev, Scale: 100, Attach: t.traffic.attachmentOf(sluice.Primary)})
	if err != nil {
		return m, err
	}
	if err := t.awaitNewTasks(ctx, m, 0); err != nil {
		return m, err
	}
	return m, t.promoteSet(ctx, m)
}

// saveNewPrimaryStep saves the progress of the new primary. A second run does not save an earlier
// step.
func (t taskSets) saveNewPrimaryStep(ctx context.Context, far memory.PrimaryProgress) error {
	primary, err := t.memory.Primary.Load(ctx)
	order := []memory.PrimaryProgress{"", memory.PrimaryBegun, memory.PrimaryEmptied, memory.PrimaryPromoted}
	if err != nil || slices.Index(order, primary.Progress) >= slices.Index(order, far) {
		return err
	}
	primary.Progress = far
	return t.memory.Primary.Save(ctx, primary)
}

// promoteSet makes the set PRIMARY unless it is already. In a rollback after we promoted another
// set, a read that shows this set PRIMARY proves nothing: it may be older than that promotion.
func (t taskSets) promoteSet(ctx context.Context, m member) error {
	primary, err := t.memory.Primary.Load(ctx)
	if err != nil {
		return err
	}
	now, err := t.observeExisting(ctx, m)
	switch {
	case err != nil:
		return err
	case t.isRollback() && primary.Progress == memory.PrimaryPromoted: // AWS accepts the call a second time
	case now.Status == "PRIMARY":
		if err := t.awaitReadLag(ctx); err != nil {
			return err
		}
		if now, err = t.observeExisting(ctx, m); err != nil || now.Status == "PRIMARY" {
			return err
		}
	}
	if !t.isRollback() {
		if err := t.saveNewPrimaryStep(ctx, memory.PrimaryPromoted); err != nil {
			return err
		}
	}
	return t.sets.Promote(ctx, t.makeWrite, now.TaskSet, m.label)
}

// drainOldPrimary scales the old primary to 0 before the new one starts (recreate).
func (t taskSets) drainOldPrimary(ctx context.Context, live *ecs.ServiceState) error {
	old := live.TaskSet(t.oldPrimaryID())
	if old == nil || live.CreatedByAction(t.newPrimaryID()) != nil {
		return nil
	}
	return t.drainMembers(ctx, t.newMember(*old, sluice.Primary, plan.PreviousPrimarySet))
}

func (t taskSets) retireOldPrimary(ctx context.Context, primary member) error {
	old := t.oldPrimaryID()
	if t.Stage.KeepOld {
		t.emitNote("the previous primary %s is kept until the canary is deleted", old)
		return t.memory.Primary.Update(ctx, func(p *memory.Primary) { p.Kept = old })
	}
	if old == primary.ID {
		return nil
	}
	return t.retireOldByID(ctx, old)
}

func (t taskSets) listKept(ctx context.Context) ([]member, error) {
	saved, err := t.memory.Primary.Load(ctx)
	if err != nil {
		return nil, err
	}
	return t.findOldPrimary(ctx, saved.Kept)
}

// retireOldByID retires the old primary of that ID if it still exists.
func (t taskSets) retireOldByID(ctx context.Context, id string) error {
	old, err := t.findOldPrimary(ctx, id)
	if err != nil {
		return err
	}
	return t.retireMembers(ctx, old...)
}

// findOldPrimary returns the old primary of that ID if it still exists.
func (t taskSets) findOldPrimary(ctx context.Context, id string) ([]member, error) {
	if id == "" {
		return nil, nil
	}
	live, err := t.observeService(ctx)
	if err != nil {
		return nil, err
	}
	set := live.TaskSet(id)
	if set == nil {
		return nil, nil
	}
	return []member{t.newMember(*set, sluice.Primary, plan.PreviousPrimarySet)}, nil
}

// listOthers returns the old primary and every other task set that this deployment may remove.
func (t taskSets) listOthers(ctx context.Context, primary member) (all []member, err error) {
	live, err := t.observeService(ctx)
	if err != nil {
		return nil, err
	}
	canary, err := t.findCanarySet(ctx, live)
	if err != nil {
		return nil, err
	}
	for _, set := range live.TaskSets {
		m := t.newMember(set, sluice.Canary, plan.OtherSets)
		switch {
		case set.ID == primary.ID:
			continue
		case set.ID == t.oldPrimaryID():
			m.variant, m.label = sluice.Primary, plan.PreviousPrimarySet
		case canary != nil && set.ID == canary.ID:
			m.label = plan.CanarySet
		case plan.IsSluiceID(set.ExternalID) || t.isLeftover(set):
		case t.isRemovableOther(live, set):
			m.label = plan.ExternalSets
		default:
			continue
		}
		all = append(all, m)
	}
	return all, nil
}

// isLeftover reports whether a former tool of the application created a task set, or whether the
// set served before a deployment that did not end.
func (t taskSets) isLeftover(set sluice.TaskSet) bool {
	return t.MayRemove != nil && t.MayRemove(set.ID) || t.Plan.PreviousSet != "" && set.ID == t.Plan.PreviousSet
}

// isRemovableOther reports whether another actor's task set gets requests from our groups or by our
// name, and is to be removed (onOtherTargets: remove).
func (t taskSets) isRemovableOther(live *ecs.ServiceState, set sluice.TaskSet) bool {
	if t.Plan.OnOtherTargets != sluice.RemoveTargets || set.Status != "ACTIVE" {
		return false
	}
	if t.Plan.Registry != nil && plan.IsRegisteredIn(*t.Plan.Registry, live.Raw.TaskSets, set.ID) {
		return true
	}
	if set.TargetGroup == "" {
		return false
	}
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		if set.TargetGroup == t.traffic.attachmentOf(v).TargetGroup {
			return true
		}
	}
	return false
}

func (t taskSets) findVariant(ctx context.Context, v sluice.Variant) (*member, error) {
	live, err := t.observeShared(ctx)
	if err != nil {
		return nil, err
	}
	return t.findVariantIn(ctx, live, v)
}

func (t taskSets) findVariantIn(ctx context.Context, live *ecs.ServiceState, v sluice.Variant) (_ *member, err error) {
	set, label := live.Primary(), plan.NewPrimarySet
	if v == sluice.Canary {
		label = plan.CanarySet
		if set, err = t.findCanarySet(ctx, live); err != nil {
			return nil, err
		}
	}
	return t.memberOrNil(live, set, v, label).withEvents(live), nil
}

func (t taskSets) memberOrNil(live *ecs.ServiceState, set *sluice.TaskSet, v sluice.Variant, label string) *member {
	if set == nil {
		return nil
	}
	m := t.newMember(*set, v, label)
	m.live = live
	return &m
}

// withEvents adds the events of the service that was read with the member; nil stays nil.
func (m *member) withEvents(live *ecs.ServiceState) *member {
	if m != nil {
		m.events = live.Events()
	}
	return m
}

// findCanarySet returns the canary of this deployment, or nil if there is none.
func (t taskSets) findCanarySet(ctx context.Context, live *ecs.ServiceState) (*sluice.TaskSet, error) {
	id, err := t.canaryID(ctx)
	if err != nil {
		return nil, err
	}
	return live.CreatedByAction(id), nil
}

func (t taskSets) refreshMember(ctx context.Context, m member) (*member, error) {
	live, err := t.observeShared(ctx)
	if err != nil {
		return nil, err
	}
	return t.memberOrNil(live, live.TaskSet(m.ID), m.variant, m.label).withEvents(live), nil
}

func (t taskSets) listTasks(ctx context.Context, v sluice.Variant) ([]ecs.Task, error) {
	all, err := t.listAllTasks(ctx)
	return all[v], err
}

// listAllTasks assigns each task to its variant by one listing.
func (t taskSets) listAllTasks(ctx context.Context) (map[sluice.Variant][]ecs.Task, error) {
	canary, err := t.findVariant(ctx, sluice.Canary)
	if err != nil {
		return nil, err
	}
	tasks, err := t.client.Tasks(ctx)
	all := map[sluice.Variant][]ecs.Task{}
	for _, task := range tasks {
		v := sluice.Primary
		if canary != nil && task.StartedBy == canary.ID {
			v = sluice.Canary
		}
		all[v] = append(all[v], task)
	}
	return all, err
}

func (t taskSets) scaleToZero(ctx context.Context, m member) error {
	if m.Scale == 0 {
		return nil
	}
	return t.sets.Scale(ctx, t.makeWrite, m.TaskSet, m.label, 0)
}

func (t taskSets) deleteMember(ctx context.Context, m member) error {
	return t.sets.Delete(ctx, t.makeWrite, m.TaskSet, m.label)
}

// listCreated returns the new primary, unless it serves, and the canary. A read that does not show
// one of them proves its deletion only if the read must be newer than the creation.
func (t taskSets) listCreated(ctx context.Context) ([]member, error) {
	primary, err := t.memory.Primary.Load(ctx)
	if err != nil {
		return nil, err
	}
	canaryID, rolledOut, err := t.loadCanaryRollout(ctx)
	if err != nil {
		return nil, err
	}
	live, err := t.readAfter(ctx, writeProof{writeName: "the task sets of this deployment", sentAt: t.wroteAt,
		shows: func(live *ecs.ServiceState) bool {
			fresh := live.CreatedByAction(t.newPrimaryID())
			return (primary.Progress == "" || fresh != nil &&
				(primary.Progress != memory.PrimaryPromoted || fresh.Status != "PRIMARY")) &&
				(!rolledOut || live.CreatedByAction(canaryID) != nil)
		}})
	if err != nil {
		return nil, err
	}
	var all []member
	if set := live.CreatedByAction(t.newPrimaryID()); set != nil && set.Status != "PRIMARY" {
		all = append(all, t.newMember(*set, sluice.Primary, plan.NewPrimarySet))
	}
	canary, err := t.findCanarySet(ctx, live)
	if err == nil && canary != nil {
		all = append(all, t.newMember(*canary, sluice.Canary, plan.CanarySet))
	}
	return all, err
}
