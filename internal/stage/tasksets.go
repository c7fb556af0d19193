package stage

import (
	"context"

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

// remember has nothing to tell: what an earlier deployment left stays beside.
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

// ensure makes the task set or finds it, and tells which.
func (t taskSets) ensure(ctx context.Context, v sluice.Variant, w ecs.Wanted) (member, error) {
	set, found, err := t.sets.EnsureSet(ctx, t.act, w)
	if err == nil && found {
		t.Host.Emit(sluice.Adopted{Action: w.By, Resource: set.ID})
	}
	return t.member(set, v, w.Label), err
}

// startPrimary brings the service to the file, creates the new primary, waits
// until it is healthy and promotes it.
func (t taskSets) startPrimary(ctx context.Context, live *ecs.Live, rev ecs.Revision) (member, error) {
	if err := t.updateService(ctx, live); err != nil {
		return member{}, err
	}
	if t.Stage.Recreate {
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

// promote makes the set PRIMARY unless it is already. That it is must be seen
// twice: the first answer may be of the time before another one was promoted.
func (t taskSets) promote(ctx context.Context, m member) error {
	now, err := t.find(ctx, m)
	if err == nil && now.Status == "PRIMARY" {
		if err = t.current(ctx); err == nil {
			now, err = t.find(ctx, m)
		}
	}
	if err != nil || now.Status == "PRIMARY" {
		return err
	}
	return t.sets.Promote(ctx, t.act, now.TaskSet, m.label)
}

// stopOld empties the old primary before the new one starts (recreate).
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

func (t taskSets) retireKept(ctx context.Context) error {
	old, ok, err := saved[string](ctx, t.Host, keyKeptOld)
	if err != nil || !ok {
		return err
	}
	return t.retireStanding(ctx, old)
}

// retireStanding retires the old primary of that id if it still stands.
func (t taskSets) retireStanding(ctx context.Context, id string) error {
	if id == "" {
		return nil
	}
	live, err := t.observe(ctx)
	if err != nil {
		return err
	}
	set := live.TaskSet(id)
	if set == nil {
		return nil
	}
	return t.retire(ctx, t.member(*set, sluice.Primary, plan.OldPrimarySet))
}

// retireOthers retires the old primary and every other task set of ours.
func (t taskSets) retireOthers(ctx context.Context, primary member) error {
	live, err := t.observe(ctx)
	if err != nil {
		return err
	}
	canary, err := t.canarySet(ctx, live)
	if err != nil {
		return err
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
		case !plan.Ours(set.ExternalID) && (t.Ours == nil || !t.Ours(set.ID)):
			continue
		}
		if err := t.retire(ctx, m); err != nil {
			return err
		}
	}
	return nil
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

// canarySet is the canary of this deployment if it stands, else nil.
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

// everyTask tells by one listing which variant each task runs.
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

// made are the new primary, unless it serves, and the canary.
func (t taskSets) made(ctx context.Context) ([]member, error) {
	live, err := t.observe(ctx)
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
