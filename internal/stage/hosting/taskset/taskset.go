package taskset

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// taskSets hosts the variants as two task sets of one service with deployment
// controller EXTERNAL.
type taskSets struct {
	step *step.Step
	sets ecs.TaskSets
}

var _ step.Promotions = taskSets{}

// New returns the hosting of a step. It makes no call to AWS.
func New(s *step.Step) step.Hosting {
	return taskSets{step: s, sets: ecs.TaskSets{Service: s.Client, Template: *s.Service.Input}}
}

func (taskSets) KindName() string { return "task set" }

func (t taskSets) newMember(set sluice.TaskSet, v sluice.Variant, label string) step.Member {
	return step.Member{TaskSet: set, Variant: v, Label: label, Service: t.step.Client}
}

func (t taskSets) CreateService(ctx context.Context) (*ecs.ServiceState, error) {
	id := sluice.NewActionID(t.step.Deployment, "service", "create")
	if err := t.step.Client.Create(ctx, t.step.MakeWrite, id, *t.step.Service.Input,
		step.NewClaimTags(t.step)); err != nil {
		return nil, err
	}
	return t.step.ObserveService(ctx)
}

func (t taskSets) EnsureCanary(ctx context.Context, rev ecs.Revision, scale int) (step.Member, error) {
	by, err := t.step.CanaryID(ctx)
	if err != nil {
		return step.Member{}, err
	}
	m, err := t.ensureSet(ctx, sluice.Canary, ecs.WantedTaskSet{By: by, Label: plan.CanarySet, Revision: rev, Scale: scale,
		Attach: t.step.Access.AttachmentOf(sluice.Canary)})
	if err != nil {
		return m, err
	}
	return m, t.forgetScale(ctx, m.ID, float64(scale))
}

// forgetScale ends an adopted scale of a task set, or one that an exact share gave it, once a stage has set another one.
func (t taskSets) forgetScale(ctx context.Context, id string, set float64) error {
	a, err := t.step.Memory.External.Load(ctx)
	if kept, ok := a.Scales[id]; err != nil || !ok || kept == set {
		return err
	}
	delete(a.Scales, id)
	t.step.Expected = nil
	return t.step.Memory.External.Save(ctx, a)
}

// ensureSet creates the task set or finds it, and emits an event if it was found.
func (t taskSets) ensureSet(ctx context.Context, v sluice.Variant, w ecs.WantedTaskSet) (step.Member, error) {
	set, found, err := t.sets.EnsureSet(ctx, t.step.MakeWrite, w)
	if err == nil && found {
		t.step.Host.Emit(sluice.Adopted{Action: w.By, Resource: set.ID})
	}
	m := t.newMember(set, v, w.Label)
	if !found {
		m.CreatedAt = t.step.Clock.Now()
	}
	return m, err
}

// StartPrimary writes the file's fields to the service, creates the new primary, waits until it is
// healthy and promotes it.
func (t taskSets) StartPrimary(ctx context.Context, live *ecs.ServiceState, rev ecs.Revision) (step.Member, error) {
	if err := updateService(ctx, t.step, live); err != nil {
		return step.Member{}, err
	}
	if err := t.saveNewPrimaryStep(ctx, memory.PrimaryBegun); err != nil {
		return step.Member{}, err
	}
	if t.step.Stage.Recreate {
		if err := t.saveNewPrimaryStep(ctx, memory.PrimaryEmptied); err != nil {
			return step.Member{}, err
		}
		if err := t.drainOldPrimary(ctx, live); err != nil {
			return step.Member{}, err
		}
	}
	m, err := t.ensureSet(ctx, sluice.Primary, ecs.WantedTaskSet{By: t.step.NewPrimaryID(), Label: plan.NewPrimarySet,
		Revision: rev, Scale: 100, Attach: t.step.Access.AttachmentOf(sluice.Primary)})
	if err != nil {
		return m, err
	}
	if err := capacity.AwaitNewTasks(ctx, t.step, m, 0); err != nil {
		return m, err
	}
	return m, t.promoteSet(ctx, m)
}

// saveNewPrimaryStep saves the progress of the new primary. A second run does not save an earlier
// step.
func (t taskSets) saveNewPrimaryStep(ctx context.Context, far memory.PrimaryProgress) error {
	primary, err := t.step.Memory.Primary.Load(ctx)
	order := []memory.PrimaryProgress{"", memory.PrimaryBegun, memory.PrimaryEmptied, memory.PrimaryPromoted}
	if err != nil || slices.Index(order, primary.Progress) >= slices.Index(order, far) {
		return err
	}
	primary.Progress = far
	return t.step.Memory.Primary.Save(ctx, primary)
}

// promoteSet makes the set PRIMARY unless it is already. In a rollback after we promoted another
// set, a read that shows this set PRIMARY proves nothing: it may be older than that promotion.
func (t taskSets) promoteSet(ctx context.Context, m step.Member) error {
	primary, err := t.step.Memory.Primary.Load(ctx)
	if err != nil {
		return err
	}
	now, err := capacity.ObserveExisting(ctx, t.step, m)
	switch {
	case err != nil:
		return err
	case t.step.IsRollback() && primary.Progress == memory.PrimaryPromoted: // AWS accepts the call a second time
	case now.Status == "PRIMARY":
		if err := t.step.AwaitReadLag(ctx); err != nil {
			return err
		}
		if now, err = capacity.ObserveExisting(ctx, t.step, m); err != nil || now.Status == "PRIMARY" {
			return err
		}
	}
	if !t.step.IsRollback() {
		if err := t.saveNewPrimaryStep(ctx, memory.PrimaryPromoted); err != nil {
			return err
		}
	}
	return t.sets.Promote(ctx, t.step.MakeWrite, now.TaskSet, m.Label)
}

// drainOldPrimary scales the old primary to 0 before the new one starts (recreate).
func (t taskSets) drainOldPrimary(ctx context.Context, live *ecs.ServiceState) error {
	old := live.TaskSet(t.step.OldPrimaryID())
	if old == nil || live.CreatedByAction(t.step.NewPrimaryID()) != nil {
		return nil
	}
	return capacity.Drain(ctx, t.step, t.newMember(*old, sluice.Primary, plan.PreviousPrimarySet))
}

func (t taskSets) RetireOldPrimary(ctx context.Context, primary step.Member) error {
	old := t.step.OldPrimaryID()
	if t.step.Stage.KeepOld {
		t.step.EmitNote("the previous primary %s is kept until the canary is deleted", old)
		return t.step.Memory.Primary.Update(ctx, func(p *memory.Primary) { p.Kept = old })
	}
	if old == primary.ID {
		return nil
	}
	return t.retireOldByID(ctx, old)
}

func (t taskSets) ListKept(ctx context.Context) ([]step.Member, error) {
	saved, err := t.step.Memory.Primary.Load(ctx)
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
	return capacity.Retire(ctx, t.step, old...)
}

// findOldPrimary returns the old primary of that ID if it still exists.
func (t taskSets) findOldPrimary(ctx context.Context, id string) ([]step.Member, error) {
	if id == "" {
		return nil, nil
	}
	live, err := t.step.ObserveService(ctx)
	if err != nil {
		return nil, err
	}
	set := live.TaskSet(id)
	if set == nil {
		return nil, nil
	}
	return []step.Member{t.newMember(*set, sluice.Primary, plan.PreviousPrimarySet)}, nil
}

// ListOthers returns the old primary and every other task set that this deployment may remove.
func (t taskSets) ListOthers(ctx context.Context, primary step.Member) (all []step.Member, err error) {
	live, err := t.step.ObserveService(ctx)
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
		case set.ID == t.step.OldPrimaryID():
			m.Variant, m.Label = sluice.Primary, plan.PreviousPrimarySet
		case canary != nil && set.ID == canary.ID:
			m.Label = plan.CanarySet
		case plan.IsSluiceID(set.ExternalID) || isLeftover(t.step, set):
		case isRemovableOther(t.step, live, set):
			m.Label = plan.ExternalSets
		default:
			continue
		}
		all = append(all, m)
	}
	return all, nil
}

// isLeftover reports whether a former tool of the application created a task set, or whether the
// set served before a deployment that did not end.
func isLeftover(s *step.Step, set sluice.TaskSet) bool {
	return s.MayRemove != nil && s.MayRemove(set.ID) || s.Plan.PreviousSet != "" &&
		set.ID == s.Plan.PreviousSet
}

// isRemovableOther reports whether another actor's task set gets requests from our groups or by our
// name, and is to be removed (onOtherTargets: remove).
func isRemovableOther(s *step.Step, live *ecs.ServiceState, set sluice.TaskSet) bool {
	if s.Plan.OnOtherTargets != sluice.RemoveTargets || set.Status != "ACTIVE" {
		return false
	}
	if s.Plan.Registry != nil && plan.IsRegisteredIn(*s.Plan.Registry, live.Raw.TaskSets, set.ID) {
		return true
	}
	if set.TargetGroup == "" {
		return false
	}
	for _, v := range []sluice.Variant{sluice.Primary, sluice.Canary} {
		if set.TargetGroup == s.Access.AttachmentOf(v).TargetGroup {
			return true
		}
	}
	return false
}

func (t taskSets) FindVariantIn(ctx context.Context, live *ecs.ServiceState, v sluice.Variant) (_ *step.Member,
	err error) {
	set, label := live.Primary(), plan.NewPrimarySet
	if v == sluice.Canary {
		label = plan.CanarySet
		if set, err = t.findCanarySet(ctx, live); err != nil {
			return nil, err
		}
	}
	return t.memberOrNil(live, set, v, label).WithEvents(live), nil
}

func (t taskSets) memberOrNil(live *ecs.ServiceState, set *sluice.TaskSet, v sluice.Variant,
	label string) *step.Member {
	if set == nil {
		return nil
	}
	m := t.newMember(*set, v, label)
	m.Live = live
	return &m
}

// findCanarySet returns the canary of this deployment, or nil if there is none.
func (t taskSets) findCanarySet(ctx context.Context, live *ecs.ServiceState) (*sluice.TaskSet, error) {
	id, err := t.step.CanaryID(ctx)
	if err != nil {
		return nil, err
	}
	return live.CreatedByAction(id), nil
}

func (t taskSets) RefreshMember(ctx context.Context, m step.Member) (*step.Member, error) {
	live, err := step.ObserveShared(ctx, t.step)
	if err != nil {
		return nil, err
	}
	return t.memberOrNil(live, live.TaskSet(m.ID), m.Variant, m.Label).WithEvents(live), nil
}

// ListAllTasks assigns each task to its variant by one listing.
func (t taskSets) ListAllTasks(ctx context.Context) (map[sluice.Variant][]ecs.Task, error) {
	canary, err := step.FindVariant(ctx, t.step, sluice.Canary)
	if err != nil {
		return nil, err
	}
	tasks, err := t.step.Client.Tasks(ctx)
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

func (t taskSets) ScaleToZero(ctx context.Context, m step.Member) error {
	if m.Scale == 0 {
		return nil
	}
	return t.sets.Scale(ctx, t.step.MakeWrite, m.TaskSet, m.Label, 0)
}

func (t taskSets) DeleteMember(ctx context.Context, m step.Member) error {
	return t.sets.Delete(ctx, t.step.MakeWrite, m.TaskSet, m.Label)
}

// ListCreated returns the new primary, unless it serves, and the canary. A read that does not show
// one of them proves its deletion only if the read must be newer than the creation.
func (t taskSets) ListCreated(ctx context.Context) ([]step.Member, error) {
	primary, err := t.step.Memory.Primary.Load(ctx)
	if err != nil {
		return nil, err
	}
	canaryID, rolledOut, err := step.LoadCanaryRollout(ctx, t.step)
	if err != nil {
		return nil, err
	}
	live, err := t.step.ReadSharedAfter(ctx, step.WriteProof{WriteName: "the task sets of this deployment",
		SentAt: t.step.WroteAt,
		Shows: func(live *ecs.ServiceState) bool {
			fresh := live.CreatedByAction(t.step.NewPrimaryID())
			return (primary.Progress == "" || fresh != nil &&
				(primary.Progress != memory.PrimaryPromoted || fresh.Status != "PRIMARY")) &&
				(!rolledOut || live.CreatedByAction(canaryID) != nil)
		}})
	if err != nil {
		return nil, err
	}
	var all []step.Member
	if set := live.CreatedByAction(t.step.NewPrimaryID()); set != nil && set.Status != "PRIMARY" {
		all = append(all, t.newMember(*set, sluice.Primary, plan.NewPrimarySet))
	}
	canary, err := t.findCanarySet(ctx, live)
	if err == nil && canary != nil {
		all = append(all, t.newMember(*canary, sluice.Canary, plan.CanarySet))
	}
	return all, err
}

// updateService writes the differing fields of the file that AWS can change under EXTERNAL, and the
// file's tags.
func updateService(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	u := step.FileUpdate(s, live)
	if len(u.Members) > 0 {
		if err := s.Client.Update(ctx, s.MakeWrite, "update service", u); err != nil {
			return err
		}
		s.EmitNote("updated the service: %s", strings.Join(u.Members, ", "))
	}
	return step.TagService(ctx, s, live)
}
