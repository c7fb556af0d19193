package account

import (
	"context"
	"sync"
	"time"
)

// ReadTimes stores when the reads under a context were sent. A read may wait long for a token; the
// age of its response counts from when it was sent.
type ReadTimes struct {
	mu     sync.Mutex
	oldest time.Time
}

// Oldest returns when the first of the reads was sent; zero if none was.
func (r *ReadTimes) Oldest() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.oldest
}

func (r *ReadTimes) recordTime(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.oldest.IsZero() {
		r.oldest = at
	}
}

type readTimesKey struct{}

// WithReadTimes makes r store the times of reads under the returned context.
func WithReadTimes(ctx context.Context, r *ReadTimes) context.Context {
	return context.WithValue(ctx, readTimesKey{}, r)
}

func recordSent(ctx context.Context, r request, at time.Time) {
	if reads, ok := ctx.Value(readTimesKey{}).(*ReadTimes); ok && !r.write {
		reads.recordTime(at)
	}
}
