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
)

// scalingOverride is a temporary change of auto scaling: the targets before it, and the targets as
// we set them. It is saved before its first write. A deployment that stops early restores auto
// scaling, and begins another override when it continues.
type scaling struct {
	Phase phase             `json:"phase"`
	Base  []sluice.Scalable `json:"base"`
	Ours  []sluice.Scalable `json:"ours"`
	Again bool              `json:"again,omitempty"` // not the first override of the deployment
}

// overridePhase is the progress of an override.
type phase string

const (
	setting   phase = "setting"
	set       phase = "set"
	returning phase = "returning"
	returned  phase = "returned"
)

func (r *Run) scaler() autoscaling.Service {
	return autoscaling.Service{API: r.Account.Scaling(), Cluster: r.Plan.Cluster, Name: r.Plan.Service}
}

// scalingBefore returns the scalable targets as they were before any deployment suspended them,
// this one included. A deployment that adopts suspends them before it takes the snapshot.
func (r *Run) formerScaling(ctx context.Context, live *ecs.Live) ([]sluice.Scalable, error) {
	if r.Plan.Scaling == nil {
		return nil, nil
	}
	h, ok, err := saved[scaling](ctx, r.Host, keyScaling)
	if err != nil || ok {
		return h.Base, err
	}
	now, err := r.scaler().Observe(ctx)
	if err != nil || live == nil {
		return now, err
	}
	return plan.Before(now, live.Tags[plan.ScalingTag]), nil
}

// overrideScaling sets the requested auto scaling. It is the first step after the claim, in
// whichever stage claims first. Later stages find it done.
func (r *Run) scale(ctx context.Context, live *ecs.Live) error {
	if r.Plan.Scaling == nil || r.former != nil && len(r.former.Scaling) == 0 {
		return nil
	}
	h, ok, err := saved[scaling](ctx, r.Host, keyScaling)
	if err != nil {
		return err
	}
	now, err := r.scaler().Observe(ctx)
	if err != nil {
		return err
	}
	switch {
	case ok && h.Phase == set:
		return r.keepScaling(ctx, h, now)
	case ok && h.Phase == returned:
		h = scaling{Again: true, Base: now, Ours: r.suspended(now)}
	case !ok:
		base := plan.Before(now, live.Tags[plan.ScalingTag])
		if r.former != nil {
			base = r.former.Scaling
		}
		h = scaling{Base: base, Ours: r.asked(base, now)}
	}
	h.Phase = setting
	if err := save(ctx, r.Host, keyScaling, h); err != nil {
		return err
	}
	if err := r.setScaling(ctx, live, h, now); err != nil {
		return err
	}
	h.Phase = set
	return save(ctx, r.Host, keyScaling, h)
}

// firstOverride is the first override of a deployment. Targets that a lost deployment left
// suspended stay suspended until auto scaling is restored.
func (r *Run) asked(all, now []sluice.Scalable) (out []sluice.Scalable) {
	for _, t := range all {
		t = r.Plan.Scaling.Asked(t)
		if x, ok := autoscaling.Of(now, t.Dimension); ok && x.Suspended == sluice.AllSuspended {
			t.Suspended = x.Suspended
		}
		out = append(out, t)
	}
	return out
}

// repeatOverride is a later override of a deployment. The first one has set its bounds.
func (r *Run) suspended(all []sluice.Scalable) (out []sluice.Scalable) {
	for _, t := range all {
		if r.Plan.Scaling.Suspend {
			t.Suspended = sluice.AllSuspended
		}
		out = append(out, t)
	}
	return out
}

func (r *Run) setScaling(ctx context.Context, live *ecs.Live, h scaling, now []sluice.Scalable) error {
	if was := sluice.Suspensions(h.Base); r.Plan.Scaling.Notes() && live.Tags[plan.ScalingTag] != was {
		if err := r.hand.Tag(ctx, r.act, "note how auto scaling was", live.ARN, map[string]string{plan.ScalingTag: was}); err != nil {
			return err
		}
	}
	for i, ours := range h.Ours {
		t, ok := autoscaling.Of(now, ours.Dimension)
		if !ok {
			continue
		}
		to, foreign := autoscaling.Settle(t, h.Base[i], ours)
		r.foreignScaling(foreign)
		if to == t {
			continue
		}
		if err := r.scaler().Set(ctx, r.act, "set auto scaling", t, to); err != nil {
			return err
		}
		r.note("auto scaling of %s: %d to %d tasks, suspended: %s (was %d to %d, suspended: %s)", ours.Dimension, to.Min, to.Max, to.Suspended, t.Min, t.Max, t.Suspended)
	}
	return nil
}

// checkOverride applies onOutsideChange if another actor changed what we set. A rollback ignores
// such a change, because it restores auto scaling in any case.
func (r *Run) keepScaling(ctx context.Context, h scaling, now []sluice.Scalable) error {
	if !undone(h, now) {
		return nil
	}
	if err := r.pause(ctx, lag); err != nil { // the answer may be older than our write
		return err
	}
	now, err := r.scaler().Observe(ctx)
	if err != nil {
		return err
	}
	for i, ours := range h.Ours {
		t, ok := autoscaling.Of(now, ours.Dimension)
		if !ok {
			r.foreignScaling([]string{ours.Dimension + " is registered no more"})
			continue
		}
		if what := autoscaling.Undone(t, h.Base[i], ours); len(what) > 0 {
			if err := r.answerScaling(ctx, t, ours, what); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasOverrideDrift reports whether a read differs from what we set.
func undone(h scaling, now []sluice.Scalable) bool {
	for i, ours := range h.Ours {
		if t, ok := autoscaling.Of(now, ours.Dimension); !ok || len(autoscaling.Undone(t, h.Base[i], ours)) > 0 {
			return true
		}
	}
	return false
}

func (r *Run) foreignScaling(what []string) {
	if len(what) > 0 && r.once("auto scaling "+strings.Join(what, " ")) {
		r.warn("somebody else changed the auto scaling of %s during the deployment: %s; it is left so", r.hand.Resource(), strings.Join(what, ", "))
	}
}

// scaleOnly is the stage of a plan that changes auto scaling only.
func (r *Run) scaleOnly(ctx context.Context) error {
	_, err := r.begin(ctx)
	return err
}

// saveScalingRollback saves that the deployment rolls back. Its bounds are restored too then.
func (r *Run) scalesBack(ctx context.Context) error {
	if r.Plan.Scaling == nil {
		return nil
	}
	return save(ctx, r.Host, keyScalingBack, true)
}

// finalTarget is the target with index i of an override once auto scaling is restored.
func (r *Run) goal(h scaling, i int, back bool) sluice.Scalable {
	base, p := h.Base[i], r.Plan.Scaling
	was, known := autoscaling.Of(r.former.Scaling, base.Dimension)
	switch {
	case back && h.Again && known:
		to, _ := autoscaling.Settle(base, p.Goal(was), was)
		return to
	case back:
		return base
	case h.Again && p.Resume:
		base.Suspended = sluice.Suspension{}
		return base
	case h.Again:
		return base
	}
	return p.Goal(base)
}

// ReturnScaling restores auto scaling: at the end of a deployment, before the claim is released,
// and whenever no process runs the deployment any more. It makes no call if there is nothing to
// restore. It may be called again.
func (r *Run) GiveBack(ctx context.Context) error {
	h, err := r.heldScaling(ctx)
	if err != nil || h.Phase == "" || h.Phase == returned {
		return err
	}
	ctx = r.patient(ctx)
	r.Stage.Writes = append(r.Stage.Writes, r.Plan.Finish...)
	live, err := r.mayGiveBack(ctx)
	if err == nil {
		err = r.returnScaling(ctx, h, live)
	}
	switch sluice.KindOf(err) {
	case sluice.Overtaken, sluice.LostClaim:
		r.warn("auto scaling of %s is not given back, because another deployment holds the service: %v; it was: %s", r.hand.Resource(), err, sluice.Suspensions(h.Base))
		return nil
	}
	return err
}

// loadOverride loads our override. Its phase is empty if there is none.
func (r *Run) heldScaling(ctx context.Context) (h scaling, err error) {
	if r.Plan.Scaling == nil {
		return h, nil
	}
	if h, _, err = saved[scaling](ctx, r.Host, keyScaling); err != nil {
		return h, err
	}
	f, ok, err := saved[Former](ctx, r.Host, keyFormer)
	if !ok {
		f.Scaling = h.Base // the deployment only adopted
	}
	r.former = &f
	return h, err
}

// prepareReturn checks that we own the claim. Without any claim it allows the restore: the service
// is deleted and its scalable targets may remain, or another actor removed the tag.
func (r *Run) mayGiveBack(ctx context.Context) (*ecs.Live, error) {
	live, err := r.hand.Observe(ctx)
	if err != nil {
		return nil, err
	}
	if live == nil || live.Status != "ACTIVE" {
		r.unclaimed = true
		return nil, nil
	}
	r.looked = r.Clock.Now()
	err = r.own(ctx, live)
	if sluice.KindOf(err) == sluice.LostClaim && r.claim.other == "" {
		r.unclaimed, err = true, nil
	}
	return live, err
}

func (r *Run) returnScaling(ctx context.Context, h scaling, live *ecs.Live) error {
	back, _, err := saved[bool](ctx, r.Host, keyScalingBack)
	if err != nil {
		return err
	}
	now, err := r.settledScaling(ctx, h, back)
	if err != nil {
		return err
	}
	h.Phase = returning
	if err := save(ctx, r.Host, keyScaling, h); err != nil {
		return err
	}
	for i, ours := range h.Ours {
		if err := r.returnTarget(ctx, now, ours, r.goal(h, i, back)); err != nil {
			return err
		}
	}
	if live != nil && !r.forgotten(live) {
		if err := r.forgetScaling(ctx, live.ARN); err != nil {
			return err
		}
	}
	h.Phase = returned
	return save(ctx, r.Host, keyScaling, h)
}

// isNoteRemoved reports whether the tag with the former auto scaling was removed together with our
// claim. Another deployment then took the claim, restored auto scaling and removed the tag. Without
// a claim sluice writes only what differs.
func (r *Run) forgotten(live *ecs.Live) bool {
	_, noted := live.Tags[plan.ScalingTag]
	return r.unclaimed && !noted
}

func (r *Run) forgetScaling(ctx context.Context, arn string) error {
	if !r.Plan.Scaling.Notes() {
		return nil
	}
	return r.hand.Untag(ctx, r.act, "forget how auto scaling was", arn, plan.ScalingTag)
}

// confirmScaling reads the targets. If one seems to be restored already, it reads again: the first
// answer may be older than our override.
func (r *Run) settledScaling(ctx context.Context, h scaling, back bool) ([]sluice.Scalable, error) {
	now, err := r.scaler().Observe(ctx)
	if err != nil {
		return nil, err
	}
	for i, ours := range h.Ours {
		if t, ok := autoscaling.Of(now, ours.Dimension); ok && t == ours || ours == r.goal(h, i, back) {
			continue
		}
		if err := r.pause(ctx, lag); err != nil {
			return nil, err
		}
		return r.scaler().Observe(ctx)
	}
	return now, nil
}

func (r *Run) returnTarget(ctx context.Context, now []sluice.Scalable, ours, goal sluice.Scalable) error {
	t, ok := autoscaling.Of(now, ours.Dimension)
	if !ok {
		r.foreignScaling([]string{ours.Dimension + " is registered no more"})
		return nil
	}
	to, foreign := autoscaling.Settle(t, ours, goal)
	r.foreignScaling(foreign)
	if to == t {
		return nil
	}
	if err := r.scaler().Set(ctx, r.act, "give auto scaling back", t, to); err != nil {
		if r.unclaimed {
			r.warn("auto scaling of %s is not given back: %v; it was: %d to %d tasks, suspended: %s", r.hand.Resource(), err, goal.Min, goal.Max, goal.Suspended)
			return nil
		}
		return stillSuspended(r.hand.Resource(), ours, err)
	}
	r.note("auto scaling of %s is given back: %d to %d tasks, suspended: %s", ours.Dimension, to.Min, to.Max, to.Suspended)
	return nil
}

func stillSuspended(resource string, ours sluice.Scalable, err error) error {
	return &sluice.Error{Op: "give auto scaling back", Resource: resource, Kind: sluice.KindOf(err),
		Err: fmt.Errorf("suspended: %s: %w", ours.Suspended, err), Next: cmp.Or(sluice.NextStep(err), "sluice resume tries again")}
}

// SuspendAgain overrides auto scaling again that was restored when the process ended, for the
// stages that only wait. It makes no call if the override is in place.
func (r *Run) Again(ctx context.Context) error {
	h, err := r.heldScaling(ctx)
	if err != nil || h.Phase != returned || !r.Plan.Scaling.Suspend {
		return err
	}
	ctx = r.patient(ctx)
	live, err := r.observe(ctx)
	if err != nil {
		return err
	}
	return r.hold(ctx, live)
}
