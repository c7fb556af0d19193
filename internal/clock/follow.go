package clock

import (
	"context"
	"sync"
	"time"
)

// answerLifetime is how long a response with the time is used, in the machine's time.
const answerLifetime = 10 * time.Millisecond

// Following is a scaled clock that another clock sets: that of a local AWS, which stops while its
// machine is stopped. ask returns that clock's time, or false if it does not respond; then time
// continues by itself until ask succeeds again. Now never goes back.
//
// A sleep takes d/speed of the machine's time, and longer as long as the other clock has not passed
// d.
func Following(speed float64, ask func() (time.Time, bool)) Clock {
	return &followingClock{scaled: Scaled(speed), speed: speed, readTime: ask}
}

type followingClock struct {
	scaled   Clock // time while ask does not respond
	speed    float64
	readTime func() (time.Time, bool)

	mu         sync.Mutex
	at         time.Time // the newest time
	answeredAt time.Time // when it was read, by the machine's time
}

func (f *followingClock) Now() time.Time { return f.timeWithin(answerLifetime) }

// timeWithin returns a time that was read within old.
func (f *followingClock) timeWithin(old time.Duration) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	since := time.Since(f.answeredAt)
	if !f.answeredAt.IsZero() && since < old {
		return f.at
	}
	at, ok := f.readTime()
	switch {
	case !ok && f.answeredAt.IsZero():
		at = f.scaled.Now()
	case !ok:
		at = f.at.Add(scaleDuration(since, f.speed))
	}
	if at.After(f.at) {
		f.at = at
	}
	f.answeredAt = time.Now()
	return f.at
}

func (f *followingClock) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || d == Forever {
		return f.scaled.Sleep(ctx, d)
	}
	least := scaleDuration(answerLifetime, f.speed)
	for end := f.Now().Add(d); ; {
		if err := f.scaled.Sleep(ctx, d); err != nil {
			return err
		}
		left := end.Sub(f.timeWithin(0))
		if left <= 0 {
			return nil
		}
		d = max(left, least)
	}
}

// WithTimeout ends by this clock's time, not by the machine's: a program on a slow machine has not
// waited for long.
func (f *followingClock) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	t := &timeout{parent: parent, done: make(chan struct{}), parentDone: parent.Done()}
	t.checkParent()
	if d <= 0 {
		t.endWith(context.DeadlineExceeded)
	}
	inner, cancel := context.WithCancel(t)
	alone := context.AfterFunc(parent, func() { t.endWith(parent.Err()) })
	go func() {
		if f.Sleep(inner, d) == nil {
			t.endWith(context.DeadlineExceeded)
		}
	}()
	return timedContext{inner, t}, func() {
		alone()
		cancel()
		t.endWith(context.Canceled)
	}
}

func (f *followingClock) NetworkTime(d time.Duration) time.Duration { return scaleDuration(d, f.speed) }

func (f *followingClock) Go(fn func()) { go fn() }
