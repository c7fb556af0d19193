package awssim

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// systemClock is the clock of this machine.
type machine struct{}

func (machine) Now() time.Time { return time.Now() }

func (machine) Sleep(ctx context.Context, d time.Duration) error {
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
type held struct {
	world.Clock
	at atomic.Pointer[time.Time]
}

func (h *held) Now() time.Time {
	if t := h.at.Load(); t != nil {
		return *t
	}
	return h.Clock.Now()
}

func (h *held) hold(t time.Time) { h.at.Store(&t) }
func (h *held) release()         { h.at.Store(nil) }
