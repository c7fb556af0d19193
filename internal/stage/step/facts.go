package step

import (
	"sync"

	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// Facts keeps what AWS does not change while the resource exists, so that the stages of one run read
// it once: the ports of listeners, and the addresses of tasks. It decides nothing: a stage still
// reads which tasks run and what the rules are, unless the stage before it has read that in the same poll.
// The zero value knows nothing.
type Facts struct {
	Listeners alb.ListenerCache
	Reads     PollReads // of the poll in progress; a stage ends where the next one begins
	requests  requestWatch

	mu     sync.Mutex
	owners map[string]*ecs.TargetOwners // by task set
}

// OwnersOf returns the addresses of a task set's tasks, as far as a stage read them.
func (f *Facts) OwnersOf(set string) *ecs.TargetOwners {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.owners == nil {
		f.owners = map[string]*ecs.TargetOwners{}
	}
	if f.owners[set] == nil {
		f.owners[set] = &ecs.TargetOwners{}
	}
	return f.owners[set]
}
