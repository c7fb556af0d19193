package stage

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// taskSets hosts the variants as two task sets of one service with deployment
// controller EXTERNAL.
type taskSets struct {
	*Run
	sets ecs.TaskSets
}

func (taskSets) kind() string { return "task set" }

func (t taskSets) member(set sluice.TaskSet, v sluice.Variant, label string) member {
	return member{TaskSet: set, variant: v, label: label, of: t.hand}
}

// snapshotCanary returns none: a task set of an earlier deployment is not taken over.
func (taskSets) remember(context.Context) (*formerCanary, error) { return nil, nil }

func (t taskSets) create(ctx context.Context) (*ecs.Live, error) {
	id := sluice.NewActionID(t.Deployment, "service", "create")
	if err := t.hand.Create(ctx, t.act, id, *t.service.Input, t.newClaim()); err != nil {
		return nil, err
	}
	return t.observe(ctx)
}

func (t taskSets) ensureCanary(ctx context.Context, rev ecs.Revision, scale int) (member, error) {
	by, err := t.canaryID(ctx)
	if err != nil {
		return member{}, err
	}
	return t.ensure(ctx, sluice.Canary, ecs.Wanted{By: by, Label: plan.CanarySet, Revision: rev, Scale: scale, Attach: t.access.attach(sluice.Canary)})
}

// ensureSet creates the task set or finds it, and emits an event if it was found.
func (t taskSets) ensure(ctx context.Context, v sluice.Variant, w ecs.Wanted) (member, error) {
	set, found, err := t.sets.EnsureSet(ctx, t.act, w)
	if err == nil && found {
		t.Host.Emit(sluice.Adopted{Action: w.By, Resource: set.ID})
	}
	return t.member(set, v, w.Label), err
}

// startPrimary writes the file's fields to the service, creates the new primary, waits until it is
// healthy and promotes it.
func (t taskSets) startPrimary(ctx context.Context, live *ecs.Live, rev ecs.Revision) (member, error) {
	if err := t.updateService(ctx, live); err != nil {
		return member{}, err
	}
	if err := t.reaches(ctx, freshBegun); err != nil {
		return member{}, err
	}
	if t.Stage.Recreate {
		if err := t.reaches(ctx, freshEmptied); err != nil {
			return member{}, err
		}
		if err := t.stopOld(ctx, live); err != nil {
			return member{}, err
		}
	}
	m, err := t.ensure(ctx, sluice.Primary, ecs.Wanted{By: t.newPrimaryID(), Label: plan.NewPrimarySet, Revision: rev, Scale: 100, Attach: t.access.attach(sluice.Primary)})
	if err != nil {
		return m, err
	}
	if err := t.awaitNew(ctx, m, 0); err != nil {
		return m, err
	}
	return m, t.promote(ctx, m)
}

// Progress of the new primary, saved before each write.
const (
	freshBegun    = "begun"    // its task set may exist
	freshEmptied  = "emptied"  // and the old primary may be scaled down (recreate)
	freshPromoted = "promoted" // it may be PRIMARY, and the old primary scaled down
)

// saveNewPrimaryStep saves the progress of the new primary. A second run does not save an earlier
// step.
func (t taskSets) reaches(ctx context.Context, far string) error {
	was, _, err := saved[string](ctx, t.Host, keyFresh)
	order := []string{"", freshBegun, freshEmptied, freshPromoted}
	if err != nil || slices.Index(order, was) >= slices.Index(order, far) {
		return err
	}
	return save(ctx, t.Host, keyFresh, far)
}

// promoteSet makes the set PRIMARY unless it is already. In a rollback after we promoted another
// set, a read that shows this set PRIMARY proves nothing: it may be older than that promotion.
func (t taskSets) promote(ctx context.Context, m member) error {
	far, _, err := saved[string](ctx, t.Host, keyFresh)
	if err != nil {
		return err
	}
	now, err := t.find(ctx, m)
	switch {
	case err != nil:
		return err
	case t.returns() && far == freshPromoted: // AWS accepts the call a second time
	case now.Status == "PRIMARY":
		if err := t.current(ctx); err != nil {
			return err
		}
		if now, err = t.find(ctx, m); err != nil || now.Status == "PRIMARY" {
			return err
		}
	}
	if !t.returns() {
		if err := t.reaches(ctx, freshPromoted); err != nil {
			return err
		}
	}
	return t.sets.Promote(ctx, t.act, now.TaskSet, m.label)
}

// drainOldPrimary scales the old primary to 0 before the new one starts (recreate).
func (t taskSets) stopOld(ctx context.Context, live *ecs.Live) error {
	old := live.TaskSet(t.oldPrimary())
	if old == nil || live.Made(t.newPrimaryID()) != nil {
		return nil
	}
	return t.empty(ctx, t.member(*old, sluice.Primary, plan.OldPrimarySet))
}

func (t taskSets) retireOld(ctx context.Context, primary member) error {
	old := t.oldPrimary()
	if t.Stage.KeepOld {
		t.note("the old primary %s stays until the canary is cleaned", old)
		return save(ctx, t.Host, keyKeptOld, old)
	}
	if old == primary.ID {
		return nil
	}
	return t.retireStanding(ctx, old)
}

func (t taskSets) kept(ctx context.Context) ([]member, error) {
	old, ok, err := saved[string](ctx, t.Host, keyKeptOld)
	if err != nil || !ok {
		return nil, err
	}
	return t.oldStanding(ctx, old)
}

// retireOldByID retires the old primary of that ID if it still exists.
func (t taskSets) retireStanding(ctx context.Context, id string) error {
	old, err := t.oldStanding(ctx, id)
	if err != nil {
		return err
	}
	return t.retire(ctx, old...)
}

// findOldPrimary returns the old primary of that ID if it still exists.
func (t taskSets) oldStanding(ctx context.Context, id string) ([]member, error) {
	if id == "" {
		return nil, nil
	}
	live, err := t.observe(ctx)
	if err != nil {
		return nil, err
	}
	set := live.TaskSet(id)
	if set == nil {
		return nil, nil
	}
	return []member{t.member(*set, sluice.Primary, plan.OldPrimarySet)}, nil
}

// listOthers returns the old primary and every other task set that this deployment may remove.
func (t taskSets) others(ctx context.Context, primary member) (all []member, err error) {
	live, err := t.observe(ctx)
	if err != nil {
		return nil, err
	}
	canary, err := t.canarySet(ctx, live)
	if err != nil {
		return nil, err
	}
	for _, set := range live.TaskSets {
		m := t.member(set, sluice.Canary, plan.OtherSets)
		switch {
		case set.ID == primary.ID:
			continue
		case set.ID == t.oldPrimary():
			m.variant, m.label = sluice.Primary, plan.OldPrimarySet
		case canary != nil && set.ID == canary.ID:
			m.label = plan.CanarySet
		case plan.Ours(set.ExternalID) || t.leftByFormer(set):
		case t.theirs(live, set):
			m.label = plan.ForeignSets
		default:
			continue
		}
		all = append(all, m)
	}
	return all, nil
}

// isLeftover reports whether a former tool of the application created a task set, or whether the
// set served before a deployment that did not end.
func (t taskSets) leftByFormer(set sluice.TaskSet) bool {
	return t.Ours != nil && t.Ours(set.ID) || t.Plan.Former != "" && set.ID == t.Plan.Former
}

// isRemovableOther reports whether another actor's task set gets requests from our groups or by our
// name, and is to be removed (onOtherTargets: remove).
func (t taskSets) theirs(live *ecs.Live, set sluice.TaskSet) bool {
	if t.Plan.OnOtherTargets != sluice.RemoveTargets || set.Status != "ACTIVE" {
		return false
	}
	if t.Plan.Registry != nil && plan.RegisteredIn(*t.Plan.Registry, live.Raw.TaskSets, set.ID) {
		return true
	}
	if set.TargetGroup == "" {
		return false
	}
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		if set.TargetGroup == t.access.attach(v).TargetGroup {
			return true
		}
	}
	return false
}

func (t taskSets) standing(ctx context.Context, v sluice.Variant) (*member, error) {
	live, err := t.observe(ctx)
	if err != nil {
		return nil, err
	}
	return t.among(ctx, live, v)
}

func (t taskSets) among(ctx context.Context, live *ecs.Live, v sluice.Variant) (_ *member, err error) {
	set, label := live.Primary(), plan.NewPrimarySet
	if v == sluice.Canary {
		label = plan.CanarySet
		if set, err = t.canarySet(ctx, live); err != nil {
			return nil, err
		}
	}
	return t.memberOf(set, v, label), nil
}

func (t taskSets) memberOf(set *sluice.TaskSet, v sluice.Variant, label string) *member {
	if set == nil {
		return nil
	}
	m := t.member(*set, v, label)
	return &m
}

// findCanarySet returns the canary of this deployment, or nil if there is none.
func (t taskSets) canarySet(ctx context.Context, live *ecs.Live) (*sluice.TaskSet, error) {
	id, err := t.canaryID(ctx)
	if err != nil {
		return nil, err
	}
	return live.Made(id), nil
}

func (t taskSets) again(ctx context.Context, m member) (*member, error) {
	live, err := t.observe(ctx)
	if err != nil {
		return nil, err
	}
	return t.memberOf(live.TaskSet(m.ID), m.variant, m.label), nil
}

func (t taskSets) tasks(ctx context.Context, v sluice.Variant) ([]ecs.Task, error) {
	all, err := t.everyTask(ctx)
	return all[v], err
}

// listAllTasks assigns each task to its variant by one listing.
func (t taskSets) everyTask(ctx context.Context) (map[sluice.Variant][]ecs.Task, error) {
	canary, err := t.standing(ctx, sluice.Canary)
	if err != nil {
		return nil, err
	}
	tasks, err := t.hand.Tasks(ctx)
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

func (t taskSets) zero(ctx context.Context, m member) error {
	if m.Scale == 0 {
		return nil
	}
	return t.sets.Scale(ctx, t.act, m.TaskSet, m.label, 0)
}

func (t taskSets) remove(ctx context.Context, m member) error {
	return t.sets.Delete(ctx, t.act, m.TaskSet, m.label)
}

// listCreated returns the new primary, unless it serves, and the canary. A read that does not show
// one of them proves its deletion only if the read must be newer than the creation.
func (t taskSets) made(ctx context.Context) ([]member, error) {
	far, begun, err := saved[string](ctx, t.Host, keyFresh)
	if err != nil {
		return nil, err
	}
	canaryID, rolledOut, err := t.rolledOut(ctx)
	if err != nil {
		return nil, err
	}
	live, err := t.readAfter(ctx, proof{write: "the task sets of this deployment", at: t.wrote, shows: func(live *ecs.Live) bool {
		fresh := live.Made(t.newPrimaryID())
		return (!begun || fresh != nil && (far != freshPromoted || fresh.Status != "PRIMARY")) && (!rolledOut || live.Made(canaryID) != nil)
	}})
	if err != nil {
		return nil, err
	}
	var all []member
	if set := live.Made(t.newPrimaryID()); set != nil && set.Status != "PRIMARY" {
		all = append(all, t.member(*set, sluice.Primary, plan.NewPrimarySet))
	}
	canary, err := t.canarySet(ctx, live)
	if err == nil && canary != nil {
		all = append(all, t.member(*canary, sluice.Canary, plan.CanarySet))
	}
	return all, err
}
