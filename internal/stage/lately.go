package stage

import (
	"context"
	"errors"
	"time"
)

// Some writes rely on a look: rules as they were read, a service that nobody else
// claims. AWS has no compare-and-set for them, and throttles for minutes: what others
// wrote meanwhile would be overwritten.
const (
	lately  = 10 * time.Second // such a write is sent this long after its look at most
	retakes = 30               // looks and writes before AWS does not take it
)

// errLongAgo says that a write was not sent: the look that it relies on was long ago.
var errLongAgo = errors.New("the look that it relies on was long ago")

type lookKey struct{}

// relying makes writes under the context end unsent, with errLongAgo, once the look is
// long ago.
func relying(ctx context.Context, on time.Time) context.Context {
	return context.WithValue(ctx, lookKey{}, on)
}

// retake reports whether to look and write once more after the n-th time.
func retake(n int, err error) bool { return errors.Is(err, errLongAgo) && n < retakes }
