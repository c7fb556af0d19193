package canaryservice

import (
	"context"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/capacity"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
	"github.com/sluice-ecs/sluice/internal/stage/step"
)

// saveCanaryCount saves how many tasks the canary service is about to have. It ends an adopted
// change of that count.
func (s services) saveCanaryCount(ctx context.Context, tasks int) error {
	a, err := s.step.Memory.External.Load(ctx)
	if err != nil {
		return err
	}
	if _, theirs := a.Scales[canaryServiceKey]; theirs {
		delete(a.Scales, canaryServiceKey)
		if err := s.step.Memory.External.Save(ctx, a); err != nil {
			return err
		}
		s.step.Expected = nil
	}
	return s.step.Memory.Canary.Update(ctx,
		func(c *memory.Canary) { c.Count = &memory.CanaryCount{Tasks: tasks, Stage: s.step.Stage.Index} })
}

// canaryServiceKey is the canary service among the adopted changes. It is no ARN, because the
// service may be created again under another ARN.
const canaryServiceKey = "canary service"

// ListDrift returns the canary service if another actor deleted or scaled it. ECS changes the
// service itself during its deployment, so that is not compared.
func (s services) ListDrift(ctx context.Context, x *step.Expectation, live *ecs.ServiceState) ([]step.OutsideChange,
	error) {
	stood := x.Before.Canary.Exists() && x.Before.Canary.Scale == x.After.Canary.Scale
	if !stood && !s.step.CanaryScaled || slices.Contains(x.Adopted.Deleted, plan.CanarySet) {
		return nil, nil
	}
	canary, err := s.canary.Observe(ctx)
	if err != nil {
		return nil, err
	}
	c := step.OutsideChange{Label: plan.CanarySet, Name: "canary service", Tasks: true,
		Set: sluice.TaskSet{ID: canaryServiceKey}}
	switch {
	case canary.IsActive():
	case !stood:
		return nil, nil // the wait for its tasks reports it
	default:
		c.Kind = step.DriftDeleted
		return []step.OutsideChange{c}, nil
	}
	want, ours, err := s.wantedCanaryCount(ctx, x)
	c.Kind, c.Have, c.Want = step.DriftScaled, float64(canary.Desired), float64(want)
	if err != nil || ours || c.Have == c.Want {
		return nil, err
	}
	return []step.OutsideChange{c}, nil
}

// wantedCanaryCount is how many tasks the canary service should have. ours is true if this stage
// sets the count and has not done so yet.
func (s services) wantedCanaryCount(ctx context.Context, x *step.Expectation) (want int, ours bool, err error) {
	if n, theirs := x.Adopted.Scales[canaryServiceKey]; theirs {
		return int(n), false, nil
	}
	canary, err := s.step.Memory.Canary.Load(ctx)
	if err != nil || canary.Count == nil {
		return 0, true, err
	}
	return canary.Count.Tasks, canary.Count.Stage == s.step.Stage.Index && !s.step.CanaryScaled, nil
}

// RevertDrift gives the canary service its number of tasks again.
func (s services) RevertDrift(ctx context.Context, c step.OutsideChange) error {
	if err := s.canary.SetCount(ctx, s.step.MakeWrite, int(c.Want)); err != nil {
		return err
	}
	canary, err := step.FindVariant(ctx, s.step, sluice.Canary)
	if err != nil || canary == nil {
		return err
	}
	return capacity.AwaitNewTasks(ctx, s.step, *canary, 1)
}
