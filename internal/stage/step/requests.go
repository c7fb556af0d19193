package step

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/account"
	"github.com/sluice-ecs/sluice/internal/clock"
	"github.com/sluice-ecs/sluice/internal/metrics"
)

// requestReadInterval is the time between two reads of the request figures: CloudWatch has one
// figure per minute.
const requestReadInterval = time.Minute

// SharedMetrics returns the reader of metrics that all deployments of the account share. Its calls
// are optional reads: each is sent once.
func SharedMetrics(a *account.Account, c clock.Clock) *metrics.SharedReader {
	return account.Shared(a, func() *metrics.SharedReader {
		return metrics.NewSharedReader(a.CloudWatch(), c, account.WithOptionalReads)
	})
}

// requestWatch reads how many requests the variants got in the last minute, while the canary gets
// some. Reads run concurrently with the stage: no poll waits for one, and no verdict depends on one.
// The stages of one run share it.
type requestWatch struct {
	mu        sync.Mutex
	since     time.Time // the canary gets requests at least since then; zero: no stage has seen it
	readAt    time.Time
	isReading bool
	hasEnded  bool                    // AWS denies the reads: there are no more
	result    *sluice.RequestsCounted // read, and not emitted yet
	emitted   *sluice.RequestsCounted // the last one; nil: none
	// hasProblem: a read failed, and that was reported. Further failures are not.
	hasProblem bool
	// hasWarned: the canary's errors were told.
	hasWarned bool
}

// WatchRequests is called at every poll of a wait. It emits the figures that the last read
// returned, and starts the next read when it is due. It does not wait.
func WatchRequests(ctx context.Context, s *Step) {
	groups, ok := requestGroups(s)
	if !ok {
		return
	}
	w := &s.Facts.requests
	if counted := w.takeResult(); counted != nil {
		s.Host.Emit(*counted)
		if counted.HasWorseCanary() && !w.hasWarned && !s.Plan.HasGates(s.Stage.Index) {
			w.hasWarned = true
			s.EmitWarning("the canary answered %d of %d requests with 5xx, the primary %d of %d; no gate of this "+
				"stage reads them", counted.Canary.Errors, counted.Canary.Requests, counted.Primary.Errors,
				counted.Primary.Requests)
		}
	}
	if span, due := w.startRead(s.Host.Began(), s.Clock.Now()); due {
		s.Clock.Go(func() {
			counted, err := SharedMetrics(s.Account, s.Clock).ReadRequests(ctx, groups, span)
			if ctx.Err() != nil {
				w.dropRead()
				return
			}
			w.endRead(counted, err)
		})
	}
}

// requestGroups returns the target groups whose requests are counted. It returns false unless the
// canary gets requests during the whole stage, behind an Application Load Balancer.
func requestGroups(s *Step) (g metrics.TargetGroups, ok bool) {
	p, i := s.Plan, s.Stage.Index
	if s.IsRollback() || p.Primary == nil || p.Canary == nil || len(p.Listeners) == 0 ||
		p.StateBefore(i).CanaryShare() == 0 || p.StateAfter(i).CanaryShare() == 0 {
		return g, false
	}
	return metrics.GroupsOf(p.Listeners[0], p.Primary.ARN, p.Canary.ARN)
}

// takeResult returns the result of the last read, once. It returns nil if the result is as before, or
// if a problem was reported before.
func (w *requestWatch) takeResult() *sluice.RequestsCounted {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.result
	w.result = nil
	switch {
	case got == nil, w.emitted != nil && !isNews(*w.emitted, *got), got.Problem != "" && w.hasProblem:
		return nil
	}
	w.hasProblem = w.hasProblem || got.Problem != ""
	w.emitted = got
	return got
}

// isNews reports whether a result tells users more than the result before.
func isNews(before, now sluice.RequestsCounted) bool {
	if now.Problem != "" || now.Canary != nil {
		return now.From != before.From || now.Problem != before.Problem
	}
	return before.Canary != nil // CloudWatch has no data any more
}

// startRead returns the minutes to read, if a read is due. began is when the stage began.
func (w *requestWatch) startRead(began, now time.Time) (span metrics.Span, due bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		w.since = began
	}
	if w.isReading || w.hasEnded || now.Sub(w.readAt) < requestReadInterval {
		return span, false
	}
	if span, due = metrics.CompleteMinutes(w.since, now); due {
		w.isReading, w.readAt = true, now
	}
	return span, due
}

// dropRead forgets a read that the end of its stage stopped, so that the next stage reads. It is no
// problem of CloudWatch.
func (w *requestWatch) dropRead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isReading, w.readAt = false, time.Time{}
}

// endRead keeps the result of a read, or why there is none. counted is nil if the account was read in
// this minute before the groups were known: they are part of the next read.
func (w *requestWatch) endRead(counted *sluice.RequestsCounted, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.isReading = false
	if err != nil {
		w.hasEnded = sluice.KindOf(err) == sluice.Denied
		counted = &sluice.RequestsCounted{Problem: err.Error()}
	}
	if counted != nil {
		w.result = counted
	}
}
