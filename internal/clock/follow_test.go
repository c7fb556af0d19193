package clock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-ecs/sluice/internal/clock"
)

// other is a clock that somebody else moves.
type other struct {
	at    atomic.Int64 // seconds since the epoch
	quiet atomic.Bool
}

func (o *other) ask() (time.Time, bool) { return time.Unix(o.at.Load(), 0), !o.quiet.Load() }

// A sleep lasts until the other clock has passed it, however long that takes.
func TestFollowingWaitsForTheOtherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &other{}
		o.at.Store(1000)
		c, began := clock.Following(60, o.ask), time.Now()
		if got := c.Now(); !got.Equal(time.Unix(1000, 0)) {
			t.Errorf("starts at %v", got)
		}
		time.AfterFunc(time.Hour, func() { o.at.Store(1059) })
		time.AfterFunc(2*time.Hour, func() { o.at.Store(1060) })
		if err := c.Sleep(bg, time.Minute); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took < 2*time.Hour || took > 2*time.Hour+time.Second {
			t.Errorf("a minute took %v of the machine's time", took)
		}
		o.at.Store(1)
		time.Sleep(time.Second)
		if got := c.Now(); got.Before(time.Unix(1060, 0)) {
			t.Errorf("the clock went back to %v", got)
		}
	})
}

// A clock that does not answer is not waited for.
func TestFollowingGoesOnAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &other{}
		o.at.Store(1000)
		c := clock.Following(60, o.ask)
		before := c.Now()
		o.quiet.Store(true)
		began := time.Now()
		if err := c.Sleep(bg, time.Hour); err != nil || time.Since(began) > time.Minute+time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		if passed := c.Now().Sub(before); passed < time.Hour || passed > 61*time.Minute {
			t.Errorf("%v passed", passed)
		}
	})
}

// A timeout ends by the other clock, and tells that it was one; the end of what it
// was made from ends it too.
func TestFollowingTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &other{}
		c := clock.Following(60, o.ask)
		ctx, cancel := c.WithTimeout(bg, time.Minute)
		defer cancel()
		child, end := context.WithCancel(ctx)
		defer end()
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Error("the timeout came while the other clock stood still")
		}
		o.at.Store(60)
		<-child.Done()
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(child.Err(), context.DeadlineExceeded) {
			t.Errorf("%v, %v", ctx.Err(), child.Err())
		}

		why := errors.New("why")
		parent, stop := context.WithCancelCause(bg)
		ctx, cancel = c.WithTimeout(parent, time.Minute)
		stop(why)
		<-ctx.Done()
		cancel()
		if !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), why) {
			t.Errorf("%v, %v", ctx.Err(), context.Cause(ctx))
		}
		if ctx, cancel := c.WithTimeout(bg, 0); !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Error(ctx.Err())
		} else {
			cancel()
		}
	})
}
