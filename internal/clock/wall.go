package clock

import (
	"context"
	"fmt"
	"math"
	"time"
)

// Real returns the machine's clock.
func Real() Clock { return wallClock{speed: 1} }

// Scaled returns a clock that starts at the machine's time and runs speed times faster; a timeout
// of a minute at speed 60 takes a second. It panics unless speed is a positive number.
func Scaled(speed float64) Clock {
	if !(speed > 0) || math.IsInf(speed, 0) {
		panic(fmt.Sprintf("clock: speed %v is not a positive number", speed))
	}
	return wallClock{speed: speed, start: time.Now()}
}

// wallClock runs on the machine's time, speed times faster since start. With a zero start it is not
// scaled.
type wallClock struct {
	start time.Time
	speed float64
}

func (w wallClock) Now() time.Time {
	now := time.Now()
	if w.start.IsZero() {
		return now
	}
	return w.start.Round(0).Add(scaleDuration(now.Sub(w.start), w.speed))
}

func (w wallClock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	if d == Forever {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	t := time.NewTimer(scaleDuration(d, 1/w.speed))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w wallClock) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, scaleDuration(d, 1/w.speed))
}

func (w wallClock) NetworkTime(d time.Duration) time.Duration { return scaleDuration(d, w.speed) }

func (w wallClock) Go(f func()) { go f() }

// scaleDuration multiplies d. It returns [Forever] where a Duration would overflow.
func scaleDuration(d time.Duration, by float64) time.Duration {
	if by == 1 {
		return d
	}
	x := float64(d) * by
	if x >= math.MaxInt64 {
		return Forever
	}
	return time.Duration(x)
}
