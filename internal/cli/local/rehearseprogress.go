package local

import (
	"fmt"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/internal/cli/show"
)

// rehearsalProgress is the progress of a rehearsal, for a terminal.
type rehearsalProgress struct {
	mu      sync.Mutex
	total   int // runs of a scenario with one seed
	done    int
	running []runningScenario // in the order of their begin
}

type runningScenario struct {
	name  string
	seed  int
	began time.Time
}

// begin adds a run of a scenario. The returned function removes it.
func (r *rehearsalProgress) begin(name string, seed int) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = append(r.running, runningScenario{name, seed, time.Now()})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.done++
		for i, s := range r.running {
			if s.name == name && s.seed == seed {
				r.running = append(r.running[:i:i], r.running[i+1:]...)
				return
			}
		}
	}
}

// text describes the progress, with the scenario that has run for the longest time.
func (r *rehearsalProgress) text(elapsed time.Duration) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := fmt.Sprintf("rehearsing %s: %d of %d runs done", show.FormatElapsed(elapsed), r.done, r.total)
	if len(r.running) > 0 {
		s := r.running[0]
		text += fmt.Sprintf("; %s with seed %d, for %s", s.name, s.seed, show.FormatElapsed(time.Since(s.began)))
	}
	return text
}
