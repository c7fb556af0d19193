package step

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
	// UnseenLimit is how long reads may not show a write without an identity. A read that is sent
	// later and does not show the write proves that it had no effect.
	UnseenLimit = 30 * time.Second
	// maxReadLag is how long reads may be older than a write with a known identity. After that the
	// stage fails: it never succeeds on such a read.
	maxReadLag = 2 * time.Minute
	// AlwaysShownAfter is the age of a write that every read shows.
	AlwaysShownAfter = 10 * time.Minute
)

// WriteProof is what a read of the service must show to be newer than our last write. An older read
// shows the state before the write and proves nothing. The zero WriteProof accepts every read.
type WriteProof struct {
	WriteName   string                       // name of the write, for users
	SentAt      time.Time                    // when it was sent
	HasIdentity bool                         // AWS returned its identity: elapsed time proves nothing
	Written     verdict.Written              // of a deployment: what AWS returned
	Shows       func(*ecs.ServiceState) bool // reports whether a read contains the write; nil: written is compared
	earlier     *WriteProof                  // of an earlier write that a read must show too
}

// WithLater is the proof of a later write in addition to that of an earlier one.
func (p WriteProof) WithLater(later WriteProof) WriteProof {
	later.earlier = &p
	return later
}

// NewestWritten is what AWS returned for the newest deployment in the proof.
func (p WriteProof) NewestWritten() verdict.Written {
	if p.Written == (verdict.Written{}) && p.earlier != nil {
		return p.earlier.NewestWritten()
	}
	return p.Written
}

// freshFor is how long after its creation a deployment has no failed task yet: ECS first places it.
const freshFor = 2 * time.Second

// IsFresh reports whether the proof is of a deployment that was created a moment ago.
func (p WriteProof) IsFresh(now time.Time) bool {
	return p.HasIdentity && p.earlier == nil && now.Sub(p.SentAt) <= freshFor
}

// acceptsRead reports whether a read that was sent at a time is newer than the write.
func (p WriteProof) acceptsRead(live *ecs.ServiceState, sent time.Time) bool {
	if p.earlier != nil && !p.earlier.acceptsRead(live, sent) {
		return false
	}
	if p.Written.IsIn(live.ForVerdict()) && (p.Shows == nil || p.Shows(live)) {
		return true
	}
	return !p.HasIdentity && sent.Sub(p.SentAt) >= UnseenLimit
}

// ReadAfter reads the service until a read is newer than our last write.
func (s *Step) ReadAfter(ctx context.Context, p WriteProof) (*ecs.ServiceState, error) {
	return s.AwaitRead(ctx, p, s.ObserveService)
}

// ReadSharedAfter is ReadAfter, but returns the read that this poll has, if that is newer than our
// last write.
func (s *Step) ReadSharedAfter(ctx context.Context, p WriteProof) (*ecs.ServiceState, error) {
	if held := s.Reads.FindService(s.Clock.Now()); held.State != nil && p.acceptsRead(held.State, held.SentAt) {
		return held.State, nil
	}
	return s.ReadAfter(ctx, p)
}

// AwaitRead repeats a read until it is newer than our last write.
func (s *Step) AwaitRead(ctx context.Context, p WriteProof, read func(context.Context) (*ecs.ServiceState,
	error)) (*ecs.ServiceState, error) {
	began := s.Clock.Now()
	for {
		s.Reads.EndPoll()
		sent := s.Clock.Now()
		live, err := read(ctx)
		if err != nil || p.acceptsRead(live, sent) {
			return live, err
		}
		if sent.Sub(began) >= maxReadLag {
			return nil, ErrNeverShown(s, p)
		}
		if s.IsFirstTime("unseen " + p.WriteName) {
			s.Host.Emit(sluice.Waiting{For: "AWS to show " + p.WriteName,
				Detail: "the responses are older than the write"})
		}
		if err := s.PauseFor(ctx, ReadBackDelay); err != nil {
			return nil, err
		}
	}
}

// ReadUntil repeats a read until it reports settled. It stops earlier if a read is sent so long
// after a write without an identity that it must be newer than that write.
func (s *Step) ReadUntil(ctx context.Context, wrote time.Time, read func(context.Context) (settled bool,
	err error)) error {
	for {
		s.Reads.EndPoll()
		sent := s.Clock.Now()
		settled, err := read(ctx)
		if settled || err != nil || sent.Sub(wrote) >= UnseenLimit {
			return err
		}
		if err := s.PauseFor(ctx, ReadBackDelay); err != nil {
			return err
		}
	}
}

// ErrNeverShown is the error of a write that AWS does not show within maxReadLag.
func ErrNeverShown(s *Step, p WriteProof) error {
	return &sluice.Error{Op: "read the service", Resource: s.Client.Resource(), Kind: sluice.Stall,
		Err:  fmt.Errorf("for %s, AWS has not returned %s, which sluice wrote", maxReadLag, p.WriteName),
		Next: "run sluice status to see what is running, or sluice rollback to restore the previous state"}
}

// WithReplaced is the proof of a return: the stopped or replaced deployment is no longer PRIMARY.
// ECS may return to an older deployment, which reads from before our update show too.
func (p WriteProof) WithReplaced(deployment string) WriteProof {
	p.Written.Replaced, p.HasIdentity = deployment, true
	return p
}
