package outside

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/revision"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// StartWatch starts to detect changes by other actors. It compares the rules now, and task
// sets and counts at every later read of the stage.
func StartWatch(ctx context.Context, s *step.Step, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	if !s.Plan.Mode().HasVariants() {
		return live, nil // ECS or CodeDeploy changes the service itself
	}
	if err := s.Access.ResolveRouteDrift(ctx); err != nil {
		return nil, err
	}
	s.WatchesDrift, s.ComparedAt = true, s.Clock.Now()
	live, err := s.Outside.Resolve(ctx, s, live)
	if err == nil {
		s.Reads.MoveHeld(step.UncheckedKey, step.ServiceKey, live)
	}
	return live, err
}

// expectedState is what reads during this stage should show.
func expectedState(ctx context.Context, s *step.Step) (*step.Expectation, error) {
	if s.Expected != nil {
		return s.Expected, nil
	}
	before, err := step.LastDoneStage(ctx, s)
	if err != nil {
		return nil, err
	}
	x := &step.Expectation{Before: s.Plan.StateAfter(before), After: s.Plan.StateAfter(s.Stage.Index),
		Snapshot: *s.Snapshot, NewPrimaryID: s.NewPrimaryID()}
	if x.CanaryID, err = s.CanaryID(ctx); err != nil {
		return nil, err
	}
	if x.Adopted, err = s.Memory.External.Load(ctx); err != nil {
		return nil, err
	}
	x.Desired = managedCounts(s, x)
	s.Expected = x
	return x, nil
}

// managedCounts are the desired counts that the service may have, the last one if it has another, if the file gives it.
// Otherwise auto scaling and users set it, and task sets follow by their percentages.
func managedCounts(s *step.Step, x *step.Expectation) []int {
	file := step.FileCount(s)
	switch {
	case file == nil || !x.Snapshot.Service:
		return nil
	case x.Adopted.Desired != nil:
		return []int{*x.Adopted.Desired}
	case !x.After.NewPrimary:
		return []int{x.Snapshot.Desired}
	case !x.Before.NewPrimary: // this stage writes the count of the file
		return []int{x.Snapshot.Desired, *file}
	}
	return []int{*file}
}

// findDrift returns what other actors changed, as one read shows it.
func findDrift(ctx context.Context, s *step.Step, x *step.Expectation, live *ecs.ServiceState) ([]step.OutsideChange,
	error) {
	all, err := s.Hosting.ListDrift(ctx, x, live)
	if n := len(x.Desired); n > 0 && !slices.Contains(x.Desired, live.Desired) {
		all = append(all, step.OutsideChange{Kind: step.DriftCounted, Have: float64(live.Desired),
			Want: float64(x.Desired[n-1])})
	}
	return all, err
}

// Resolve compares a read of the service with the expected state and confirms a difference
// with a second read, sent after AWS's usual lag. It then applies onOutsideChange and returns the
// read to continue with.
func (Watch) Resolve(ctx context.Context, s *step.Step, live *ecs.ServiceState) (*ecs.ServiceState, error) {
	if !s.WatchesDrift {
		return live, nil
	}
	x, err := expectedState(ctx, s)
	if err != nil {
		return nil, err
	}
	found, err := findDrift(ctx, s, x, live)
	if err != nil || len(found) == 0 {
		return live, err
	}
	s.WatchesDrift = false
	defer func() { s.WatchesDrift = true }()
	if err := s.PauseFor(ctx, step.ReadLag); err != nil {
		return nil, err
	}
	if live, err = s.ObserveService(ctx); err != nil {
		return nil, err
	}
	again, err := findDrift(ctx, s, x, live)
	if err != nil {
		return nil, err
	}
	found = step.SeenTwice(found, again)
	for _, c := range found {
		if err := applyOutsidePolicy(ctx, s, c); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return live, nil
	}
	return s.ObserveService(ctx)
}

// applyOutsidePolicy applies onOutsideChange to a change.
func applyOutsidePolicy(ctx context.Context, s *step.Step, c step.OutsideChange) error {
	policy := s.Plan.OnOutsideChange
	serves := c.Label != plan.CanarySet
	switch {
	case serves && (c.Kind == step.DriftDeleted || c.Kind == step.DriftScaled && c.Have == 0):
		policy = sluice.StopOnChange // the serving version is deleted: the deployment cannot continue
	case c.Kind == step.DriftPromoted && policy == sluice.AdoptChange && c.Label == plan.NewPrimarySet &&
		isRemovedByPipeline(s, c.Set):
		policy = sluice.StopOnChange // the pipeline would remove the promoted task set
	}
	switch policy {
	case sluice.ReassertChange:
		s.EmitWarning("external change: %s. sluice reverts it (onOutsideChange: reassert)", c)
		return revertChange(ctx, s, c)
	case sluice.AdoptChange:
		s.EmitWarning("external change: %s. sluice keeps it (onOutsideChange: adopt)", c)
		return adoptChange(ctx, s, c)
	}
	next := "find the process or person that made the change, then deploy again"
	if s.Plan.OnOutsideChange == sluice.StopOnChange {
		next += ". To continue despite such changes, set onOutsideChange to reassert or adopt"
	}
	return &sluice.Error{Op: "check the service", Resource: s.Client.Resource(), Kind: sluice.OutsideChange,
		Err: errors.New(c.String() + " by another process or person during the deployment"), Next: next}
}

// isRemovedByPipeline reports whether the pipeline removes a task set: the canary, and the former
// PRIMARY.
func isRemovedByPipeline(s *step.Step, set sluice.TaskSet) bool {
	return set.ExternalID == string(s.Expected.CanaryID) || set.ID == s.OldPrimaryID()
}

// revertChange writes our state again.
func revertChange(ctx context.Context, s *step.Step, c step.OutsideChange) error {
	switch c.Kind {
	case step.DriftDeleted:
		return remakeCanary(ctx, s)
	case step.DriftCounted:
		return s.Client.Update(ctx, s.MakeWrite, "set the desired count", ecs.CountUpdate(int(c.Want)))
	}
	shrinks := c.Have > c.Want && s.Plan.CountsShares() // ECS stops tasks whose addresses callers still cache
	bare := c.Label == plan.CanarySet && c.Kind == step.DriftScaled && (c.Have == 0 || shrinks)
	return withCanaryUnrouted(ctx, s, bare, func() error { return s.Hosting.RevertDrift(ctx, c) })
}

// remakeCanary creates a new canary in place of a deleted one and restores its share once it is
// healthy. It uses the next generation, because AWS answers the first token with the deleted task
// set.
func remakeCanary(ctx context.Context, s *step.Step) error {
	return withCanaryUnrouted(ctx, s, true, func() error {
		if err := s.Memory.Canary.Update(ctx, func(c *memory.Canary) { c.Generation++ }); err != nil {
			return err
		}
		s.Expected = nil
		rev, err := revision.Ensure(ctx, s)
		if err != nil {
			return err
		}
		if err := step.SaveCanaryRollout(ctx, s); err != nil {
			return err
		}
		canary, err := s.Hosting.EnsureCanary(ctx, rev, s.Plan.StateBefore(s.Stage.Index).Canary.Scale)
		if err != nil {
			return err
		}
		return capacity.AwaitNewTasks(ctx, s, canary, 1)
	})
}

// withCanaryUnrouted sends all requests to the primary while f restores the canary, and restores
// the share afterwards.
func withCanaryUnrouted(ctx context.Context, s *step.Step, take bool, f func() error) error {
	back := s.Plan.StateBefore(s.Stage.Index)
	if !take || back.CanaryShare() == 0 {
		return f()
	}
	if err := capacity.RemoveCanaryTraffic(ctx, s); err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return s.Access.SetWeights(ctx, back.Weights)
}

// adoptChange makes an external change part of the expected state. A canary that was deleted or
// scaled to 0 gets no traffic from then on.
func adoptChange(ctx context.Context, s *step.Step, c step.OutsideChange) error {
	a := s.Expected.Adopted
	switch c.Kind {
	case step.DriftDeleted:
		a.Deleted = append(slices.Clone(a.Deleted), c.Label)
	case step.DriftScaled:
		a = a.WithScale(c.Set.ID, c.Have)
	case step.DriftPromoted:
		a.Primary = c.Set.ID
	case step.DriftCounted:
		n := int(c.Have)
		a.Desired = &n
	}
	if err := s.Memory.External.Save(ctx, a); err != nil {
		return err
	}
	s.Expected.Adopted = a
	s.Expected.Desired = managedCounts(s, s.Expected)
	if err := updateSnapshot(ctx, s, c); err != nil {
		return err
	}
	if c.Label == plan.CanarySet && (c.Kind == step.DriftDeleted || c.Have == 0 && c.Kind == step.DriftScaled) {
		return capacity.RemoveCanaryTraffic(ctx, s)
	}
	return nil
}

// updateSnapshot makes a rollback return to the adopted change.
func updateSnapshot(ctx context.Context, s *step.Step, c step.OutsideChange) error {
	f := *s.Snapshot
	switch {
	case c.Kind == step.DriftScaled && c.Label == plan.PreviousPrimarySet:
		p := *f.Primary
		p.Scale = c.Have
		f.Primary = &p
	case c.Kind == step.DriftCounted:
		f.Desired, f.Attributes = int(c.Have), f.Attributes.Without("desiredCount")
	default:
		return nil
	}
	s.Snapshot, s.Expected.Snapshot = &f, f
	return s.Memory.Snapshot.Save(ctx, f)
}
