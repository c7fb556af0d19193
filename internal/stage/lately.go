package stage

import (
	"context"
	"errors"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
)

// Some writes depend on a read: rules as they were read, a service without the claim
// of another deployment. AWS has no compare-and-set for them, and throttles for
// minutes: what others wrote during that time would be overwritten.
const (
	lately  = 10 * time.Second // such a write is sent this long after its read at most
	retakes = 30               // reads and writes before sluice stops trying
)

// errLongAgo says that a write was not sent: the read that it depends on was long ago.
var errLongAgo = errors.New("the read that it depends on was long ago")

// errClaimLongAgo says that a write was not sent: the claim was read long ago. It says
// nothing about the claim.
var errClaimLongAgo = errors.New("the claim on the service was last read long ago")

// reliance is the read that writes under a context depend on.
type reliance struct {
	on    time.Time
	reads *account.Reads // if any was sent, the oldest counts
}

func (l reliance) age(now time.Time) time.Duration {
	if l.reads != nil && !l.reads.Oldest().IsZero() {
		return now.Sub(l.reads.Oldest())
	}
	return now.Sub(l.on)
}

type relianceKey struct{}

// relying makes writes under the context end unsent, with errLongAgo, once the read is
// long ago.
func relying(ctx context.Context, on time.Time) context.Context {
	return context.WithValue(ctx, relianceKey{}, reliance{on: on})
}

// relyingOnReads is relying on the reads that are made under the context itself. n
// counts the tries: the first may have given its write tokens that it did not use.
func relyingOnReads(ctx context.Context, now time.Time, n int) context.Context {
	reads := &account.Reads{}
	ctx = account.NoteReads(beforeWrite(ctx, n), reads)
	return context.WithValue(ctx, relianceKey{}, reliance{on: now, reads: reads})
}

// beforeWrite lets the reads for the nth try of a write go before polls.
func beforeWrite(ctx context.Context, n int) context.Context {
	if n > 1 {
		return account.BeforeUnsentWrite(ctx)
	}
	return account.BeforeWrite(ctx)
}

// retake reports whether to read and write once more after the nth time.
func retake(n int, err error) bool { return errors.Is(err, errLongAgo) && n < retakes }

// throttled is the error of a write that was not sent for such a reason. The deployment
// pauses if AWS is this slow for every try.
func throttled(why error) error {
	return &sluice.Error{Op: "send the write", Kind: sluice.Throttled, Err: why,
		Next: "AWS's request rate is used up; run sluice resume when fewer calls are made in this account and Region"}
}
