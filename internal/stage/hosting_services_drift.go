package stage

import (
	"context"
	"maps"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// saveCanaryCount saves how many tasks the canary service is about to have. It ends an adopted
// change of that count.
func (s services) saveCanaryCount(ctx context.Context, tasks int) error {
	a, err := s.memory.External.Load(ctx)
	if err != nil {
		return err
	}
	if _, theirs := a.Scales[canaryServiceKey]; theirs {
		a.Scales = maps.Clone(a.Scales)
		delete(a.Scales, canaryServiceKey)
		if err := s.memory.External.Save(ctx, a); err != nil {
			return err
		}
		s.expected = nil
	}
	return s.memory.Canary.Update(ctx,
		func(c *memory.Canary) { c.Count = &memory.CanaryCount{Tasks: tasks, Stage: s.Stage.Index} })
}

// canaryServiceKey is the canary service among the adopted changes. It is no ARN, because the
// service may be created again under another ARN.
const canaryServiceKey = "canary service"

// listDrift returns the canary service if another actor deleted or scaled it. ECS changes the
// service itself during its deployment, so that is not compared.
func (s services) listDrift(ctx context.Context, x *expectation, live *ecs.ServiceState) ([]outsideChange, error) {
	stood := x.before.Canary.Exists() && x.before.Canary.Scale == x.after.Canary.Scale
	if !stood && !s.canaryScaled || slices.Contains(x.adopted.Deleted, plan.CanarySet) {
		return nil, nil
	}
	canary, err := s.canary.Observe(ctx)
	if err != nil {
		return nil, err
	}
	c := outsideChange{label: plan.CanarySet, name: "canary service", tasks: true,
		set: sluice.TaskSet{ID: canaryServiceKey}}
	switch {
	case canary.IsActive():
	case !stood:
		return nil, nil // the wait for its tasks reports it
	default:
		c.kind = driftDeleted
		return []outsideChange{c}, nil
	}
	want, ours, err := s.wantedCanaryCount(ctx, x)
	c.kind, c.have, c.want = driftScaled, float64(canary.Desired), float64(want)
	if err != nil || ours || c.have == c.want {
		return nil, err
	}
	return []outsideChange{c}, nil
}

// wantedCanaryCount is how many tasks the canary service should have. ours is true if this stage
// sets the count and has not done so yet.
func (s services) wantedCanaryCount(ctx context.Context, x *expectation) (want int, ours bool, err error) {
	if n, theirs := x.adopted.Scales[canaryServiceKey]; theirs {
		return int(n), false, nil
	}
	canary, err := s.memory.Canary.Load(ctx)
	if err != nil || canary.Count == nil {
		return 0, true, err
	}
	return canary.Count.Tasks, canary.Count.Stage == s.Stage.Index && !s.canaryScaled, nil
}

// revertDrift gives the canary service its number of tasks again.
func (s services) revertDrift(ctx context.Context, c outsideChange) error {
	if err := s.canary.SetCount(ctx, s.makeWrite, int(c.want)); err != nil {
		return err
	}
	canary, err := s.findVariant(ctx, sluice.Canary)
	if err != nil || canary == nil {
		return err
	}
	return s.awaitNewTasks(ctx, *canary, 1)
}
