package clock

import (
	"context"
	"sync"
	"time"
)

// answerLifetime is how long a response with the time is used, in the machine's time.
const answerFor = 10 * time.Millisecond

// Following is a scaled clock that another clock sets: that of a local AWS, which stops while its
// machine is stopped. ask returns that clock's time, or false if it does not respond; then time
// continues by itself until ask succeeds again. Now never goes back.
//
// A sleep takes d/speed of the machine's time, and longer as long as the other clock has not passed
// d.
func Following(speed float64, ask func() (time.Time, bool)) Clock {
	return &following{scaled: Scaled(speed), speed: speed, ask: ask}
}

type following struct {
	scaled Clock // time while ask does not respond
	speed  float64
	ask    func() (time.Time, bool)

	mu    sync.Mutex
	at    time.Time // the newest time
	heard time.Time // when it was read, by the machine's time
}

func (f *following) Now() time.Time { return f.now(answerFor) }

// timeWithin returns a time that was read within old.
func (f *following) now(old time.Duration) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	since := time.Since(f.heard)
	if !f.heard.IsZero() && since < old {
		return f.at
	}
	at, ok := f.ask()
	switch {
	case !ok && f.heard.IsZero():
		at = f.scaled.Now()
	case !ok:
		at = f.at.Add(stretch(since, f.speed))
	}
	if at.After(f.at) {
		f.at = at
	}
	f.heard = time.Now()
	return f.at
}

func (f *following) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || d == Forever {
		return f.scaled.Sleep(ctx, d)
	}
	least := stretch(answerFor, f.speed)
	for end := f.Now().Add(d); ; {
		if err := f.scaled.Sleep(ctx, d); err != nil {
			return err
		}
		left := end.Sub(f.now(0))
		if left <= 0 {
			return nil
		}
		d = max(left, least)
	}
}

// WithTimeout ends by this clock's time, not by the machine's: a program on a slow machine has not
// waited for long.
func (f *following) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	t := &timeout{parent: parent, done: make(chan struct{}), parentDone: parent.Done()}
	t.follow()
	if d <= 0 {
		t.end(context.DeadlineExceeded)
	}
	inner, cancel := context.WithCancel(t)
	alone := context.AfterFunc(parent, func() { t.end(parent.Err()) })
	go func() {
		if f.Sleep(inner, d) == nil {
			t.end(context.DeadlineExceeded)
		}
	}()
	return timed{inner, t}, func() {
		alone()
		cancel()
		t.end(context.Canceled)
	}
}

func (f *following) Go(fn func()) { go fn() }
