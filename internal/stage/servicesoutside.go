package stage

import (
	"context"
	"maps"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// counted is how many tasks a stage gave the canary service.
type counted struct {
	Tasks int `json:"tasks"`
	Stage int `json:"stage"` // its index
}

// counts saves how many tasks the canary service is about to have. What others had
// made of it, and was adopted, is over with that.
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

// canaryServiceKey is the canary service among what was accepted: it may be made
// anew, under another ARN.
const canaryServiceKey = "canary service"

// foreign tells of a canary service that somebody else deleted or scaled. What ECS
// has under way on the service itself is its own to change.
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
		return nil, nil // it is missed when it is looked at
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

// countedCanary is how many tasks the canary service should have. With ours it is
// this stage that gives them, and has not yet.
func (s services) countedCanary(ctx context.Context, x *expectation) (want int, ours bool, err error) {
	if n, theirs := x.accepted.Scales[canaryServiceKey]; theirs {
		return int(n), false, nil
	}
	c, ok, err := saved[counted](ctx, s.Host, keyCanaryCount)
	return c.Tasks, !ok || c.Stage == s.Stage.Index && !s.grown, err
}

// undo gives the canary service its tasks again.
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
