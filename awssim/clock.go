package awssim

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// systemClock is the clock of this machine.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pausedClock is a clock that can be set to a past time while a world file is loaded. What the file
// describes has then reached its steady state by now.
type pausedClock struct {
	world.Clock
	at atomic.Pointer[time.Time]
}

func (h *pausedClock) Now() time.Time {
	if t := h.at.Load(); t != nil {
		return *t
	}
	return h.Clock.Now()
}

func (h *pausedClock) pauseAt(t time.Time) { h.at.Store(&t) }
func (h *pausedClock) resume()             { h.at.Store(nil) }
