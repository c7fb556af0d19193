package stage

import (
	"context"
	"maps"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// savedCount is how many tasks a stage gave the canary service.
type counted struct {
	Tasks int `json:"tasks"`
	Stage int `json:"stage"` // its index
}

// saveCanaryCount saves how many tasks the canary service is about to have. It ends an adopted
// change of that count.
func (s services) counts(ctx context.Context, tasks int) error {
	a, _, err := saved[accepted](ctx, s.Host, keyAccepted)
	if err != nil {
		return err
	}
	if _, theirs := a.Scales[canaryServiceKey]; theirs {
		a.Scales = maps.Clone(a.Scales)
		delete(a.Scales, canaryServiceKey)
		if err := save(ctx, s.Host, keyAccepted, a); err != nil {
			return err
		}
		s.expected = nil
	}
	return save(ctx, s.Host, keyCanaryCount, counted{tasks, s.Stage.Index})
}

// canaryServiceKey is the canary service among the adopted changes. It is no ARN, because the
// service may be created again under another ARN.
const canaryServiceKey = "canary service"

// listDrift returns the canary service if another actor deleted or scaled it. ECS changes the
// service itself during its deployment, so that is not compared.
func (s services) foreign(ctx context.Context, x *expectation, live *ecs.Live) ([]change, error) {
	stood := x.before.canary > 0 && x.before.canary == x.after.canary
	if !stood && !s.grown || slices.Contains(x.accepted.Gone, plan.CanarySet) {
		return nil, nil
	}
	canary, err := s.beside.Observe(ctx)
	if err != nil {
		return nil, err
	}
	c := change{label: plan.CanarySet, name: "canary service", tasks: true, set: sluice.TaskSet{ID: canaryServiceKey}}
	switch {
	case canary.Stands():
	case !stood:
		return nil, nil // the wait for its tasks reports it
	default:
		c.did = wasDeleted
		return []change{c}, nil
	}
	want, ours, err := s.countedCanary(ctx, x)
	c.did, c.have, c.want = wasScaled, float64(canary.Desired), float64(want)
	if err != nil || ours || c.have == c.want {
		return nil, err
	}
	return []change{c}, nil
}

// wantedCanaryCount is how many tasks the canary service should have. ours is true if this stage
// sets the count and has not done so yet.
func (s services) countedCanary(ctx context.Context, x *expectation) (want int, ours bool, err error) {
	if n, theirs := x.accepted.Scales[canaryServiceKey]; theirs {
		return int(n), false, nil
	}
	c, ok, err := saved[counted](ctx, s.Host, keyCanaryCount)
	return c.Tasks, !ok || c.Stage == s.Stage.Index && !s.grown, err
}

// revertDrift gives the canary service its number of tasks again.
func (s services) undo(ctx context.Context, c change) error {
	if err := s.beside.Count(ctx, s.act, int(c.want)); err != nil {
		return err
	}
	canary, err := s.standing(ctx, sluice.Canary)
	if err != nil || canary == nil {
		return err
	}
	return s.awaitNew(ctx, *canary, 1)
}
