package step

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
)

// Some writes depend on a read: of rules, or of a service without another deployment's claim. AWS
// has no compare-and-set for them and may throttle for minutes. A late write would overwrite
// another actor's change.
const (
	maxReadAge     = 10 * time.Second // longest time between the read and the write
	maxReadRetries = 30               // reads and writes before sluice stops trying
)

// errStaleRead says that a write was not sent because the read that it depends on is too old.
var errStaleRead = errors.New("the read that the write depends on is too old")

// errStaleClaim says that a write was not sent because the last read of the claim is too old. It
// does not say that the claim is lost.
var errStaleClaim = errors.New("the last read of the claim on the service is too old")

// readDependency is the read that writes under a context depend on.
type readDependency struct {
	readAt time.Time
	reads  *account.ReadTimes // if there are any, the oldest counts
}

func (l readDependency) ageAt(now time.Time) time.Duration {
	if l.reads != nil && !l.reads.Oldest().IsZero() {
		return now.Sub(l.reads.Oldest())
	}
	return now.Sub(l.readAt)
}

type readDependencyKey struct{}

// withMaxReadAge makes writes under the context fail unsent, with errStaleRead, once the read is
// older than maxReadAge.
func withMaxReadAge(ctx context.Context, on time.Time) context.Context {
	return context.WithValue(ctx, readDependencyKey{}, readDependency{readAt: on})
}

// WithNotedReads is withMaxReadAge for the reads that are sent under the context itself. n counts
// the tries: the write of the first try may have taken tokens of the rate limit without being sent.
func WithNotedReads(ctx context.Context, now time.Time, n int) context.Context {
	reads := &account.ReadTimes{}
	ctx = account.WithReadTimes(withReadPriority(ctx, n), reads)
	return context.WithValue(ctx, readDependencyKey{}, readDependency{readAt: now, reads: reads})
}

// withReadPriority gives the reads for the nth try of a write priority over polls.
func withReadPriority(ctx context.Context, n int) context.Context {
	if n > 1 {
		return account.BeforeUnsentWrite(ctx)
	}
	return account.BeforeWrite(ctx)
}

// MayRetryRead reports whether to read and write again after the nth try.
func MayRetryRead(n int, err error) bool { return errors.Is(err, errStaleRead) && n < maxReadRetries }

// errThrottled is the error of a write that was not sent because its read was too old. The
// deployment pauses if AWS is this slow in every try.
func errThrottled(why error) error {
	return &sluice.Error{Op: "send the write", Kind: sluice.Throttled, Err: why,
		Next: "reduce the calls in this account and Region, because AWS throttles them; then run sluice resume"}
}
