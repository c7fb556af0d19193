package account

import (
	"context"
	"sync"
	"time"
)

// Reads notes when the reads under a context were sent. A read may wait long for its
// turn; how old its answer is counts from when it was sent.
type Reads struct {
	mu     sync.Mutex
	oldest time.Time
}

// Oldest is when the first of the reads was sent; zero if none was.
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

// NoteReads lets reads under the returned context be noted.
func NoteReads(ctx context.Context, r *Reads) context.Context {
	return context.WithValue(ctx, readsKey{}, r)
}

func noteSent(ctx context.Context, r request, at time.Time) {
	if reads, ok := ctx.Value(readsKey{}).(*Reads); ok && !r.write {
		reads.note(at)
	}
}
