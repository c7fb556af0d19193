package step

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// The action IDs of the task sets that a deployment creates. They are the same in every stage and
// every attempt.

// NewPrimaryID returns the ID of the action that creates the new primary.
func (s *Step) NewPrimaryID() sluice.ActionID {
	return sluice.NewActionID(s.Deployment, "primary", "task set")
}

// RestoredID is the action ID of the restored primary. It changes if that task set was deleted,
// because AWS answers the same client token with the deleted one.
func (s *Step) RestoredID(ctx context.Context) (sluice.ActionID, error) {
	rollback, err := s.Memory.Rollback.Load(ctx)
	n := rollback.Restarts
	if n == 0 {
		return sluice.NewActionID(s.Deployment, "rollback", "task set"), err
	}
	return sluice.NewActionID(s.Deployment, fmt.Sprintf("rollback %d", n+1), "task set"), err
}

// ErrMemberDeleted is the cause of an error about a task set or service that another actor deleted.
var ErrMemberDeleted = errors.New("another process or person deleted it during the deployment")

// AdvanceRestoredID changes the ID of the restored primary if that task set was deleted, so that
// the next attempt creates another one.
func AdvanceRestoredID(ctx context.Context, s *Step, err error) error {
	if !errors.Is(err, ErrMemberDeleted) {
		return err
	}
	return errors.Join(err, s.Memory.Rollback.Update(ctx, func(b *memory.Rollback) { b.Restarts++ }))
}

// CanaryID is the action ID of the canary. It changes after a clean: a pipeline may roll out a
// second canary, and AWS answers the first one's token with the first one.
func (s *Step) CanaryID(ctx context.Context) (sluice.ActionID, error) {
	canary, err := s.Memory.Canary.Load(ctx)
	n := canary.Generation
	if n == 0 {
		return sluice.NewActionID(s.Deployment, "canary", s.Hosting.KindName()), err
	}
	return sluice.NewActionID(s.Deployment, fmt.Sprintf("canary %d", n+1), s.Hosting.KindName()), err
}

// OldPrimaryID is the ID of the task set that served before, or "".
func (s *Step) OldPrimaryID() string {
	if s.Snapshot == nil || s.Snapshot.Primary == nil {
		return ""
	}
	return s.Snapshot.Primary.ID
}
