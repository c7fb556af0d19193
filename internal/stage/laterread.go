package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/verdict"
)

// AWS's answers may be older than its writes. AWS documents no limit (Amazon ECS API
// Reference, "eventual consistency"), so that time alone is the last resort.
const (
	// unseenFor is how long a write without an identity may stay unseen. A read that
	// is sent later and does not show the write proves that it changed nothing.
	unseenFor = 30 * time.Second
	// shownWithin is how long reads may be older than a write of which the identity is
	// known. After that the stage fails: it never ends well on such a read.
	shownWithin = 2 * time.Minute
	// longAgo is when every read shows a write.
	longAgo = 10 * time.Minute
)

// proof is what a read of the service must show to be newer than our last write. A
// read that is older shows what was before, and proves nothing. The zero proof
// accepts every read.
type proof struct {
	write string               // what was written, for people
	at    time.Time            // when it was sent
	known bool                 // AWS's answer told its identity: time proves nothing
	told  verdict.Written      // of a deployment: what AWS answered
	shows func(*ecs.Live) bool // reports whether a read contains the write; nil: what AWS answered tells
	also  *proof               // of an earlier write, which a read must show too
}

// and is the proof of a later write beside that of an earlier one.
func (p proof) and(later proof) proof {
	later.also = &p
	return later
}

// answered is what AWS told of the newest deployment that the proof is about.
func (p proof) answered() verdict.Written {
	if p.told == (verdict.Written{}) && p.also != nil {
		return p.also.answered()
	}
	return p.told
}

// accepts reports whether a read that was sent at a time is newer than the write.
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

// readUntil repeats a read until it settles what is asked, or is sent so long after a
// write without an identity that it is newer than that.
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
