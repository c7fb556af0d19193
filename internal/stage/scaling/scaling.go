package scaling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/autoscaling"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/claim"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// NewClient returns the adapter of the service's auto scaling.
func NewClient(s *step.Step) autoscaling.Service {
	return autoscaling.Service{API: s.Account.Scaling(), Cluster: s.Plan.Cluster, Name: s.Plan.Service}
}

// savedOverride returns the override. Its phase is empty if there was none yet.
func savedOverride(ctx context.Context, s *step.Step) (h memory.Override, err error) {
	if s.Plan.Scaling == nil {
		return h, nil
	}
	saved, err := s.Memory.Scaling.Load(ctx)
	if saved.Override != nil {
		h = *saved.Override
	}
	return h, err
}

func saveOverride(ctx context.Context, s *step.Step, h memory.Override) error {
	return s.Memory.Scaling.Update(ctx, func(saved *memory.Scaling) { saved.Override = &h })
}

// Before returns the scalable targets as they were before any deployment suspended them,
// this one included. A deployment that adopts suspends them before it takes the snapshot.
func Before(ctx context.Context, s *step.Step, live *ecs.ServiceState) ([]sluice.Scalable, error) {
	if s.Plan.Scaling == nil {
		return nil, nil
	}
	h, err := savedOverride(ctx, s)
	if err != nil || h.Phase != "" {
		return h.Base, err
	}
	now, err := NewClient(s).Observe(ctx)
	if err != nil || live == nil {
		return now, err
	}
	return baseOf(ctx, s, live, now)
}

// baseOf returns the targets as they were before the deployment: those of its snapshot, if it has one.
func baseOf(ctx context.Context, s *step.Step, live *ecs.ServiceState, now []sluice.Scalable) ([]sluice.Scalable,
	error) {
	if s.Snapshot != nil {
		return s.Snapshot.Scaling, nil
	}
	tag, err := savedSuspensions(ctx, s, live, now)
	return plan.TargetsBefore(now, tag), err
}

// savedSuspensions returns the value of [plan.ScalingTag] that belongs to targets that were read as now. A
// deployment writes the tag before it suspends a target. If a target is fully suspended and there is no tag, the
// tags may be older than the targets: then they are read again.
func savedSuspensions(ctx context.Context, s *step.Step, live *ecs.ServiceState,
	now []sluice.Scalable) (string, error) {
	tag := live.Tags[plan.ScalingTag]
	isSuspended := func(t sluice.Scalable) bool { return t.Suspended == sluice.AllSuspended }
	if tag != "" || !slices.ContainsFunc(now, isSuspended) {
		return tag, nil
	}
	if err := s.AwaitSecondRead(ctx); err != nil {
		return "", err
	}
	again, err := s.Client.Observe(ctx)
	if err != nil {
		return "", err
	}
	return again.Tags[plan.ScalingTag], nil
}

// Override sets the requested auto scaling. It is the first step after the claim, in
// whichever stage claims first. Later stages find it done.
func Override(ctx context.Context, s *step.Step, live *ecs.ServiceState) error {
	if s.Plan.Scaling == nil || s.Snapshot != nil && len(s.Snapshot.Scaling) == 0 {
		return nil
	}
	h, err := savedOverride(ctx, s)
	if err != nil {
		return err
	}
	now, err := NewClient(s).Observe(ctx)
	if err != nil {
		return err
	}
	switch h.Phase {
	case memory.OverrideSet:
		if err := restoreScalingTag(ctx, s, live, h); err != nil {
			return err
		}
		return checkOverride(ctx, s, h, now)
	case memory.OverrideReturned:
		h = memory.Override{Repeated: true, Base: now, Wanted: repeatOverride(s, now)}
	case "":
		base, err := baseOf(ctx, s, live, now)
		if err != nil {
			return err
		}
		h = memory.Override{Base: base, Wanted: firstOverride(s, base, now)}
	}
	h.Phase = memory.OverrideSetting
	if err := saveOverride(ctx, s, h); err != nil {
		return err
	}
	if err := setScaling(ctx, s, live, h, now); err != nil {
		return err
	}
	h.Phase = memory.OverrideSet
	return saveOverride(ctx, s, h)
}

// firstOverride is the first override of a deployment. Targets that a lost deployment left
// suspended stay suspended until auto scaling is restored.
func firstOverride(s *step.Step, all, now []sluice.Scalable) (out []sluice.Scalable) {
	for _, t := range all {
		t = s.Plan.Scaling.StartTarget(t)
		if x, ok := autoscaling.FindTarget(now, t.Dimension); ok && x.Suspended == sluice.AllSuspended {
			t.Suspended = x.Suspended
		}
		out = append(out, t)
	}
	return out
}

// repeatOverride is a later override of a deployment. The first one has set its bounds.
func repeatOverride(s *step.Step, all []sluice.Scalable) (out []sluice.Scalable) {
	for _, t := range all {
		if s.Plan.Scaling.Suspend {
			t.Suspended = sluice.AllSuspended
		}
		out = append(out, t)
	}
	return out
}

// restoreScalingTag saves the former auto scaling on the service again, after another process or person removed the
// tag, as a tool does that removes unknown tags. If this journal is lost, the next deployment restores auto scaling by
// it.
func restoreScalingTag(ctx context.Context, s *step.Step, live *ecs.ServiceState, h memory.Override) error {
	write := sluice.Write{Operation: "ecs:TagResource", Resource: s.Client.Resource()}
	if _, tagged := live.Tags[plan.ScalingTag]; tagged || !s.Plan.Scaling.TagsService() || !s.Stage.MayWrite(write) {
		return nil
	}
	if err := s.PauseFor(ctx, step.ReadLag); err != nil { // the read may be older than our write of the tag
		return err
	}
	again, err := s.ObserveService(ctx)
	if err != nil || again.Tags[plan.ScalingTag] != "" {
		return err
	}
	s.EmitWarning("external change: tag %s was removed. sluice writes it again; ignore tags that begin with sluice: in "+
		"the tool that removes them", plan.ScalingTag)
	return s.Client.Tag(ctx, s.MakeWrite, "save the auto scaling state", live.ARN,
		map[string]string{plan.ScalingTag: sluice.Suspensions(h.Base)})
}

func setScaling(ctx context.Context, s *step.Step, live *ecs.ServiceState, h memory.Override,
	now []sluice.Scalable) error {
	if was := sluice.Suspensions(h.Base); s.Plan.Scaling.TagsService() && live.Tags[plan.ScalingTag] != was {
		if err := s.Client.Tag(ctx, s.MakeWrite, "save the auto scaling state", live.ARN,
			map[string]string{plan.ScalingTag: was}); err != nil {
			return err
		}
	}
	for i, ours := range h.Wanted {
		t, ok := autoscaling.FindTarget(now, ours.Dimension)
		if !ok {
			continue
		}
		to, foreign := autoscaling.ChooseTarget(t, h.Base[i], ours)
		warnScalingChanged(s, foreign)
		if to == t {
			continue
		}
		if err := NewClient(s).SetTarget(ctx, s.MakeWrite, "set auto scaling", t, to); err != nil {
			return err
		}
		s.EmitNote("auto scaling of %s: %d to %d tasks, suspended: %s (was %d to %d, suspended: %s)", ours.Dimension,
			to.Min, to.Max, to.Suspended, t.Min, t.Max, t.Suspended)
	}
	return nil
}

// HasDrift reads auto scaling while the deployment overrides it, and reports whether another actor changed what we set.
func HasDrift(ctx context.Context, s *step.Step) (bool, error) {
	h, now, err := observeOverride(ctx, s)
	return err == nil && differs(s, h, now), err
}

// ResolveDrift reads auto scaling while the deployment overrides it, and applies onOutsideChange to what another actor
// changed.
func ResolveDrift(ctx context.Context, s *step.Step) error {
	h, now, err := observeOverride(ctx, s)
	if err != nil {
		return err
	}
	return checkOverride(ctx, s, h, now)
}

// observeOverride reads the targets if our override is set. Otherwise the override is empty.
func observeOverride(ctx context.Context, s *step.Step) (h memory.Override, now []sluice.Scalable, err error) {
	if h, err = savedOverride(ctx, s); err != nil || h.Phase != memory.OverrideSet {
		return memory.Override{}, nil, err
	}
	now, err = NewClient(s).Observe(ctx)
	return h, now, err
}

// checkOverride applies onOutsideChange if another actor changed what we set. A rollback ignores
// such a change, because it restores auto scaling in any case.
func checkOverride(ctx context.Context, s *step.Step, h memory.Override, now []sluice.Scalable) error {
	if !differs(s, h, now) {
		return nil
	}
	if err := s.PauseFor(ctx, step.ReadLag); err != nil { // the answer may be older than our write
		return err
	}
	now, err := NewClient(s).Observe(ctx)
	if err != nil {
		return err
	}
	for i, ours := range h.Wanted {
		t, ok := autoscaling.FindTarget(now, ours.Dimension)
		if what := externalChanges(t, ok, h.Base[i], ours); len(what) > 0 {
			if err := applyScalingPolicy(ctx, s, t, ours, what); err != nil {
				return err
			}
		}
	}
	return nil
}

// differs reports whether a read differs from what we set, except by a change that is kept and was told: any with
// onOutsideChange: adopt, and a target that is gone. Others are resolved, although a resume may have told them.
func differs(s *step.Step, h memory.Override, now []sluice.Scalable) bool {
	for i, ours := range h.Wanted {
		t, ok := autoscaling.FindTarget(now, ours.Dimension)
		isKept := !ok || s.Plan.OnOutsideChange == sluice.AdoptChange
		if what := externalChanges(t, ok, h.Base[i], ours); len(what) > 0 && !(isKept && s.HasReported(changeKey(what))) {
			return true
		}
	}
	return false
}

// externalChanges describes what others changed of a target since we set it; ok is false if it is gone.
func externalChanges(t sluice.Scalable, ok bool, base, ours sluice.Scalable) []string {
	if !ok {
		return []string{ours.Dimension + " is no longer registered"}
	}
	return autoscaling.ExternalChanges(t, base, ours)
}

func changeKey(what []string) string { return "auto scaling " + strings.Join(what, " ") }

func warnScalingChanged(s *step.Step, what []string) {
	if len(what) > 0 && s.IsFirstTime(changeKey(what)) {
		s.EmitWarning("external change of the auto scaling of %s during the deployment: %s. sluice keeps it",
			s.Client.Resource(), strings.Join(what, ", "))
	}
}

// SaveRollback saves that the deployment rolls back. Its bounds are restored too then.
func SaveRollback(ctx context.Context, s *step.Step) error {
	if s.Plan.Scaling == nil {
		return nil
	}
	return s.Memory.Scaling.Update(ctx, func(saved *memory.Scaling) { saved.Rollback = true })
}

// finalTarget is the target with index i of an override once auto scaling is restored.
func finalTarget(s *step.Step, h memory.Override, i int, back bool) sluice.Scalable {
	base, p := h.Base[i], s.Plan.Scaling
	was, known := autoscaling.FindTarget(s.Snapshot.Scaling, base.Dimension)
	switch {
	case back && h.Repeated && known:
		to, _ := autoscaling.ChooseTarget(base, p.FinalTarget(was), was)
		return to
	case back:
		return base
	case h.Repeated && p.Resume:
		base.Suspended = sluice.Suspension{}
		return base
	case h.Repeated:
		return base
	}
	return p.FinalTarget(base)
}

// Return restores auto scaling: at the end of a deployment, before the claim is released,
// and whenever no process runs the deployment any more. It makes no call if there is nothing to
// restore. It may be called again.
func Return(ctx context.Context, s *step.Step) error {
	h, err := LoadOverride(ctx, s)
	if err != nil || h.Phase == "" || h.Phase == memory.OverrideReturned {
		return err
	}
	ctx = s.WithRetries(ctx)
	s.Stage.Writes = append(s.Stage.Writes, s.Plan.Finish...)
	live, err := prepareReturn(ctx, s)
	// Two that claim at the same moment both lose: the other one releases its claim after ReadLag, and a read may be
	// as old again.
	for n := 0; n < 2 && isTaken(err); n++ {
		if err := s.PauseFor(ctx, step.ReadLag); err != nil {
			return err
		}
		live, err = prepareReturn(ctx, s)
	}
	if err == nil {
		err = returnTargets(ctx, s, h, live)
	}
	if isTaken(err) {
		s.EmitWarning("auto scaling of %s is not restored: %v; previous state: %s", s.Client.Resource(), err,
			sluice.Suspensions(h.Base))
		return nil
	}
	return err
}

// isTaken reports whether another deployment has the service.
func isTaken(err error) bool {
	kind := sluice.KindOf(err)
	return kind == sluice.Overtaken || kind == sluice.LostClaim
}

// LoadOverride loads our override. Its phase is empty if there is none.
func LoadOverride(ctx context.Context, s *step.Step) (h memory.Override, err error) {
	if h, err = savedOverride(ctx, s); err != nil || s.Plan.Scaling == nil {
		return h, err
	}
	f, ok, err := s.Memory.Snapshot.Find(ctx)
	if !ok {
		f.Scaling = h.Base // the deployment only adopted
	}
	s.Snapshot = &f
	return h, err
}

// prepareReturn checks that we own the claim. Without any claim it allows the restore: the service
// is deleted and its scalable targets may remain, or another actor removed the tag.
func prepareReturn(ctx context.Context, s *step.Step) (*ecs.ServiceState, error) {
	live, err := s.Client.Observe(ctx)
	if err != nil {
		return nil, err
	}
	if live == nil || live.Status != "ACTIVE" {
		s.Unclaimed = true
		return nil, nil
	}
	s.ReadAt = s.Clock.Now()
	err = claim.Acquire(ctx, s, live)
	if (sluice.KindOf(err) == sluice.LostClaim || errors.Is(err, step.ErrClaimRemoved)) && s.Claim.OtherValue == "" {
		s.Unclaimed, err = true, nil
	}
	return live, err
}

func returnTargets(ctx context.Context, s *step.Step, h memory.Override, live *ecs.ServiceState) error {
	saved, err := s.Memory.Scaling.Load(ctx)
	if err != nil {
		return err
	}
	back := saved.Rollback
	now, err := confirmScaling(ctx, s, h, back)
	if err != nil {
		return err
	}
	h.Phase = memory.OverrideReturning
	if err := saveOverride(ctx, s, h); err != nil {
		return err
	}
	for i, ours := range h.Wanted {
		if err := returnTarget(ctx, s, now, ours, finalTarget(s, h, i, back)); err != nil {
			return err
		}
	}
	if live != nil && !isNoteRemoved(s, live) {
		if err := removeScalingTag(ctx, s, live.ARN); err != nil {
			return err
		}
	}
	h.Phase = memory.OverrideReturned
	return saveOverride(ctx, s, h)
}

// isNoteRemoved reports whether the tag with the former auto scaling was removed together with our
// claim. Another deployment then took the claim, restored auto scaling and removed the tag. Without
// a claim sluice writes only what differs.
func isNoteRemoved(s *step.Step, live *ecs.ServiceState) bool {
	_, noted := live.Tags[plan.ScalingTag]
	return s.Unclaimed && !noted
}

func removeScalingTag(ctx context.Context, s *step.Step, arn string) error {
	if !s.Plan.Scaling.TagsService() {
		return nil
	}
	return s.Client.Untag(ctx, s.MakeWrite, "delete the saved auto scaling state", arn, plan.ScalingTag)
}

// confirmScaling reads the targets. If one seems to be restored already, it reads again: the first
// answer may be older than our override.
func confirmScaling(ctx context.Context, s *step.Step, h memory.Override, back bool) ([]sluice.Scalable, error) {
	now, err := NewClient(s).Observe(ctx)
	if err != nil {
		return nil, err
	}
	for i, ours := range h.Wanted {
		if t, ok := autoscaling.FindTarget(now, ours.Dimension); ok && t == ours || ours == finalTarget(s, h, i, back) {
			continue
		}
		if err := s.PauseFor(ctx, step.ReadLag); err != nil {
			return nil, err
		}
		return NewClient(s).Observe(ctx)
	}
	return now, nil
}

func returnTarget(ctx context.Context, s *step.Step, now []sluice.Scalable, ours, goal sluice.Scalable) error {
	t, ok := autoscaling.FindTarget(now, ours.Dimension)
	if !ok {
		warnScalingChanged(s, []string{ours.Dimension + " is no longer registered"})
		return nil
	}
	to, foreign := autoscaling.ChooseTarget(t, ours, goal)
	warnScalingChanged(s, foreign)
	if to == t {
		return nil
	}
	if err := NewClient(s).SetTarget(ctx, s.MakeWrite, "restore auto scaling", t, to); err != nil {
		if s.Unclaimed {
			s.EmitWarning("auto scaling of %s is not restored: %v; previous state: %d to %d tasks, suspended: %s",
				s.Client.Resource(), err, goal.Min, goal.Max, goal.Suspended)
			return nil
		}
		return errStillSuspended(s.Client.Resource(), ours, err)
	}
	s.EmitNote("auto scaling of %s is restored: %d to %d tasks, suspended: %s", ours.Dimension, to.Min, to.Max,
		to.Suspended)
	return nil
}

func errStillSuspended(resource string, ours sluice.Scalable, err error) error {
	return &sluice.Error{Op: "restore auto scaling", Resource: resource, Kind: sluice.KindOf(err),
		Err:  fmt.Errorf("suspended: %s: %w", ours.Suspended, err),
		Next: cmp.Or(sluice.NextStep(err), "run sluice resume to try again")}
}

// applyScalingPolicy applies onOutsideChange to a scalable target; now is its zero value if it is gone.
func applyScalingPolicy(ctx context.Context, s *step.Step, now, ours sluice.Scalable, undone []string) error {
	policy := s.Plan.OnOutsideChange
	what := strings.Join(undone, ", ")
	switch {
	case now.Dimension == "", s.IsRollback(), policy == sluice.AdoptChange:
		warnScalingChanged(s, undone)
		return nil
	case policy == sluice.ReassertChange:
		s.EmitWarning("external change of the auto scaling of %s: %s. sluice reverts it (onOutsideChange: reassert)",
			s.Client.Resource(), what)
		return NewClient(s).SetTarget(ctx, s.MakeWrite, "set auto scaling", now, ours)
	}
	return &sluice.Error{Op: "check auto scaling", Resource: s.Client.Resource(), Kind: sluice.OutsideChange,
		Err: errors.New("another process or person changed auto scaling during the deployment: " + what),
		Next: "find the process or person that made the change, then deploy again. To continue despite such " +
			"changes, set onOutsideChange to reassert or adopt"}
}
