package stage

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// startDriftWatch starts to detect changes by other actors. It compares the rules now, and task
// sets and counts at every later read of the stage.
func (r *Run) startDriftWatch(ctx context.Context, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	if !r.Plan.Mode().HasVariants() {
		return live, nil // ECS or CodeDeploy changes the service itself
	}
	if err := r.traffic.resolveRouteDrift(ctx); err != nil {
		return nil, err
	}
	r.watchesDrift, r.comparedAt = true, r.Clock.Now()
	live, err := r.resolveDrift(ctx, live)
	if err == nil {
		r.reads.moveHeld(uncheckedKey, serviceKey, live)
	}
	return live, err
}

// expectedState is what reads during this stage should show.
func (r *Run) expectedState(ctx context.Context) (*expectation, error) {
	if r.expected != nil {
		return r.expected, nil
	}
	before, err := r.lastDoneStage(ctx)
	if err != nil {
		return nil, err
	}
	x := &expectation{before: r.Plan.StateAfter(before), after: r.Plan.StateAfter(r.Stage.Index),
		snapshot: *r.snapshot, newPrimaryID: r.newPrimaryID()}
	if x.canaryID, err = r.canaryID(ctx); err != nil {
		return nil, err
	}
	if x.adopted, err = r.memory.External.Load(ctx); err != nil {
		return nil, err
	}
	x.desired = r.managedCount(x)
	r.expected = x
	return x, nil
}

// managedCount is the desired count if the file gives it. Otherwise auto scaling and users set it,
// and task sets follow by their percentages.
func (r *Run) managedCount(x *expectation) *int {
	switch {
	case !r.service.Given["desiredCount"] || !x.snapshot.Service || x.before.NewPrimary != x.after.NewPrimary:
		return nil
	case x.adopted.Desired != nil:
		return x.adopted.Desired
	case x.before.NewPrimary:
		return r.fileCount()
	}
	return &x.snapshot.Desired
}

// fileCount is the desired count of the file, or nil.
func (r *Run) fileCount() *int {
	if !r.service.Given["desiredCount"] || r.service.Input.DesiredCount == nil {
		return nil
	}
	n := int(*r.service.Input.DesiredCount)
	return &n
}

// findDrift returns what other actors changed, as one read shows it.
func (r *Run) findDrift(ctx context.Context, x *expectation, live *ecs.ServiceState) ([]outsideChange, error) {
	all, err := r.hosting.listDrift(ctx, x, live)
	if x.desired != nil && live.Desired != *x.desired {
		all = append(all, outsideChange{kind: driftCounted, have: float64(live.Desired), want: float64(*x.desired)})
	}
	return all, err
}

// resolveDrift compares a read of the service with the expected state and confirms a difference
// with a second read, sent after AWS's usual lag. It then applies onOutsideChange and returns the
// read to continue with.
func (r *Run) resolveDrift(ctx context.Context, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	if !r.watchesDrift {
		return live, nil
	}
	x, err := r.expectedState(ctx)
	if err != nil {
		return nil, err
	}
	found, err := r.findDrift(ctx, x, live)
	if err != nil || len(found) == 0 {
		return live, err
	}
	r.watchesDrift = false
	defer func() { r.watchesDrift = true }()
	if err := r.pauseFor(ctx, readLag); err != nil {
		return nil, err
	}
	if live, err = r.observeService(ctx); err != nil {
		return nil, err
	}
	again, err := r.findDrift(ctx, x, live)
	if err != nil {
		return nil, err
	}
	found = seenTwice(found, again)
	for _, c := range found {
		if err := r.applyOutsidePolicy(ctx, c); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return live, nil
	}
	return r.observeService(ctx)
}

// applyOutsidePolicy applies onOutsideChange to a change.
func (r *Run) applyOutsidePolicy(ctx context.Context, c outsideChange) error {
	policy := r.Plan.OnOutsideChange
	serves := c.label != plan.CanarySet
	switch {
	case serves && (c.kind == driftDeleted || c.kind == driftScaled && c.have == 0):
		policy = sluice.StopOnChange // the serving version is deleted: the deployment cannot continue
	case c.kind == driftPromoted && policy == sluice.AdoptChange && c.label == plan.NewPrimarySet &&
		r.isRemovedByPipeline(c.set):
		policy = sluice.StopOnChange // the pipeline would remove the promoted task set
	}
	switch policy {
	case sluice.ReassertChange:
		r.emitWarning("external change: %s. sluice reverts it (onOutsideChange: reassert)", c)
		return r.revertChange(ctx, c)
	case sluice.AdoptChange:
		r.emitWarning("external change: %s. sluice keeps it (onOutsideChange: adopt)", c)
		return r.adoptChange(ctx, c)
	}
	next := "find the process or person that made the change, then deploy again"
	if r.Plan.OnOutsideChange == sluice.StopOnChange {
		next += ". To continue despite such changes, set onOutsideChange to reassert or adopt"
	}
	return &sluice.Error{Op: "check the service", Resource: r.client.Resource(), Kind: sluice.OutsideChange,
		Err: errors.New(c.String() + " by another process or person during the deployment"), Next: next}
}

// isRemovedByPipeline reports whether the pipeline removes a task set: the canary, and the former
// PRIMARY.
func (r *Run) isRemovedByPipeline(set sluice.TaskSet) bool {
	return set.ExternalID == string(r.expected.canaryID) || set.ID == r.oldPrimaryID()
}

// applyScalingPolicy is applyOutsidePolicy for a scalable target.
func (r *Run) applyScalingPolicy(ctx context.Context, now, ours sluice.Scalable, undone []string) error {
	policy := r.Plan.OnOutsideChange
	what := strings.Join(undone, ", ")
	switch {
	case r.isRollback(), policy == sluice.AdoptChange:
		r.warnScalingChanged(undone)
		return nil
	case policy == sluice.ReassertChange:
		r.emitWarning("external change of the auto scaling of %s: %s. sluice reverts it (onOutsideChange: reassert)",
			r.client.Resource(), what)
		return r.scalingClient().SetTarget(ctx, r.makeWrite, "set auto scaling", now, ours)
	}
	return &sluice.Error{Op: "check auto scaling", Resource: r.client.Resource(), Kind: sluice.OutsideChange,
		Err: errors.New("another process or person changed auto scaling during the deployment: " + what),
		Next: "find the process or person that made the change, then deploy again. To continue despite such " +
			"changes, set onOutsideChange to reassert or adopt"}
}

// revertChange writes our state again.
func (r *Run) revertChange(ctx context.Context, c outsideChange) error {
	switch c.kind {
	case driftDeleted:
		return r.remakeCanary(ctx)
	case driftCounted:
		return r.client.Update(ctx, r.makeWrite, "set the desired count", ecs.CountUpdate(int(c.want)))
	}
	shrinks := c.have > c.want && r.Plan.CountsShares() // ECS stops tasks whose addresses callers still cache
	bare := c.label == plan.CanarySet && c.kind == driftScaled && (c.have == 0 || shrinks)
	return r.withCanaryUnrouted(ctx, bare, func() error { return r.hosting.revertDrift(ctx, c) })
}

// remakeCanary creates a new canary in place of a deleted one and restores its share once it is
// healthy. It uses the next generation, because AWS answers the first token with the deleted task
// set.
func (r *Run) remakeCanary(ctx context.Context) error {
	return r.withCanaryUnrouted(ctx, true, func() error {
		if err := r.memory.Canary.Update(ctx, func(c *memory.Canary) { c.Generation++ }); err != nil {
			return err
		}
		r.expected = nil
		rev, err := r.ensureRevision(ctx)
		if err != nil {
			return err
		}
		if err := r.saveCanaryRollout(ctx); err != nil {
			return err
		}
		canary, err := r.hosting.ensureCanary(ctx, rev, r.Plan.StateBefore(r.Stage.Index).Canary.Scale)
		if err != nil {
			return err
		}
		return r.awaitNewTasks(ctx, canary, 1)
	})
}

// withCanaryUnrouted sends all requests to the primary while f restores the canary, and restores
// the share afterwards.
func (r *Run) withCanaryUnrouted(ctx context.Context, take bool, f func() error) error {
	back := r.Plan.StateBefore(r.Stage.Index)
	if !take || back.CanaryShare() == 0 {
		return f()
	}
	if err := r.removeCanaryTraffic(ctx); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return r.traffic.setWeights(ctx, back.Weights)
}

// adoptChange makes an external change part of the expected state. A canary that was deleted or
// scaled to 0 gets no traffic from then on.
func (r *Run) adoptChange(ctx context.Context, c outsideChange) error {
	a := r.expected.adopted
	switch c.kind {
	case driftDeleted:
		a.Deleted = append(slices.Clone(a.Deleted), c.label)
	case driftScaled:
		scales := map[string]float64{c.set.ID: c.have}
		for id, s := range a.Scales {
			if id != c.set.ID {
				scales[id] = s
			}
		}
		a.Scales = scales
	case driftPromoted:
		a.Primary = c.set.ID
	case driftCounted:
		n := int(c.have)
		a.Desired = &n
	}
	if err := r.memory.External.Save(ctx, a); err != nil {
		return err
	}
	r.expected.adopted = a
	r.expected.desired = r.managedCount(r.expected)
	if err := r.updateSnapshot(ctx, c); err != nil {
		return err
	}
	if c.label == plan.CanarySet && (c.kind == driftDeleted || c.have == 0 && c.kind == driftScaled) {
		return r.removeCanaryTraffic(ctx)
	}
	return nil
}

// updateSnapshot makes a rollback return to the adopted change.
func (r *Run) updateSnapshot(ctx context.Context, c outsideChange) error {
	f := *r.snapshot
	switch {
	case c.kind == driftScaled && c.label == plan.PreviousPrimarySet:
		p := *f.Primary
		p.Scale = c.have
		f.Primary = &p
	case c.kind == driftCounted:
		f.Desired, f.Attributes = int(c.have), f.Attributes.Without("desiredCount")
	default:
		return nil
	}
	r.snapshot, r.expected.snapshot = &f, f
	return r.memory.Snapshot.Save(ctx, f)
}

// weightOf is the share that the stages so far have given the variant.
func (r *Run) weightOf(v sluice.Variant) (share int, watched bool) {
	return sluice.CanaryShare(r.Plan.StateAfter(r.Stage.Index).CanaryShare()).Of(v), true
}
