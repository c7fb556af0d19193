package stage

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
	lately  = 10 * time.Second // longest time between the read and the write
	retakes = 30               // reads and writes before sluice stops trying
)

// errStaleRead says that a write was not sent because the read that it depends on is too old.
var errLongAgo = errors.New("the read that it depends on was long ago")

// errStaleClaim says that a write was not sent because the last read of the claim is too old. It
// does not say that the claim is lost.
var errClaimLongAgo = errors.New("the claim on the service was last read long ago")

// readDependency is the read that writes under a context depend on.
type reliance struct {
	on    time.Time
	reads *account.Reads // if there are any, the oldest counts
}

func (l reliance) age(now time.Time) time.Duration {
	if l.reads != nil && !l.reads.Oldest().IsZero() {
		return now.Sub(l.reads.Oldest())
	}
	return now.Sub(l.on)
}

type relianceKey struct{}

// withMaxReadAge makes writes under the context fail unsent, with errStaleRead, once the read is
// older than maxReadAge.
func relying(ctx context.Context, on time.Time) context.Context {
	return context.WithValue(ctx, relianceKey{}, reliance{on: on})
}

// withNotedReads is withMaxReadAge for the reads that are sent under the context itself. n counts
// the tries: the write of the first try may have taken tokens of the rate limit without being sent.
func relyingOnReads(ctx context.Context, now time.Time, n int) context.Context {
	reads := &account.Reads{}
	ctx = account.NoteReads(beforeWrite(ctx, n), reads)
	return context.WithValue(ctx, relianceKey{}, reliance{on: now, reads: reads})
}

// withReadPriority gives the reads for the nth try of a write priority over polls.
func beforeWrite(ctx context.Context, n int) context.Context {
	if n > 1 {
		return account.BeforeUnsentWrite(ctx)
	}
	return account.BeforeWrite(ctx)
}

// mayRetryRead reports whether to read and write again after the nth try.
func retake(n int, err error) bool { return errors.Is(err, errLongAgo) && n < retakes }

// errThrottled is the error of a write that was not sent because its read was too old. The
// deployment pauses if AWS is this slow in every try.
func throttled(why error) error {
	return &sluice.Error{Op: "send the write", Kind: sluice.Throttled, Err: why,
		Next: "AWS's request rate is used up; run sluice resume when fewer calls are made in this account and Region"}
}
