package account

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// priority determines which of the calls that wait for a token gets the next one.
type priority int

const (
	pollPriority   priority = iota // a read; it leaves a quarter of each burst to other calls
	writePriority                  // a write, and a read that a write depends on
	unsentPriority                 // a read for a write that already has its tokens
)

const (
	// paidLifetime is how long an unsent write keeps its tokens. Within this time the write repeats
	// the reads that it depends on.
	paidLifetime = 30 * time.Second
	// minTokenWait is the shortest wait for a token. A float that is rounded down would cause a
	// wait of zero.
	minTokenWait = time.Millisecond
)

type priorityKey struct{}

// BeforeWrite gives reads under the context the priority of reads that a write depends on. They get
// their tokens before all polls.
func BeforeWrite(ctx context.Context) context.Context { return withPriority(ctx, writePriority) }

// BeforeUnsentWrite gives reads under the context the priority of reads for a write that has its
// tokens and was not sent. They get their tokens before all other calls.
func BeforeUnsentWrite(ctx context.Context) context.Context { return withPriority(ctx, unsentPriority) }

func withPriority(ctx context.Context, p priority) context.Context {
	return context.WithValue(ctx, priorityKey{}, max(p, priorityOf(ctx)))
}

func priorityOf(ctx context.Context) priority {
	p, _ := ctx.Value(priorityKey{}).(priority)
	return p
}

// callPriority returns the priority of the request. Writes and the calls of the credential chain do
// not wait for polls.
func (r request) callPriority(ctx context.Context) priority {
	if r.write || strings.HasPrefix(r.operation, "sts:") {
		return max(writePriority, priorityOf(ctx))
	}
	return priorityOf(ctx)
}

// queue is one bucket and the calls that wait for its tokens. The call with the highest priority is
// first; among equals, the oldest.
type queue struct {
	tokens      *rate.Limiter
	pollReserve float64 // tokens that polls leave to other calls
	waiting     []*queueSlot
}

type queueSlot struct{ priority priority }

func newQueue(b bucket) *queue {
	burst := max(1, int(b.burst*rateShare))
	return &queue{tokens: rate.NewLimiter(rate.Limit(b.rate*rateShare), burst), pollReserve: float64(burst / 4)}
}

func (q *queue) addWaiter(p priority) *queueSlot {
	t := &queueSlot{p}
	i := slices.IndexFunc(q.waiting, func(x *queueSlot) bool { return x.priority < p })
	if i < 0 {
		i = len(q.waiting)
	}
	q.waiting = slices.Insert(q.waiting, i, t)
	return t
}

func (q *queue) removeWaiter(t *queueSlot) {
	q.waiting = slices.DeleteFunc(q.waiting, func(x *queueSlot) bool { return x == t })
}

// takeToken takes a token if t is first in the queue. Otherwise it returns how long to wait before
// the next call of takeToken.
func (q *queue) takeToken(t *queueSlot, now time.Time) (wait time.Duration) {
	place := slices.Index(q.waiting, t)
	need := float64(place + 1)
	if t.priority == pollPriority {
		need += q.pollReserve
	}
	missing := need - q.tokens.TokensAt(now)
	if missing <= 1e-6 && place == 0 {
		q.tokens.ReserveN(now, 1)
		return 0
	}
	wait = time.Duration(missing / float64(q.tokens.Limit()) * float64(time.Second))
	return max(wait.Round(time.Microsecond), minTokenWait)
}

// takeAll takes one token for the operation from each of its buckets, one bucket after the other.
// It returns how long that took.
func (l *Limits) takeAll(ctx context.Context, g gate, operation string, p priority) (waited time.Duration, err error) {
	for _, b := range bucketsOf(operation) {
		d, err := l.takeFromBucket(ctx, g, b, p)
		if waited += d; err != nil {
			return waited, err
		}
	}
	return waited, nil
}

func (l *Limits) takeFromBucket(ctx context.Context, g gate, b bucket, p priority) (waited time.Duration, err error) {
	q, t := l.joinQueue(g.owner, b, p)
	defer l.exitQueue(q, t)
	for {
		wait := l.takeFrom(q, t, g.clock.Now())
		if wait == 0 {
			return waited, nil
		}
		if err := g.sleep(ctx, wait); err != nil {
			return waited, err
		}
		waited += wait
	}
}

func (l *Limits) joinQueue(owner string, b bucket, p priority) (*queue, *queueSlot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := owner + "\x00" + b.name
	q, ok := l.queues[key]
	if !ok {
		q = newQueue(b)
		l.queues[key] = q
	}
	return q, q.addWaiter(p)
}

func (l *Limits) exitQueue(q *queue, t *queueSlot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.removeWaiter(t)
}

func (l *Limits) takeFrom(q *queue, t *queueSlot, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return q.takeToken(t, now)
}

// keepPaid stores that a write took its tokens and was not sent. Its next attempt is sent without
// waiting for tokens. So a write whose reads are too old by its turn can read again and keep its
// place.
func (l *Limits) keepPaid(owner string, r request, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, at := range l.paidWrites {
		if now.Sub(at) > paidLifetime {
			delete(l.paidWrites, key)
		}
	}
	l.paidWrites[r.paidKey(owner)] = now
}

// usePaid reports whether an earlier attempt of the write kept its tokens.
func (l *Limits) usePaid(owner string, r request, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := r.paidKey(owner)
	at, ok := l.paidWrites[key]
	delete(l.paidWrites, key)
	return ok && now.Sub(at) <= paidLifetime
}

func (r request) paidKey(owner string) string {
	return strings.Join([]string{owner, r.operation, r.resource, string(r.action.ID)}, "\x00")
}
