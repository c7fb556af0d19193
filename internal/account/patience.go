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
	Patience = 5 * time.Minute
	// silenceReportAfter is how long AWS gives no response before sluice reports it.
	silenceTold = 20 * time.Second
	// checkInterval is how often [LongRetry.Check] is called between two attempts.
	askEvery = time.Second
	// longRetryBackoff is the longest wait between two attempts of a LongRetry. sluice notices the
	// end of an outage within this time.
	patientBackoff = 10 * time.Second
)

// LongRetry makes calls retry for minutes when AWS does not respond, if repeating them can do no
// harm. Make one per stage; its calls share it. It is not for concurrent use by several stages.
type Patient struct {
	// Budget is how long calls are retried without any response. [clock.Forever]: until the context
	// ends.
	Budget time.Duration
	// Check is called between two attempts. Its error ends the call. May be nil.
	Ask func() error
	// Report is called when AWS has not responded for a while, and when it responds again. May be
	// nil.
	Tell func(sluice.Unanswered)

	silence silence
	mu      sync.Mutex
	failing map[string]time.Time // since when each request has had no usable response
}

type patientKey struct{}

// WithLongRetry makes the calls under the returned context retry for minutes.
func WithPatience(ctx context.Context, p *Patient) context.Context {
	return context.WithValue(ctx, patientKey{}, p)
}

// HasLongRetry reports whether calls under ctx are retried for minutes. A caller need not repeat a
// call that failed without a response.
func IsPatient(ctx context.Context) bool { return patientOf(ctx) != nil }

func patientOf(ctx context.Context) *Patient {
	p, _ := ctx.Value(patientKey{}).(*Patient)
	return p
}

// silence is the time since the last usable response.
type silence struct {
	mu    sync.Mutex
	since time.Time // when the first attempt without a response was sent; zero: AWS responds
	cause string    // of the last attempt; empty: AWS refuses the rate
	told  bool
}

// noteUnanswered stores an attempt without a response, sent at that time. It returns when the
// silence began.
func (s *silence) begin(at time.Time, cause string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since = at
	}
	s.cause = cause
	return s.since
}

// dueReport returns the report about the silence, if it is due now.
func (s *silence) due(now time.Time) (ev sluice.Unanswered, since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lasts := now.Sub(s.since)
	if s.told || s.since.IsZero() || s.cause == "" || lasts < silenceTold {
		return ev, since, false
	}
	s.told = true
	return sluice.Unanswered{Seconds: seconds(lasts), Cause: s.cause}, s.since, true
}

// endSilence stores that AWS responded. told is true if the silence was reported.
func (s *silence) end(now time.Time) (lasted time.Duration, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lasted, told = now.Sub(s.since), s.told
	s.since, s.told = time.Time{}, false
	return lasted, told
}

// noteAnswer stores that AWS responded, and reports the end of a silence.
func (g gate) answered(p *Patient, r request) {
	if p != nil {
		p.end(r)
	}
	s, tell := g.listen(p)
	if lasted, told := s.end(g.clock.Now()); told && tell != nil {
		tell(sluice.Unanswered{Seconds: seconds(lasted), Over: true})
	}
}

// noteSilence stores that an attempt sent at that time got no response. It returns since when there
// is none.
func (g gate) unanswered(p *Patient, r request, f fault, at time.Time) (since time.Time) {
	s, _ := g.listen(p)
	cause := ""
	if f.class != throttled {
		words, _ := reason(context.Background(), f)
		cause = r.operation + ": " + words
	}
	since = s.begin(at, cause)
	g.tellSilence(p)
	if p != nil {
		since = p.begin(r, at)
	}
	return since
}

// reportSilence reports a silence that has lasted for a while, once.
func (g gate) tellSilence(p *Patient) {
	s, tell := g.listen(p)
	if tell == nil {
		return
	}
	ev, since, ok := s.due(g.clock.Now())
	if !ok {
		return
	}
	if p != nil && p.Budget != clock.Forever {
		ev.Until = since.Add(p.Budget)
	}
	tell(ev)
}

// silenceOf returns the silence to use and its reporter: those of the LongRetry, or of the account.
func (g gate) listen(p *Patient) (*silence, func(sluice.Unanswered)) {
	if p != nil {
		return &p.silence, p.Tell
	}
	return g.silence, g.onSilence
}

// noteFailing stores that a request, sent at that time, got no usable response. It returns since
// when this is true. Responses to other requests do not reset it.
func (p *Patient) begin(r request, at time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing == nil {
		p.failing = map[string]time.Time{}
	}
	if _, ok := p.failing[r.name()]; !ok {
		p.failing[r.name()] = at
	}
	return p.failing[r.name()]
}

// clearFailing stores that a request got its response.
func (p *Patient) end(r request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.failing, r.name())
}

func (r request) name() string { return r.operation + " " + r.resource }

func seconds(d time.Duration) int { return int(d / time.Second) }

// nextLongAttempt returns whether another attempt may follow attempt number n, and after how long.
func (p *Patient) next(n int, f fault, draw func() float64) (wait time.Duration, again bool) {
	wait, again = f.wait(n, draw)
	if !again {
		return 0, false
	}
	if f.class != throttled {
		wait = min(wait, patientBackoff)
	}
	if f.late {
		wait = min(wait, time.Second) // the attempt already waited for its response
	}
	return wait, p.Budget == clock.Forever || f.silent+wait < p.Budget
}

// sleepChecked sleeps for d. It calls Check every second, and reports a silence.
func (p *Patient) rest(ctx context.Context, g gate, d time.Duration) error {
	for {
		g.tellSilence(p)
		if p.Ask != nil {
			if err := p.Ask(); err != nil {
				return err
			}
		}
		if err := g.sleep(ctx, min(d, askEvery)); err != nil {
			return err
		}
		if d -= askEvery; d <= 0 {
			return nil
		}
	}
}
