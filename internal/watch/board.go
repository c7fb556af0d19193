package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/internal/clock"
)

const (
	// gather is how long a read waits for others to join it.
	gather = 50 * time.Millisecond
	// abreast is how many reads are under way at once.
	abreast = 8
)

// board answers questions for many askers in batches. The zero value is not
// usable: clock, size and read are required.
type board[V any] struct {
	clock clock.Clock
	size  int // how many keys one read takes
	read  func(ctx context.Context, keys []string) (map[string]V, error)

	mu    sync.Mutex
	asks  []*ask[V] // not yet answered, in order of asking
	busy  bool      // a reader runs
	until time.Time // it sleeps till then
	wake  context.CancelFunc
	stop  context.CancelFunc // ends the read that is under way
}

// ask is one question, not to be answered later than due.
type ask[V any] struct {
	key   string
	due   time.Time
	done  context.CancelFunc
	over  bool
	value V
	found bool
	err   error
}

// get asks for key and waits for the answer, which may come before due if there
// is room in a read that others need.
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

// leave reports whether a was answered. When nobody is left to answer, the read
// that is under way ends.
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

// run is the one reader. It ends when nobody asks.
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

// rest is how long to sleep before the next read; more is false if nobody asks.
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

// take chooses who is read: those due, and to fill the last batch those who are
// due next. Nothing if nobody is due.
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

// serve reads the batches beside each other and answers.
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

// one reads one batch. If AWS refuses it for what is in it, each key is read
// alone, so that one bad name does not spoil the answer of nine others.
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
