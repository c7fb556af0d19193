package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/internal/clock"
)

const (
	// joinWait is how long a read waits for more requests to join it.
	gather = 50 * time.Millisecond
	// maxParallel is how many reads run at the same time.
	abreast = 8
)

// batchReader answers single-key requests of many callers with batched reads. The zero value is not
// usable: clock, size and read are required.
type board[V any] struct {
	clock clock.Clock
	size  int // how many keys one read takes
	read  func(ctx context.Context, keys []string) (map[string]V, error)

	mu    sync.Mutex
	asks  []*ask[V] // not answered yet, oldest first
	busy  bool      // a reader runs
	until time.Time // the reader sleeps until then
	wake  context.CancelFunc
	stop  context.CancelFunc // ends the current read
}

// readRequest is one request, to be answered by due at the latest.
type ask[V any] struct {
	key   string
	due   time.Time
	done  context.CancelFunc
	over  bool
	value V
	found bool
	err   error
}

// readKey requests key and waits for the response. It may come before due, if a batch that others
// need has a free place.
func (b *board[V]) get(ctx context.Context, key string, due time.Time) (value V, found bool, err error) {
	waiting, done := context.WithCancel(ctx)
	defer done()
	a := &ask[V]{key: key, due: due, done: done}
	b.enter(a)
	slept := b.clock.Sleep(waiting, clock.Forever)
	if b.leave(a) {
		return a.value, a.found, a.err
	}
	return value, false, slept
}

func (b *board[V]) enter(a *ask[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks = append(b.asks, a)
	switch {
	case !b.busy:
		b.busy = true
		b.clock.Go(b.run)
	case b.wake != nil && a.due.Before(b.until):
		b.wake()
	}
}

// dropRequest removes a and reports whether it was answered. Without other requests it ends the
// current read.
func (b *board[V]) leave(a *ask[V]) (answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks = slices.DeleteFunc(b.asks, func(x *ask[V]) bool { return x == a })
	if !a.over && len(b.asks) == 0 {
		if b.stop != nil {
			b.stop()
		}
		if b.wake != nil {
			b.wake()
		}
	}
	return a.over
}

// runReader is the only reader. It ends when there are no requests.
func (b *board[V]) run() {
	for {
		ctx, cancel := context.WithCancel(context.Background())
		wait, more := b.rest(cancel)
		if !more {
			cancel()
			return
		}
		_ = b.clock.Sleep(ctx, wait) // ends early by wake
		cancel()
		if batches := b.take(); len(batches) > 0 {
			b.serve(batches)
		}
	}
}

// nextWait returns how long to sleep before the next read; more is false if there are no requests.
func (b *board[V]) rest(wake context.CancelFunc) (wait time.Duration, more bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = nil
	if len(b.asks) == 0 {
		b.busy = false
		return 0, false
	}
	first := slices.MinFunc(b.asks, func(x, y *ask[V]) int { return x.due.Compare(y.due) })
	now := b.clock.Now()
	wait = first.due.Sub(now)
	if wait <= 0 {
		return gather, true
	}
	b.wake, b.until = wake, first.due
	return wait, true
}

// takeBatches chooses the keys to read: those that are due, and those due next to fill the last
// batch. It returns none if no request is due.
func (b *board[V]) take() [][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake = nil
	now := b.clock.Now()
	queue := slices.Clone(b.asks)
	slices.SortStableFunc(queue, func(x, y *ask[V]) int { return x.due.Compare(y.due) })
	var keys []string
	seen := map[string]bool{}
	for _, a := range queue {
		full := len(keys) >= b.size*abreast || a.due.After(now) && len(keys)%b.size == 0
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
func (b *board[V]) serve(batches [][]string) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	b.mu.Lock()
	b.stop = stop
	b.mu.Unlock()
	reads := make([]func(), 0, len(batches))
	for _, keys := range batches {
		reads = append(reads, func() { b.one(ctx, keys) })
	}
	clock.All(b.clock, reads...)
	b.mu.Lock()
	b.stop = nil
	b.mu.Unlock()
}

// readBatch reads one batch. If AWS refuses the batch as a bad request, each key is read alone, so
// one wrong name does not fail the nine others.
func (b *board[V]) one(ctx context.Context, keys []string) {
	got, err := b.read(ctx, keys)
	if err != nil && len(keys) > 1 && faulty(err) {
		for _, key := range keys {
			b.one(ctx, []string{key})
		}
		return
	}
	b.answer(keys, got, err)
}

func (b *board[V]) answer(keys []string, got map[string]V, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asks = slices.DeleteFunc(b.asks, func(a *ask[V]) bool {
		if !slices.Contains(keys, a.key) {
			return false
		}
		a.value, a.found = got[a.key]
		a.err, a.over = err, true
		a.done()
		return true
	})
}
