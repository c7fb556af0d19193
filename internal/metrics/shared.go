package metrics

import (
	"context"
	"sync"
	"time"

	awscw "github.com/aws/aws-sdk-go-v2/service/cloudwatch"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

const (
	// sharedTimeout is how long one read may take, in network time.
	sharedTimeout = 10 * time.Second
	// sharedPollInterval is how often a caller checks whether the read of another one has ended.
	sharedPollInterval = 50 * time.Millisecond
)

// SharedReader reads the series of all callers of one account with one GetMetricData per minute.
// It has no goroutine: the first caller in a minute reads the series of all callers, and the others
// get its result. An error is the answer to all of them, until the next minute.
//
// It returns only closed periods, see [CloseTime]. A point that CloudWatch publishes later fills a
// gap, and never changes a value that a caller may have seen.
//
// Some queries cost calls of their own: those over the 500 of one call; the first read of more than
// three hours, whose points do not fit into one call; an expression that CloudWatch has not accepted
// yet, since a wrong one would fail the call of all others.
type SharedReader struct {
	api     *awscw.Client
	clock   clock.Clock
	options func(context.Context) context.Context

	mu        sync.Mutex // not locked during a call
	registry  registry
	minute    time.Time // the minute of the last read
	isReading bool
	err       error // of the last read
}

// NewSharedReader returns a reader without series. options is applied to the context of each call.
func NewSharedReader(api *awscw.Client, c clock.Clock,
	options func(context.Context) context.Context) *SharedReader {
	return &SharedReader{api: api, clock: c, options: options, registry: newRegistry()}
}

// Reading is what a [SharedReader] knows of the queries of one caller.
type Reading struct {
	// Points has the points of each query, in the order of the queries.
	Points []Points
	// To is the end of the last period that all of them know. It is zero before the first read: the
	// reader has read in this minute already, and knows the series from the next one on.
	To time.Time
}

// Register adds queries to the next read, without a call. from is the first period that the caller
// needs. every is how often it asks: a caller that has not asked for three times as long, and for
// five minutes, is dropped. [SharedReader.Read] registers too.
func (r *SharedReader) Register(all []Query, from time.Time, every time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.registry.addQueries(all, from, every, r.clock.Now())
}

// Read returns the points of the queries since a time. It calls CloudWatch if there was no read in
// this minute yet, for all callers.
func (r *SharedReader) Read(ctx context.Context, all []Query, from time.Time) (Reading, error) {
	for {
		answer, turn := r.takeTurn(all, from)
		switch {
		case turn == hasAnswer:
			return answer.reading, answer.err
		case turn == mustRead:
			if err := r.readAll(ctx); err != nil {
				return Reading{}, err
			}
		default:
			if err := r.clock.Sleep(ctx, sharedPollInterval); err != nil {
				return Reading{}, stoppedError(err)
			}
		}
	}
}

// turn is what a caller does next.
type turn int

const (
	hasAnswer turn = iota
	mustRead
	mustWait // another caller reads
)

type sharedAnswer struct {
	reading Reading
	err     error
}

func (r *SharedReader) takeTurn(all []Query, from time.Time) (sharedAnswer, turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	r.registry.addQueries(all, from, minute, now)
	switch {
	case r.isReading:
		return sharedAnswer{}, mustWait
	case now.Truncate(minute).After(r.minute) && r.registry.isDue(now):
		r.isReading = true
		return sharedAnswer{}, mustRead
	case r.err != nil && !now.Truncate(minute).After(r.minute):
		return sharedAnswer{err: r.err}, hasAnswer
	}
	reading, err := r.registry.readingOf(all, from, now)
	return sharedAnswer{reading, err}, hasAnswer
}

// readAll reads the series of all callers. It returns an error only if ctx has ended: the read of
// this minute is then left to the next caller.
func (r *SharedReader) readAll(ctx context.Context) error {
	r.mu.Lock()
	now := r.clock.Now()
	batch := r.registry.newBatch(now)
	r.mu.Unlock()

	limited, cancel := r.clock.WithTimeout(r.options(ctx), r.clock.NetworkTime(sharedTimeout))
	defer cancel()
	err := batch.readCalls(limited, r.api)

	r.mu.Lock()
	defer r.mu.Unlock()
	r.isReading = false
	if ctx.Err() != nil {
		return stoppedError(context.Cause(ctx))
	}
	r.minute, r.err = now.Truncate(minute), err
	r.registry.addBatch(batch)
	return nil
}

// waitForNextMinute returns when the reader may read again.
func (r *SharedReader) waitForNextMinute(ctx context.Context) error {
	r.mu.Lock()
	left := r.minute.Add(minute).Sub(r.clock.Now())
	r.mu.Unlock()
	if err := r.clock.Sleep(ctx, left); err != nil {
		return stoppedError(err)
	}
	return nil
}

// readOnce reads one query without the other callers. It is for times that have passed long ago.
func (r *SharedReader) readOnce(ctx context.Context, span Span, q Query) (Points, error) {
	limited, cancel := r.clock.WithTimeout(r.options(ctx), r.clock.NetworkTime(sharedTimeout))
	defer cancel()
	results, err := readQueries(limited, r.api, span, []Query{q})
	if err != nil {
		return nil, err
	}
	return results[0].onePoints()
}

func stoppedError(err error) error {
	return &sluice.Error{Op: "read metrics", Kind: sluice.KindOf(err), Err: err, Next: sluice.NextStep(err)}
}
