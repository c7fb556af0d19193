package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// AWS's answers may be older than its writes. AWS documents no limit (Amazon ECS API Reference,
// "eventual consistency"). Waiting for a fixed time is therefore the last resort.
const (
	// unseenLimit is how long reads may not show a write without an identity. A read that is sent
	// later and does not show the write proves that it had no effect.
	unseenLimit = 30 * time.Second
	// maxReadLag is how long reads may be older than a write with a known identity. After that the
	// stage fails: it never succeeds on such a read.
	maxReadLag = 2 * time.Minute
	// alwaysShownAfter is the age of a write that every read shows.
	alwaysShownAfter = 10 * time.Minute
)

// writeProof is what a read of the service must show to be newer than our last write. An older read
// shows the state before the write and proves nothing. The zero writeProof accepts every read.
type writeProof struct {
	writeName   string                       // name of the write, for users
	sentAt      time.Time                    // when it was sent
	hasIdentity bool                         // AWS returned its identity: elapsed time proves nothing
	written     verdict.Written              // of a deployment: what AWS returned
	shows       func(*ecs.ServiceState) bool // reports whether a read contains the write; nil: written is compared
	earlier     *writeProof                  // of an earlier write that a read must show too
}

// withLater is the proof of a later write in addition to that of an earlier one.
func (p writeProof) withLater(later writeProof) writeProof {
	later.earlier = &p
	return later
}

// newestWritten is what AWS returned for the newest deployment in the proof.
func (p writeProof) newestWritten() verdict.Written {
	if p.written == (verdict.Written{}) && p.earlier != nil {
		return p.earlier.newestWritten()
	}
	return p.written
}

// freshFor is how long after its creation a deployment has no failed task yet: ECS first places it.
const freshFor = 2 * time.Second

// isFresh reports whether the proof is of a deployment that was created a moment ago.
func (p writeProof) isFresh(now time.Time) bool {
	return p.hasIdentity && p.earlier == nil && now.Sub(p.sentAt) <= freshFor
}

// acceptsRead reports whether a read that was sent at a time is newer than the write.
func (p writeProof) acceptsRead(live *ecs.ServiceState, sent time.Time) bool {
	if p.earlier != nil && !p.earlier.acceptsRead(live, sent) {
		return false
	}
	if p.written.IsIn(live.ForVerdict()) && (p.shows == nil || p.shows(live)) {
		return true
	}
	return !p.hasIdentity && sent.Sub(p.sentAt) >= unseenLimit
}

// readAfter reads the service until a read is newer than our last write.
func (r *Run) readAfter(ctx context.Context, p writeProof) (*ecs.ServiceState, error) {
	return r.awaitRead(ctx, p, r.observeService)
}

// readSharedAfter is readAfter, but returns the read that this poll has, if that is newer than our
// last write.
func (r *Run) readSharedAfter(ctx context.Context, p writeProof) (*ecs.ServiceState, error) {
	if held := r.reads.findService(r.Clock.Now()); held.State != nil && p.acceptsRead(held.State, held.SentAt) {
		return held.State, nil
	}
	return r.readAfter(ctx, p)
}

// awaitRead repeats a read until it is newer than our last write.
func (r *Run) awaitRead(ctx context.Context, p writeProof, read func(context.Context) (*ecs.ServiceState,
	error)) (*ecs.ServiceState, error) {
	began := r.Clock.Now()
	for {
		r.reads.endPoll()
		sent := r.Clock.Now()
		live, err := read(ctx)
		if err != nil || p.acceptsRead(live, sent) {
			return live, err
		}
		if sent.Sub(began) >= maxReadLag {
			return nil, r.errNeverShown(p)
		}
		if r.isFirstTime("unseen " + p.writeName) {
			r.Host.Emit(sluice.Waiting{For: "AWS to show " + p.writeName,
				Detail: "the responses are older than the write"})
		}
		if err := r.pauseFor(ctx, readBackDelay); err != nil {
			return nil, err
		}
	}
}

// readUntil repeats a read until it reports settled. It stops earlier if a read is sent so long
// after a write without an identity that it must be newer than that write.
func (r *Run) readUntil(ctx context.Context, wrote time.Time, read func(context.Context) (settled bool,
	err error)) error {
	for {
		r.reads.endPoll()
		sent := r.Clock.Now()
		settled, err := read(ctx)
		if settled || err != nil || sent.Sub(wrote) >= unseenLimit {
			return err
		}
		if err := r.pauseFor(ctx, readBackDelay); err != nil {
			return err
		}
	}
}

func (r *Run) errNeverShown(p writeProof) error {
	return &sluice.Error{Op: "read the service", Resource: r.client.Resource(), Kind: sluice.Stall,
		Err:  fmt.Errorf("for %s, AWS has not returned %s, which sluice wrote", maxReadLag, p.writeName),
		Next: "run sluice status to see what is running, or sluice rollback to restore the previous state"}
}
