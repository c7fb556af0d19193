package account

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

const (
	// LongRetryBudget is how long a deployment retries a call without any response from AWS. Each
	// response starts it again.
	LongRetryBudget = 5 * time.Minute
	// silenceReportAfter is how long AWS gives no response before sluice reports it.
	silenceReportAfter = 20 * time.Second
	// checkInterval is how often [LongRetry.Check] is called between two attempts.
	checkInterval = time.Second
	// longRetryBackoff is the longest wait between two attempts of a LongRetry. sluice notices the
	// end of an outage within this time.
	longRetryBackoff = 10 * time.Second
)

// LongRetry makes calls retry for minutes when AWS does not respond, if repeating them can do no
// harm. Make one per stage; its calls share it. It is not for concurrent use by several stages.
type LongRetry struct {
	// Budget is how long calls are retried without any response. [clock.Forever]: until the context
	// ends.
	Budget time.Duration
	// Check is called between two attempts. Its error ends the call. May be nil.
	Check func() error
	// Report is called when AWS has not responded for a while, and when it responds again. May be
	// nil.
	Report func(sluice.Unanswered)

	silence silence
	mu      sync.Mutex
	failing map[string]time.Time // since when each request has had no usable response
}

type longRetryKey struct{}

// WithLongRetry makes the calls under the returned context retry for minutes.
func WithLongRetry(ctx context.Context, p *LongRetry) context.Context {
	return context.WithValue(ctx, longRetryKey{}, p)
}

// RetryAs makes the calls under the returned context retry as those under another one do. It is for
// reads that several callers share: they end with none of the callers' contexts.
func RetryAs(ctx, caller context.Context) context.Context {
	return WithLongRetry(ctx, longRetryOf(caller))
}

// HasLongRetry reports whether calls under ctx are retried for minutes. A caller need not repeat a
// call that failed without a response.
func HasLongRetry(ctx context.Context) bool { return longRetryOf(ctx) != nil }

func longRetryOf(ctx context.Context) *LongRetry {
	p, _ := ctx.Value(longRetryKey{}).(*LongRetry)
	return p
}

// silence is the time since the last usable response.
type silence struct {
	mu       sync.Mutex
	since    time.Time // when the first attempt without a response was sent; zero: AWS responds
	cause    string    // of the last attempt; empty: AWS refuses the rate
	reported bool
}

// noteUnanswered stores an attempt without a response, sent at that time. It returns when the
// silence began.
func (s *silence) noteUnanswered(at time.Time, cause string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since = at
	}
	s.cause = cause
	return s.since
}

// dueReport returns the report about the silence, if it is due now.
func (s *silence) dueReport(now time.Time) (ev sluice.Unanswered, since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lasts := now.Sub(s.since)
	if s.reported || s.since.IsZero() || s.cause == "" || lasts < silenceReportAfter {
		return ev, since, false
	}
	s.reported = true
	return sluice.Unanswered{Seconds: wholeSeconds(lasts), Cause: s.cause}, s.since, true
}

// endSilence stores that AWS responded. told is true if the silence was reported.
func (s *silence) endSilence(now time.Time) (lasted time.Duration, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lasted, told = now.Sub(s.since), s.reported
	s.since, s.reported = time.Time{}, false
	return lasted, told
}

// noteAnswer stores that AWS responded, and reports the end of a silence.
func (g gate) noteAnswer(p *LongRetry, r request) {
	if p != nil {
		p.clearFailing(r)
	}
	s, tell := g.silenceOf(p)
	if lasted, told := s.endSilence(g.clock.Now()); told && tell != nil {
		tell(sluice.Unanswered{Seconds: wholeSeconds(lasted), Over: true})
	}
}

// noteSilence stores that an attempt sent at that time got no response. It returns since when there
// is none.
func (g gate) noteSilence(p *LongRetry, r request, f fault, at time.Time) (since time.Time) {
	s, _ := g.silenceOf(p)
	cause := ""
	if f.class != classThrottled {
		words, _ := faultReason(context.Background(), f)
		cause = r.operation + ": " + words
	}
	since = s.noteUnanswered(at, cause)
	g.reportSilence(p)
	if p != nil {
		since = p.noteFailing(r, at)
	}
	return since
}

// reportSilence reports a silence that has lasted for a while, once.
func (g gate) reportSilence(p *LongRetry) {
	s, tell := g.silenceOf(p)
	if tell == nil {
		return
	}
	ev, since, ok := s.dueReport(g.clock.Now())
	if !ok {
		return
	}
	if p != nil && p.Budget != clock.Forever {
		ev.Until = since.Add(p.Budget)
	}
	tell(ev)
}

// silenceOf returns the silence to use and its reporter: those of the LongRetry, or of the account.
func (g gate) silenceOf(p *LongRetry) (*silence, func(sluice.Unanswered)) {
	if p != nil {
		return &p.silence, p.Report
	}
	return g.silence, g.onSilence
}

// noteFailing stores that a request, sent at that time, got no usable response. It returns since
// when this is true. Responses to other requests do not reset it.
func (p *LongRetry) noteFailing(r request, at time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing == nil {
		p.failing = map[string]time.Time{}
	}
	if _, ok := p.failing[r.requestName()]; !ok {
		p.failing[r.requestName()] = at
	}
	return p.failing[r.requestName()]
}

// clearFailing stores that a request got its response.
func (p *LongRetry) clearFailing(r request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.failing, r.requestName())
}

func (r request) requestName() string { return r.operation + " " + r.resource }

func wholeSeconds(d time.Duration) int { return int(d / time.Second) }

// nextLongAttempt returns whether another attempt may follow attempt number n, and after how long.
func (p *LongRetry) nextLongAttempt(n int, f fault, draw func() float64) (wait time.Duration, again bool) {
	wait, again = f.retryWait(n, draw)
	if !again {
		return 0, false
	}
	if f.class != classThrottled {
		wait = min(wait, longRetryBackoff)
	}
	if f.timedOut {
		wait = min(wait, time.Second) // the attempt already waited for its response
	}
	return wait, p.Budget == clock.Forever || f.silentFor+wait < p.Budget
}

// sleepChecked sleeps for d. It calls Check every second, and reports a silence.
func (p *LongRetry) sleepChecked(ctx context.Context, g gate, d time.Duration) error {
	for {
		g.reportSilence(p)
		if p.Check != nil {
			if err := p.Check(); err != nil {
				return err
			}
		}
		if err := g.sleep(ctx, min(d, checkInterval)); err != nil {
			return err
		}
		if d -= checkInterval; d <= 0 {
			return nil
		}
	}
}
