package stage

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/autoscaling"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

func (r *Run) scalingClient() autoscaling.Service {
	return autoscaling.Service{API: r.Account.Scaling(), Cluster: r.Plan.Cluster, Name: r.Plan.Service}
}

// savedOverride returns the override; ok is false if there was none yet.
func (r *Run) savedOverride(ctx context.Context) (h memory.Override, ok bool, err error) {
	saved, err := r.memory.Scaling.Load(ctx)
	if err != nil || saved.Override == nil {
		return h, false, err
	}
	return *saved.Override, true, nil
}

func (r *Run) saveOverride(ctx context.Context, h memory.Override) error {
	return r.memory.Scaling.Update(ctx, func(saved *memory.Scaling) { saved.Override = &h })
}

// scalingBefore returns the scalable targets as they were before any deployment suspended them,
// this one included. A deployment that adopts suspends them before it takes the snapshot.
func (r *Run) scalingBefore(ctx context.Context, live *ecs.ServiceState) ([]sluice.Scalable, error) {
	if r.Plan.Scaling == nil {
		return nil, nil
	}
	h, ok, err := r.savedOverride(ctx)
	if err != nil || ok {
		return h.Base, err
	}
	now, err := r.scalingClient().Observe(ctx)
	if err != nil || live == nil {
		return now, err
	}
	return plan.TargetsBefore(now, live.Tags[plan.ScalingTag]), nil
}

// overrideScaling sets the requested auto scaling. It is the first step after the claim, in
// whichever stage claims first. Later stages find it done.
func (r *Run) overrideScaling(ctx context.Context, live *ecs.ServiceState) error {
	if r.Plan.Scaling == nil || r.snapshot != nil && len(r.snapshot.Scaling) == 0 {
		return nil
	}
	h, ok, err := r.savedOverride(ctx)
	if err != nil {
		return err
	}
	now, err := r.scalingClient().Observe(ctx)
	if err != nil {
		return err
	}
	switch {
	case ok && h.Phase == memory.OverrideSet:
		return r.checkOverride(ctx, h, now)
	case ok && h.Phase == memory.OverrideReturned:
		h = memory.Override{Repeated: true, Base: now, Wanted: r.repeatOverride(now)}
	case !ok:
		base := plan.TargetsBefore(now, live.Tags[plan.ScalingTag])
		if r.snapshot != nil {
			base = r.snapshot.Scaling
		}
		h = memory.Override{Base: base, Wanted: r.firstOverride(base, now)}
	}
	h.Phase = memory.OverrideSetting
	if err := r.saveOverride(ctx, h); err != nil {
		return err
	}
	if err := r.setScaling(ctx, live, h, now); err != nil {
		return err
	}
	h.Phase = memory.OverrideSet
	return r.saveOverride(ctx, h)
}

// firstOverride is the first override of a deployment. Targets that a lost deployment left
// suspended stay suspended until auto scaling is restored.
func (r *Run) firstOverride(all, now []sluice.Scalable) (out []sluice.Scalable) {
	for _, t := range all {
		t = r.Plan.Scaling.StartTarget(t)
		if x, ok := autoscaling.FindTarget(now, t.Dimension); ok && x.Suspended == sluice.AllSuspended {
			t.Suspended = x.Suspended
		}
		out = append(out, t)
	}
	return out
}

// repeatOverride is a later override of a deployment. The first one has set its bounds.
func (r *Run) repeatOverride(all []sluice.Scalable) (out []sluice.Scalable) {
	for _, t := range all {
		if r.Plan.Scaling.Suspend {
			t.Suspended = sluice.AllSuspended
		}
		out = append(out, t)
	}
	return out
}

func (r *Run) setScaling(ctx context.Context, live *ecs.ServiceState, h memory.Override, now []sluice.Scalable) error {
	if was := sluice.Suspensions(h.Base); r.Plan.Scaling.TagsService() && live.Tags[plan.ScalingTag] != was {
		if err := r.client.Tag(ctx, r.makeWrite, "save the auto scaling state", live.ARN,
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
		r.warnScalingChanged(foreign)
		if to == t {
			continue
		}
		if err := r.scalingClient().SetTarget(ctx, r.makeWrite, "set auto scaling", t, to); err != nil {
			return err
		}
		r.emitNote("auto scaling of %s: %d to %d tasks, suspended: %s (was %d to %d, suspended: %s)", ours.Dimension,
			to.Min, to.Max, to.Suspended, t.Min, t.Max, t.Suspended)
	}
	return nil
}

// checkOverride applies onOutsideChange if another actor changed what we set. A rollback ignores
// such a change, because it restores auto scaling in any case.
func (r *Run) checkOverride(ctx context.Context, h memory.Override, now []sluice.Scalable) error {
	if !hasOverrideDrift(h, now) {
		return nil
	}
	if err := r.pauseFor(ctx, readLag); err != nil { // the answer may be older than our write
		return err
	}
	now, err := r.scalingClient().Observe(ctx)
	if err != nil {
		return err
	}
	for i, ours := range h.Wanted {
		t, ok := autoscaling.FindTarget(now, ours.Dimension)
		if !ok {
			r.warnScalingChanged([]string{ours.Dimension + " is no longer registered"})
			continue
		}
		if what := autoscaling.ExternalChanges(t, h.Base[i], ours); len(what) > 0 {
			if err := r.applyScalingPolicy(ctx, t, ours, what); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasOverrideDrift reports whether a read differs from what we set.
func hasOverrideDrift(h memory.Override, now []sluice.Scalable) bool {
	for i, ours := range h.Wanted {
		if t, ok := autoscaling.FindTarget(now, ours.Dimension); !ok ||
			len(autoscaling.ExternalChanges(t, h.Base[i], ours)) > 0 {
			return true
		}
	}
	return false
}

func (r *Run) warnScalingChanged(what []string) {
	if len(what) > 0 && r.isFirstTime("auto scaling "+strings.Join(what, " ")) {
		r.emitWarning("external change of the auto scaling of %s during the deployment: %s. sluice keeps it",
			r.client.Resource(), strings.Join(what, ", "))
	}
}

// scaleOnly is the stage of a plan that changes auto scaling only.
func (r *Run) scaleOnly(ctx context.Context) error {
	_, err := r.beginStage(ctx)
	return err
}

// saveScalingRollback saves that the deployment rolls back. Its bounds are restored too then.
func (r *Run) saveScalingRollback(ctx context.Context) error {
	if r.Plan.Scaling == nil {
		return nil
	}
	return r.memory.Scaling.Update(ctx, func(saved *memory.Scaling) { saved.Rollback = true })
}

// finalTarget is the target with index i of an override once auto scaling is restored.
func (r *Run) finalTarget(h memory.Override, i int, back bool) sluice.Scalable {
	base, p := h.Base[i], r.Plan.Scaling
	was, known := autoscaling.FindTarget(r.snapshot.Scaling, base.Dimension)
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

// ReturnScaling restores auto scaling: at the end of a deployment, before the claim is released,
// and whenever no process runs the deployment any more. It makes no call if there is nothing to
// restore. It may be called again.
func (r *Run) ReturnScaling(ctx context.Context) error {
	h, err := r.loadOverride(ctx)
	if err != nil || h.Phase == "" || h.Phase == memory.OverrideReturned {
		return err
	}
	ctx = r.withRetries(ctx)
	r.Stage.Writes = append(r.Stage.Writes, r.Plan.Finish...)
	live, err := r.prepareReturn(ctx)
	if err == nil {
		err = r.returnTargets(ctx, h, live)
	}
	switch sluice.KindOf(err) {
	case sluice.Overtaken, sluice.LostClaim:
		r.emitWarning("auto scaling of %s is not restored, because another deployment owns the claim: %v; previous "+
			"state: %s", r.client.Resource(), err, sluice.Suspensions(h.Base))
		return nil
	}
	return err
}

// loadOverride loads our override. Its phase is empty if there is none.
func (r *Run) loadOverride(ctx context.Context) (h memory.Override, err error) {
	if r.Plan.Scaling == nil {
		return h, nil
	}
	if h, _, err = r.savedOverride(ctx); err != nil {
		return h, err
	}
	f, ok, err := r.memory.Snapshot.Find(ctx)
	if !ok {
		f.Scaling = h.Base // the deployment only adopted
	}
	r.snapshot = &f
	return h, err
}

// prepareReturn checks that we own the claim. Without any claim it allows the restore: the service
// is deleted and its scalable targets may remain, or another actor removed the tag.
func (r *Run) prepareReturn(ctx context.Context) (*ecs.ServiceState, error) {
	live, err := r.client.Observe(ctx)
	if err != nil {
		return nil, err
	}
	if live == nil || live.Status != "ACTIVE" {
		r.unclaimed = true
		return nil, nil
	}
	r.readAt = r.Clock.Now()
	err = r.acquireClaim(ctx, live)
	if sluice.KindOf(err) == sluice.LostClaim && r.claim.otherValue == "" {
		r.unclaimed, err = true, nil
	}
	return live, err
}

func (r *Run) returnTargets(ctx context.Context, h memory.Override, live *ecs.ServiceState) error {
	saved, err := r.memory.Scaling.Load(ctx)
	if err != nil {
		return err
	}
	back := saved.Rollback
	now, err := r.confirmScaling(ctx, h, back)
	if err != nil {
		return err
	}
	h.Phase = memory.OverrideReturning
	if err := r.saveOverride(ctx, h); err != nil {
		return err
	}
	for i, ours := range h.Wanted {
		if err := r.returnTarget(ctx, now, ours, r.finalTarget(h, i, back)); err != nil {
			return err
		}
	}
	if live != nil && !r.isNoteRemoved(live) {
		if err := r.removeScalingTag(ctx, live.ARN); err != nil {
			return err
		}
	}
	h.Phase = memory.OverrideReturned
	return r.saveOverride(ctx, h)
}

// isNoteRemoved reports whether the tag with the former auto scaling was removed together with our
// claim. Another deployment then took the claim, restored auto scaling and removed the tag. Without
// a claim sluice writes only what differs.
func (r *Run) isNoteRemoved(live *ecs.ServiceState) bool {
	_, noted := live.Tags[plan.ScalingTag]
	return r.unclaimed && !noted
}

func (r *Run) removeScalingTag(ctx context.Context, arn string) error {
	if !r.Plan.Scaling.TagsService() {
		return nil
	}
	return r.client.Untag(ctx, r.makeWrite, "delete the saved auto scaling state", arn, plan.ScalingTag)
}

// confirmScaling reads the targets. If one seems to be restored already, it reads again: the first
// answer may be older than our override.
func (r *Run) confirmScaling(ctx context.Context, h memory.Override, back bool) ([]sluice.Scalable, error) {
	now, err := r.scalingClient().Observe(ctx)
	if err != nil {
		return nil, err
	}
	for i, ours := range h.Wanted {
		if t, ok := autoscaling.FindTarget(now, ours.Dimension); ok && t == ours || ours == r.finalTarget(h, i, back) {
			continue
		}
		if err := r.pauseFor(ctx, readLag); err != nil {
			return nil, err
		}
		return r.scalingClient().Observe(ctx)
	}
	return now, nil
}

func (r *Run) returnTarget(ctx context.Context, now []sluice.Scalable, ours, goal sluice.Scalable) error {
	t, ok := autoscaling.FindTarget(now, ours.Dimension)
	if !ok {
		r.warnScalingChanged([]string{ours.Dimension + " is no longer registered"})
		return nil
	}
	to, foreign := autoscaling.ChooseTarget(t, ours, goal)
	r.warnScalingChanged(foreign)
	if to == t {
		return nil
	}
	if err := r.scalingClient().SetTarget(ctx, r.makeWrite, "restore auto scaling", t, to); err != nil {
		if r.unclaimed {
			r.emitWarning("auto scaling of %s is not restored: %v; previous state: %d to %d tasks, suspended: %s",
				r.client.Resource(), err, goal.Min, goal.Max, goal.Suspended)
			return nil
		}
		return errStillSuspended(r.client.Resource(), ours, err)
	}
	r.emitNote("auto scaling of %s is restored: %d to %d tasks, suspended: %s", ours.Dimension, to.Min, to.Max,
		to.Suspended)
	return nil
}

func errStillSuspended(resource string, ours sluice.Scalable, err error) error {
	return &sluice.Error{Op: "restore auto scaling", Resource: resource, Kind: sluice.KindOf(err),
		Err:  fmt.Errorf("suspended: %s: %w", ours.Suspended, err),
		Next: cmp.Or(sluice.NextStep(err), "run sluice resume to try again")}
}

// SuspendAgain overrides auto scaling again that was restored when the process ended, for the
// stages that only wait. It makes no call if the override is in place.
func (r *Run) SuspendAgain(ctx context.Context) error {
	h, err := r.loadOverride(ctx)
	if err != nil || h.Phase != memory.OverrideReturned || !r.Plan.Scaling.Suspend {
		return err
	}
	ctx = r.withRetries(ctx)
	live, err := r.observeService(ctx)
	if err != nil {
		return err
	}
	return r.claimAndSuspend(ctx, live)
}
