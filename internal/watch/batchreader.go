package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
)

const (
	// joinWait is how long a read waits for more requests to join it.
	joinWait = 50 * time.Millisecond
	// maxParallel is how many reads run at the same time.
	maxParallel = 8
)

// batchReader answers single-key requests of many callers with batched reads. The zero value is not
// usable: clock, size and read are required. A read retries as the first of its requests does (see
// [account.LongRetry]), so callers that retry for minutes do not share a reader with others.
type batchReader[V any] struct {
	clock clock.Clock
	size  int // how many keys one read takes
	read  func(ctx context.Context, keys []string) (map[string]V, error)

	mu          sync.Mutex
	requests    []*readRequest[V] // not answered yet, oldest first
	isReading   bool              // a reader runs
	sleepsUntil time.Time         // the reader sleeps until then
	wake        context.CancelFunc
	stop        context.CancelFunc // ends the current read
}

// readRequest is one request, to be answered by due at the latest.
type readRequest[V any] struct {
	ctx        context.Context // of the caller
	key        string
	due        time.Time
	done       context.CancelFunc
	isAnswered bool
	value      V
	found      bool
	err        error
}

// readKey requests key and waits for the response. It may come before due, if a batch that others
// need has a free place.
func (b *batchReader[V]) readKey(ctx context.Context, key string, due time.Time) (value V, found bool, err error) {
	waiting, done := context.WithCancel(ctx)
	defer done()
	a := &readRequest[V]{ctx: ctx, key: key, due: due, done: done}
	b.addRequest(a)
	slept := b.clock.Sleep(waiting, clock.Forever)
	if b.dropRequest(a) {
		return a.value, a.found, a.err
	}
	return value, false, slept
}

func (b *batchReader[V]) addRequest(a *readRequest[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, a)
	switch {
	case !b.isReading:
		b.isReading = true
		b.clock.Go(b.runReader)
	case b.wake != nil && a.due.Before(b.sleepsUntil):
		b.wake()
	}
}

// dropRequest removes a and reports whether it was answered. Without other requests it ends the
// current read.
func (b *batchReader[V]) dropRequest(a *readRequest[V]) (answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = slices.DeleteFunc(b.requests, func(x *readRequest[V]) bool { return x == a })
	if !a.isAnswered && len(b.requests) == 0 {
		if b.stop != nil {
			b.stop()
		}
		if b.wake != nil {
			b.wake()
		}
	}
	return a.isAnswered
}

// runReader is the only reader. It ends when there are no requests.
func (b *batchReader[V]) runReader() {
	for {
		ctx, cancel := context.WithCancel(context.Background())
		wait, more := b.nextWait(cancel)
		if !more {
			cancel()
			return
		}
		_ = b.clock.Sleep(ctx, wait) // ends early by wake
		cancel()
		if batches := b.takeBatches(); len(batches) > 0 {
			b.readBatches(batches)
		}
	}
}

// nextWait returns how long to sleep before the next read; more is false if there are no requests.
func (b *batchReader[V]) nextWait(wake context.CancelFunc) (wait time.Duration, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = nil
	if len(b.requests) == 0 {
		b.isReading = false
		return 0, false
	}
	first := slices.MinFunc(b.requests, func(x, y *readRequest[V]) int { return x.due.Compare(y.due) })
	now := b.clock.Now()
	wait = first.due.Sub(now)
	if wait <= 0 {
		return joinWait, true
	}
	b.wake, b.sleepsUntil = wake, first.due
	return wait, true
}

// takeBatches chooses the keys to read: those that are due, and those due next to fill the last
// batch. It returns none if no request is due.
func (b *batchReader[V]) takeBatches() [][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = nil
	now := b.clock.Now()
	queue := slices.Clone(b.requests)
	slices.SortStableFunc(queue, func(x, y *readRequest[V]) int { return x.due.Compare(y.due) })
	var keys []string
	seen := map[string]bool{}
	for _, a := range queue {
		full := len(keys) >= b.size*maxParallel || a.due.After(now) && len(keys)%b.size == 0
		if full {
			break
		}
		if !seen[a.key] {
			seen[a.key] = true
			keys = append(keys, a.key)
		}
	}
	return slices.Collect(slices.Chunk(keys, b.size))
}

// readBatches reads the batches concurrently and answers the requests.
func (b *batchReader[V]) readBatches(batches [][]string) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	b.mu.Lock()
	b.stop = stop
	b.mu.Unlock()
	reads := make([]func(), 0, len(batches))
	for _, keys := range batches {
		retrying := account.RetryAs(ctx, b.callerOf(keys[0]))
		reads = append(reads, func() { b.readBatch(retrying, keys) })
	}
	clock.All(b.clock, reads...)
	b.mu.Lock()
	b.stop = nil
	b.mu.Unlock()
}

// callerOf returns the context of the first request for a key.
func (b *batchReader[V]) callerOf(key string) context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.requests, func(a *readRequest[V]) bool { return a.key == key })
	if i < 0 {
		return context.Background() // its caller has ended
	}
	return b.requests[i].ctx
}

// readBatch reads one batch. If AWS refuses the batch as a bad request, each key is read alone, so
// one wrong name does not fail the nine others.
func (b *batchReader[V]) readBatch(ctx context.Context, keys []string) {
	got, err := b.read(ctx, keys)
	if err != nil && len(keys) > 1 && isBadRequest(err) {
		for _, key := range keys {
			b.readBatch(ctx, []string{key})
		}
		return
	}
	b.answerRequests(keys, got, err)
}

func (b *batchReader[V]) answerRequests(keys []string, got map[string]V, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = slices.DeleteFunc(b.requests, func(a *readRequest[V]) bool {
		if !slices.Contains(keys, a.key) {
			return false
		}
		a.value, a.found = got[a.key]
		a.err, a.isAnswered = err, true
		a.done()
		return true
	})
}
