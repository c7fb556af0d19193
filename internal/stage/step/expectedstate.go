package step

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/plan"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// SaveStageDone saves that the stage has ended. Only members that finished stages created are
// expected to exist, and a host may start a stage before the previous one has ended.
func SaveStageDone(ctx context.Context, s *Step) error {
	progress, err := s.Memory.Progress.Load(ctx)
	if err != nil || s.Stage.Index < progress.Done || s.IsRollback() {
		return err
	}
	return s.Memory.Progress.Save(ctx, memory.Progress{Done: s.Stage.Index + 1})
}

// IsStageDone reports whether the stage has ended.
func IsStageDone(ctx context.Context, s *Step) (bool, error) {
	progress, err := s.Memory.Progress.Load(ctx)
	return progress.Done > s.Stage.Index, err
}

// LastDoneStage is the index of the last stage that had ended before this one.
func LastDoneStage(ctx context.Context, s *Step) (int, error) {
	progress, err := s.Memory.Progress.Load(ctx)
	return min(progress.Done, s.Stage.Index) - 1, err
}

// Expectation is what a read during a stage should show. It covers only what the stage itself does
// not change.
type Expectation struct {
	Before, After          plan.State
	Snapshot               memory.Snapshot
	CanaryID, NewPrimaryID sluice.ActionID // that created them
	Desired                []int           // the desired counts that sluice set; empty: other actors set it
	Adopted                memory.External
}

// Kinds of external changes to a service.
const (
	DriftDeleted  = "deleted"
	DriftScaled   = "scaled"
	DriftPromoted = "promoted"
	DriftCounted  = "counted"
)

// OutsideChange is one external change.
type OutsideChange struct {
	Kind       string // DriftDeleted …
	Label      string // name of the task set in the plan
	Name       string // Name for users, if that is another
	Tasks      bool   // have and want count tasks, not percent
	Set        sluice.TaskSet
	WantedID   string  // DriftPromoted: ID of the task set that should be PRIMARY
	Have, Want float64 // scale in percent, or desired count
}

// String is the change in words.
func (c OutsideChange) String() string {
	switch c.Kind {
	case DriftDeleted:
		return "the " + cmp.Or(c.Name, c.Label) + " was deleted"
	case DriftScaled:
		if c.Tasks {
			return fmt.Sprintf("the %s was scaled from %s to %g", c.Name, sluice.Plural(int(c.Want), "task"), c.Have)
		}
		return fmt.Sprintf("the %s (%s) was scaled from %g%% to %g%%", c.Label, c.Set.ID, c.Want, c.Have)
	case DriftPromoted:
		return fmt.Sprintf("task set %s was made PRIMARY instead of the %s", c.Set.ID, c.Label)
	}
	return fmt.Sprintf("the desired count was set from %g to %g", c.Want, c.Have)
}

// SeenTwice returns the changes that two reads show. One read may be older than the last write,
// even than our own.
func SeenTwice(a, b []OutsideChange) (all []OutsideChange) {
	for _, c := range a {
		if slices.ContainsFunc(b, func(d OutsideChange) bool { return c.String() == d.String() }) {
			all = append(all, c)
		}
	}
	return all
}

// gateWatch judges the gates of a stage. Steps call it at every poll.
type gateWatch interface {
	// Poll reads and judges. Its error is that of a bad gate.
	Poll(ctx context.Context, s *Step) error
	// Status returns the verdict of the stage's own gates; nil before the first poll.
	Status() *plan.GateStatus
	// Approve notes that people approved the stage. It returns false if they had before.
	Approve(at time.Time) (first bool)
	// NextPoll returns when the gates need the next poll; zero: there are none.
	NextPoll(s *Step) time.Time
}

// servingWatch judges the tasks of the new version that already get requests. Steps call it at every poll of a wait for
// other tasks.
type servingWatch interface {
	// Poll reads and judges. Its error is that of a version that is no longer healthy.
	Poll(ctx context.Context, s *Step) error
	// NotePromoted notes that the stage has made the new version the primary, and that its tasks were healthy.
	NotePromoted()
}

// outsideWatch reacts to changes by other actors. Steps call it at every read and at every poll.
type outsideWatch interface {
	// Resolve compares a read of the service with the expected state, and returns the read to
	// continue with.
	Resolve(ctx context.Context, s *Step, live *ecs.ServiceState) (*ecs.ServiceState, error)
	// ResolvePolled applies the policy to drift of rules and auto scaling.
	ResolvePolled(ctx context.Context, s *Step) error
}
