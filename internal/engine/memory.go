package engine

import (
	"context"

	"github.com/sluice-ecs/sluice/internal/journal"
	"github.com/sluice-ecs/sluice/internal/stage/memory"
)

// OpenMemory opens what the stages of a deployment saved in the journal.
func OpenMemory(j *journal.Journal, deployment string) *memory.Memory {
	return memory.Open(savedRows{j, deployment})
}

// savedRows are the saved rows of one deployment. It implements [memory.Store].
type savedRows struct {
	journal    *journal.Journal
	deployment string
}

func (s savedRows) Load(ctx context.Context, key string) ([]byte, bool, error) {
	return s.journal.Load(ctx, s.deployment, key)
}

func (s savedRows) Save(ctx context.Context, key string, value []byte) error {
	return s.journal.Save(ctx, s.deployment, key, value)
}
