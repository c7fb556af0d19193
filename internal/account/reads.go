package account

import (
	"context"
	"sync"
	"time"
)

// ReadTimes stores when the reads under a context were sent. A read may wait long for a token; the
// age of its response counts from when it was sent.
type Reads struct {
	mu     sync.Mutex
	oldest time.Time
}

// Oldest returns when the first of the reads was sent; zero if none was.
func (r *Reads) Oldest() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.oldest
}

func (r *Reads) note(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.oldest.IsZero() {
		r.oldest = at
	}
}

type readsKey struct{}

// WithReadTimes makes r store the times of reads under the returned context.
func NoteReads(ctx context.Context, r *Reads) context.Context {
	return context.WithValue(ctx, readsKey{}, r)
}

func noteSent(ctx context.Context, r request, at time.Time) {
	if reads, ok := ctx.Value(readsKey{}).(*Reads); ok && !r.write {
		reads.note(at)
	}
}
