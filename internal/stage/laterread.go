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
	unseenFor = 30 * time.Second
	// maxReadLag is how long reads may be older than a write with a known identity. After that the
	// stage fails: it never succeeds on such a read.
	shownWithin = 2 * time.Minute
	// alwaysShownAfter is the age of a write that every read shows.
	longAgo = 10 * time.Minute
)

// writeProof is what a read of the service must show to be newer than our last write. An older read
// shows the state before the write and proves nothing. The zero writeProof accepts every read.
type proof struct {
	write string               // name of the write, for users
	at    time.Time            // when it was sent
	known bool                 // AWS returned its identity: elapsed time proves nothing
	told  verdict.Written      // of a deployment: what AWS returned
	shows func(*ecs.Live) bool // reports whether a read contains the write; nil: written is compared
	also  *proof               // of an earlier write that a read must show too
}

// withLater is the proof of a later write in addition to that of an earlier one.
func (p proof) and(later proof) proof {
	later.also = &p
	return later
}

// newestWritten is what AWS returned for the newest deployment in the proof.
func (p proof) answered() verdict.Written {
	if p.told == (verdict.Written{}) && p.also != nil {
		return p.also.answered()
	}
	return p.told
}

// acceptsRead reports whether a read that was sent at a time is newer than the write.
func (p proof) accepts(live *ecs.Live, sent time.Time) bool {
	if p.also != nil && !p.also.accepts(live, sent) {
		return false
	}
	if p.told.In(live.Sight()) && (p.shows == nil || p.shows(live)) {
		return true
	}
	return !p.known && sent.Sub(p.at) >= unseenFor
}

// readAfter reads the service until a read is newer than our last write.
func (r *Run) readAfter(ctx context.Context, p proof) (*ecs.Live, error) {
	return r.awaitRead(ctx, p, r.observe)
}

// awaitRead repeats a read until it is newer than our last write.
func (r *Run) awaitRead(ctx context.Context, p proof, read func(context.Context) (*ecs.Live, error)) (*ecs.Live, error) {
	began := r.Clock.Now()
	for {
		sent := r.Clock.Now()
		live, err := read(ctx)
		if err != nil || p.accepts(live, sent) {
			return live, err
		}
		if sent.Sub(began) >= shownWithin {
			return nil, r.neverShown(p)
		}
		if r.once("unseen " + p.write) {
			r.Host.Emit(sluice.Waiting{For: "AWS to show " + p.write, Detail: "its answers are older than the write"})
		}
		if err := r.pause(ctx, claimSettle); err != nil {
			return nil, err
		}
	}
}

// readUntil repeats a read until it reports settled. It stops earlier if a read is sent so long
// after a write without an identity that it must be newer than that write.
func (r *Run) readUntil(ctx context.Context, wrote time.Time, read func(context.Context) (settled bool, err error)) error {
	for {
		sent := r.Clock.Now()
		settled, err := read(ctx)
		if settled || err != nil || sent.Sub(wrote) >= unseenFor {
			return err
		}
		if err := r.pause(ctx, claimSettle); err != nil {
			return err
		}
	}
}

func (r *Run) neverShown(p proof) error {
	return &sluice.Error{Op: "read the service", Resource: r.hand.Resource(), Kind: sluice.Stall,
		Err:  fmt.Errorf("for %s AWS's answers have not shown %s, which was written", shownWithin, p.write),
		Next: "sluice status shows what runs; sluice rollback returns to what was"}
}
