package clock

import (
	"context"
	"math"
	"sync/atomic"
	"time"
)

// Clock is time as sluice uses it. All code that waits, measures or runs concurrently does so
// through a Clock.
type Clock interface {
	// Now returns the clock's time.
	Now() time.Time

	// Sleep waits for d, or until ctx is done, whichever is first. It returns nil, or the cause of
	// ctx ([context.Cause]); immediately if ctx is already done. A d of zero or less lets others
	// run that are due now. A d of [Forever] waits for ctx alone.
	Sleep(ctx context.Context, d time.Duration) error

	// WithTimeout is [context.WithTimeout] in the clock's time. The cancel function must be called.
	//
	// In virtual time the returned context has no Deadline of its own: net/http and the AWS SDK
	// would compare it with the machine's time. It still ends with [context.DeadlineExceeded] when
	// the clock passes it.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)

	// NetworkTime returns the clock's time in which d of the machine's time passes. A limit for a
	// response is such a time: other programs and the network are no faster on a scaled clock, and
	// a busy machine needs its seconds. In virtual time it is d.
	NetworkTime(d time.Duration) time.Duration

	// Go runs f concurrently with the caller. In virtual time f first runs when the caller parks or
	// ends.
	Go(f func())
}

// Forever is a sleep that only a context ends.
const Forever time.Duration = math.MaxInt64

// All runs the functions concurrently and returns when all have returned. It uses only c, so it
// works on every clock and on every wrapper of one. If a clock's Sleep returns an error, All
// returns early.
func All(c Clock, fs ...func()) {
	if len(fs) == 0 {
		return
	}
	ctx, done := context.WithCancel(context.Background())
	defer done()
	var left atomic.Int64
	left.Store(int64(len(fs)))
	for _, f := range fs {
		c.Go(func() {
			defer func() {
				if left.Add(-1) == 0 {
					done()
				}
			}()
			f()
		})
	}
	_ = c.Sleep(ctx, Forever) // ends by done, which is no error here
}
