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

// The wall clocks take the machine's time; synctest's bubble supplies it, so
// that an hour costs nothing and is exact.
func TestScaledRunsFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		c := clock.Scaled(60)
		if got := c.Now(); !got.Equal(began) {
			t.Errorf("starts at %v, not at %v", got, began)
		}
		if err := c.Sleep(bg, time.Hour); err != nil {
			t.Error(err)
		}
		if got := time.Since(began); got != time.Minute {
			t.Errorf("an hour took %v of the machine's time", got)
		}
		if got := c.Now().Sub(began); got != time.Hour {
			t.Errorf("the clock moved by %v", got)
		}
		ctx, cancel := c.WithTimeout(bg, time.Hour)
		defer cancel()
		if err := c.Sleep(ctx, clock.Forever); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if got := time.Since(began); got != 2*time.Minute {
			t.Errorf("the timeout came after %v", got)
		}
	})
}

func TestSlowClockDoesNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Scaled(0.5)
		ctx, cancel := c.WithTimeout(bg, time.Second)
		defer cancel()
		if err := c.Sleep(ctx, 200*365*24*time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
}

func TestRealIsTheMachinesTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, began := clock.Real(), time.Now()
		if err := c.Sleep(bg, time.Second); err != nil || c.Now().Sub(began) != time.Second {
			t.Errorf("%v after %v", err, c.Now().Sub(began))
		}
		if err := c.Sleep(bg, -time.Second); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithCancelCause(bg)
		why := errors.New("why")
		c.Go(func() { _ = c.Sleep(bg, time.Second); cancel(why) })
		if err := c.Sleep(ctx, time.Hour); !errors.Is(err, why) {
			t.Errorf("Sleep returned %v", err)
		}
		if err := c.Sleep(ctx, time.Hour); !errors.Is(err, why) {
			t.Errorf("Sleep under a dead context returned %v", err)
		}
	})
}

func TestAllOnTheWallClocks(t *testing.T) {
	for name, c := range map[string]clock.Clock{"real": clock.Real(), "scaled": clock.Scaled(1000)} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			fs := make([]func(), 50)
			for i := range fs {
				fs[i] = func() { _ = c.Sleep(bg, time.Millisecond); ran.Add(1) }
			}
			clock.All(c, fs...)
			if ran.Load() != 50 {
				t.Errorf("All returned after %d of 50", ran.Load())
			}
		})
	}
}

// Ten seconds of a network are ten seconds of the machine on every clock that it drives, and of the
// clock itself in virtual time.
func TestNetworkTimeIsTheMachinesTime(t *testing.T) {
	const d = 10 * time.Second
	never := func() (time.Time, bool) { return time.Time{}, false }
	for name, c := range map[string]clock.Clock{"real": clock.Real(), "scaled": clock.Scaled(40),
		"slow": clock.Scaled(0.5), "following": clock.Following(40, never)} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := c.WithTimeout(bg, c.NetworkTime(d))
			defer cancel()
			began := time.Now()
			<-ctx.Done()
			if took := time.Since(began); took < d || took > d+time.Second {
				t.Errorf("%s: a limit of %s took %s", name, d, took)
			}
		})
	}
	if got := clock.NewVirtual(time.Now()).NetworkTime(d); got != d {
		t.Errorf("virtual: %s, want %s", got, d)
	}
}
