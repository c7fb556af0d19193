package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/plan"
)

// GatesAsked returns when each stage, by its index, asked a person last about gates without a verdict. An approval of
// gates counts from then on.
func GatesAsked(ctx context.Context, j *journal.Journal, deployment string) (map[int]time.Time, error) {
	events, err := j.Events(ctx, deployment, 0, 0)
	asked := map[int]time.Time{}
	for _, e := range events {
		if ev, ok := e.Open().(sluice.ApprovalAwaited); ok && ev.Undecided != "" {
			asked[ev.Index] = e.At
		}
	}
	return asked, err
}

// gatesAsked is [GatesAsked] if a stage has undecided gates and an approval, and nil otherwise.
func (r *run) gatesAsked(ctx context.Context, commands []plan.Command) (map[int]time.Time, error) {
	if !slices.ContainsFunc(commands, func(c plan.Command) bool {
		status := r.bake.gatesOf(c.Stage)
		return c.Kind == plan.Approve && status != nil && status.Undecided != ""
	}) {
		return nil, nil
	}
	return GatesAsked(ctx, r.Journal, r.d.ID)
}
