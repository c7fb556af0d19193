package stage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// startDriftWatch starts to detect changes by other actors. It compares the rules now, and task
// sets and counts at every later read of the stage.
func (r *Run) attend(ctx context.Context, live *ecs.Live) (*ecs.Live, error) {
	if r.Plan.Rolls() && !r.Plan.Beside() || r.Plan.ByCodeDeploy() {
		return live, nil // ECS or CodeDeploy changes the service itself
	}
	if err := r.access.heed(ctx); err != nil {
		return nil, err
	}
	r.heeding, r.compared = true, r.Clock.Now()
	return r.heed(ctx, live)
}

// expectedState is what reads during this stage should show.
func (r *Run) expects(ctx context.Context) (*expectation, error) {
	if r.expected != nil {
		return r.expected, nil
	}
	before, err := r.preceding(ctx)
	if err != nil {
		return nil, err
	}
	x := &expectation{before: standingAfter(r.Plan, before), after: standingAfter(r.Plan, r.Stage.Index),
		former: *r.former, fresh: r.newPrimaryID()}
	if x.canary, err = r.canaryID(ctx); err != nil {
		return nil, err
	}
	if x.accepted, _, err = saved[accepted](ctx, r.Host, keyAccepted); err != nil {
		return nil, err
	}
	x.desired = r.countWanted(x)
	r.expected = x
	return x, nil
}

// managedCount is the desired count if the file gives it. Otherwise auto scaling and users set it,
// and task sets follow by their percentages.
func (r *Run) countWanted(x *expectation) *int {
	switch {
	case !r.service.Given["desiredCount"] || !x.former.Service || x.before.fresh != x.after.fresh:
		return nil
	case x.accepted.Desired != nil:
		return x.accepted.Desired
	case x.before.fresh:
		return r.countGiven()
	}
	return &x.former.Desired
}

// fileCount is the desired count of the file, or nil.
func (r *Run) countGiven() *int {
	if !r.service.Given["desiredCount"] || r.service.Input.DesiredCount == nil {
		return nil
	}
	n := int(*r.service.Input.DesiredCount)
	return &n
}

// findDrift returns what other actors changed, as one read shows it.
func (r *Run) changed(ctx context.Context, x *expectation, live *ecs.Live) ([]change, error) {
	all, err := r.hosting.foreign(ctx, x, live)
	if x.desired != nil && live.Desired != *x.desired {
		all = append(all, change{did: wasCounted, have: float64(live.Desired), want: float64(*x.desired)})
	}
	return all, err
}

// resolveDrift compares a read of the service with the expected state and confirms a difference
// with a second read, sent after AWS's usual lag. It then applies onOutsideChange and returns the
// read to continue with.
func (r *Run) heed(ctx context.Context, live *ecs.Live) (*ecs.Live, error) {
	if !r.heeding {
		return live, nil
	}
	x, err := r.expects(ctx)
	if err != nil {
		return nil, err
	}
	found, err := r.changed(ctx, x, live)
	if err != nil || len(found) == 0 {
		return live, err
	}
	r.heeding = false
	defer func() { r.heeding = true }()
	if err := r.pause(ctx, lag); err != nil {
		return nil, err
	}
	if live, err = r.observe(ctx); err != nil {
		return nil, err
	}
	again, err := r.changed(ctx, x, live)
	if err != nil {
		return nil, err
	}
	found = both(found, again)
	for _, c := range found {
		if err := r.answer(ctx, c); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return live, nil
	}
	return r.observe(ctx)
}

// applyOutsidePolicy applies onOutsideChange to a change.
func (r *Run) answer(ctx context.Context, c change) error {
	policy := r.Plan.OnOutsideChange
	serves := c.label != plan.CanarySet
	switch {
	case serves && (c.did == wasDeleted || c.did == wasScaled && c.have == 0):
		policy = sluice.StopOnChange // the serving version is deleted: the deployment cannot continue
	case c.did == wasPromoted && policy == sluice.AdoptChange && c.label == plan.NewPrimarySet && r.goes(c.set):
		policy = sluice.StopOnChange // the pipeline would remove the promoted task set
	}
	switch policy {
	case sluice.ReassertChange:
		r.warn("somebody else's change: %s; it is undone (onOutsideChange: reassert)", c)
		return r.undoes(ctx, c)
	case sluice.AdoptChange:
		r.warn("somebody else's change: %s; it stays (onOutsideChange: adopt)", c)
		return r.accept(ctx, c)
	}
	next := "find out who; then deploy again"
	if r.Plan.OnOutsideChange == sluice.StopOnChange {
		next += ". onOutsideChange: reassert or adopt goes on in spite of it"
	}
	return &sluice.Error{Op: "look at the service", Resource: r.hand.Resource(), Kind: sluice.OutsideChange,
		Err: errors.New(c.String() + " by somebody else during the deployment"), Next: next}
}

// isRemovedByPipeline reports whether the pipeline removes a task set: the canary, and the former
// PRIMARY.
func (r *Run) goes(set sluice.TaskSet) bool {
	return set.ExternalID == string(r.expected.canary) || set.ID == r.oldPrimary()
}

// applyScalingPolicy is applyOutsidePolicy for a scalable target.
func (r *Run) answerScaling(ctx context.Context, now, ours sluice.Scalable, undone []string) error {
	policy := r.Plan.OnOutsideChange
	what := strings.Join(undone, ", ")
	switch {
	case r.returns(), policy == sluice.AdoptChange:
		r.foreignScaling(undone)
		return nil
	case policy == sluice.ReassertChange:
		r.warn("somebody else's change of the auto scaling of %s: %s; it is undone (onOutsideChange: reassert)", r.hand.Resource(), what)
		return r.scaler().Set(ctx, r.act, "set auto scaling", now, ours)
	}
	return &sluice.Error{Op: "look at auto scaling", Resource: r.hand.Resource(), Kind: sluice.OutsideChange,
		Err:  errors.New("somebody else changed it during the deployment: " + what),
		Next: "find out who; then deploy again. onOutsideChange: reassert or adopt goes on in spite of it"}
}

// revertChange writes our state again.
func (r *Run) undoes(ctx context.Context, c change) error {
	switch c.did {
	case wasDeleted:
		return r.remakeCanary(ctx)
	case wasCounted:
		return r.hand.Update(ctx, r.act, "set the desired count", ecs.Counted(int(c.want)))
	}
	shrinks := c.have > c.want && r.Plan.Discovered() // ECS stops tasks whose addresses callers still cache
	bare := c.label == plan.CanarySet && c.did == wasScaled && (c.have == 0 || shrinks)
	return r.withoutTraffic(ctx, bare, func() error { return r.hosting.undo(ctx, c) })
}

// remakeCanary creates a new canary in place of a deleted one and restores its share once it is
// healthy. It uses the next generation, because AWS answers the first token with the deleted task
// set.
func (r *Run) remakeCanary(ctx context.Context) error {
	return r.withoutTraffic(ctx, true, func() error {
		n, _, err := saved[int](ctx, r.Host, keyGeneration)
		if err != nil {
			return err
		}
		if err := save(ctx, r.Host, keyGeneration, n+1); err != nil {
			return err
		}
		r.expected = nil
		rev, err := r.revision(ctx)
		if err != nil {
			return err
		}
		if err := r.rollingOut(ctx); err != nil {
			return err
		}
		canary, err := r.hosting.ensureCanary(ctx, rev, standingAfter(r.Plan, r.Stage.Index-1).canary)
		if err != nil {
			return err
		}
		return r.awaitNew(ctx, canary, 1)
	})
}

// withCanaryUnrouted sends all requests to the primary while f restores the canary, and restores
// the share afterwards.
func (r *Run) withoutTraffic(ctx context.Context, take bool, f func() error) error {
	back, moved := weightsAfter(r.Plan, r.Stage.Index-1)
	if !take || !moved || back.Canary() == 0 {
		return f()
	}
	if err := r.takeTraffic(ctx); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return r.access.shift(ctx, back)
}

// adoptChange makes an external change part of the expected state. A canary that was deleted or
// scaled to 0 gets no traffic from then on.
func (r *Run) accept(ctx context.Context, c change) error {
	a := r.expected.accepted
	switch c.did {
	case wasDeleted:
		a.Gone = append(slices.Clone(a.Gone), c.label)
	case wasScaled:
		scales := map[string]float64{c.set.ID: c.have}
		for id, s := range a.Scales {
			if id != c.set.ID {
				scales[id] = s
			}
		}
		a.Scales = scales
	case wasPromoted:
		a.Primary = c.set.ID
	case wasCounted:
		n := int(c.have)
		a.Desired = &n
	}
	if err := save(ctx, r.Host, keyAccepted, a); err != nil {
		return err
	}
	r.expected.accepted = a
	r.expected.desired = r.countWanted(r.expected)
	if err := r.formerly(ctx, c); err != nil {
		return err
	}
	if c.label == plan.CanarySet && (c.did == wasDeleted || c.have == 0 && c.did == wasScaled) {
		return r.takeTraffic(ctx)
	}
	return nil
}

// updateSnapshot makes a rollback return to the adopted change.
func (r *Run) formerly(ctx context.Context, c change) error {
	f := *r.former
	switch {
	case c.did == wasScaled && c.label == plan.OldPrimarySet:
		p := *f.Primary
		p.Scale = c.have
		f.Primary = &p
	case c.did == wasCounted:
		f.Desired, f.Attributes = int(c.have), f.Attributes.Without("desiredCount")
	default:
		return nil
	}
	r.former, r.expected.former = &f, f
	return save(ctx, r.Host, keyFormer, f)
}

// weightOf is the share that the stages so far have given the variant.
func (r *Run) weight(v sluice.Variant) (share int, watched bool) {
	w, moved := weightsAfter(r.Plan, min(r.Stage.Index, len(r.Plan.Stages)-1))
	if !moved {
		w = sluice.CanaryShare(0)
	}
	return w.Of(v), true
}
