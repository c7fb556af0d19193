package stage

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// saveStageDone saves that the stage has ended. Only members that finished stages created are
// expected to exist, and a host may start a stage before the previous one has ended.
func (r *Run) saveStageDone(ctx context.Context) error {
	progress, err := r.memory.Progress.Load(ctx)
	if err != nil || r.Stage.Index < progress.Done || r.isRollback() {
		return err
	}
	return r.memory.Progress.Save(ctx, memory.Progress{Done: r.Stage.Index + 1})
}

// IsDone reports whether the stage has ended.
func (r *Run) IsDone(ctx context.Context) (bool, error) {
	progress, err := r.memory.Progress.Load(ctx)
	return progress.Done > r.Stage.Index, err
}

// lastDoneStage is the index of the last stage that had ended before this one.
func (r *Run) lastDoneStage(ctx context.Context) (int, error) {
	progress, err := r.memory.Progress.Load(ctx)
	return min(progress.Done, r.Stage.Index) - 1, err
}

// expectation is what a read during a stage should show. It covers only what the stage itself does
// not change.
type expectation struct {
	before, after          plan.State
	snapshot               memory.Snapshot
	canaryID, newPrimaryID sluice.ActionID // that created them
	desired                *int            // nil: other actors set it
	adopted                memory.External
}

// Kinds of external changes to a service.
const (
	driftDeleted  = "deleted"
	driftScaled   = "scaled"
	driftPromoted = "promoted"
	driftCounted  = "counted"
)

// outsideChange is one external change.
type outsideChange struct {
	kind       string // driftDeleted …
	label      string // name of the task set in the plan
	name       string // name for users, if that is another
	tasks      bool   // have and want count tasks, not percent
	set        sluice.TaskSet
	wantedID   string  // driftPromoted: ID of the task set that should be PRIMARY
	have, want float64 // scale in percent, or desired count
}

func (c outsideChange) String() string {
	switch c.kind {
	case driftDeleted:
		return "the " + cmp.Or(c.name, c.label) + " was deleted"
	case driftScaled:
		if c.tasks {
			return fmt.Sprintf("the %s was scaled from %s to %g", c.name, sluice.Plural(int(c.want), "task"), c.have)
		}
		return fmt.Sprintf("the %s (%s) was scaled from %g%% to %g%%", c.label, c.set.ID, c.want, c.have)
	case driftPromoted:
		return fmt.Sprintf("task set %s was made PRIMARY instead of the %s", c.set.ID, c.label)
	}
	return fmt.Sprintf("the desired count was set from %g to %g", c.want, c.have)
}

// seenTwice returns the changes that two reads show. One read may be older than the last write,
// even than our own.
func seenTwice(a, b []outsideChange) (all []outsideChange) {
	for _, c := range a {
		if slices.ContainsFunc(b, func(d outsideChange) bool { return c.String() == d.String() }) {
			all = append(all, c)
		}
	}
	return all
}
