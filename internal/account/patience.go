package account

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/clock"
)

const (
	// Patience is how long a deployment tries a call again without any answer from
	// AWS. Each answer begins it anew.
	Patience = 5 * time.Minute
	// silenceTold is how long AWS gives no answer before that is told.
	silenceTold = 20 * time.Second
	// askEvery is how often [Patient.Ask] is asked between two attempts.
	askEvery = time.Second
	// patientBackoff is the longest wait between two patient attempts. An outage is
	// noticed to be over within this time.
	patientBackoff = 10 * time.Second
)

// Patient makes calls try again for minutes when AWS gives no answer, as long as
// repeating them can do no harm. Make one per stage; its calls share it. It is not
// for concurrent use by several stages.
type Patient struct {
	// Budget is how long calls are tried without any answer. [clock.Forever]: until
	// the context ends.
	Budget time.Duration
	// Ask is asked between two attempts. Its error ends the call. May be nil.
	Ask func() error
	// Tell is told when AWS has not answered for a while, and when it answers again.
	// May be nil.
	Tell func(sluice.Unanswered)

	silence silence
	mu      sync.Mutex
	failing map[string]time.Time // since when each request has had no answer of use
}

type patientKey struct{}

// WithPatience makes the calls under the returned context patient.
func WithPatience(ctx context.Context, p *Patient) context.Context {
	return context.WithValue(ctx, patientKey{}, p)
}

// IsPatient reports whether calls under ctx are tried for minutes. A caller need not
// repeat a call that failed without an answer.
func IsPatient(ctx context.Context) bool { return patientOf(ctx) != nil }

func patientOf(ctx context.Context) *Patient {
	p, _ := ctx.Value(patientKey{}).(*Patient)
	return p
}

// silence is the time since the last answer that was of use.
type silence struct {
	mu    sync.Mutex
	since time.Time // when the first attempt without an answer was sent; zero: AWS answers
	cause string    // of the last attempt; empty: AWS answers that it refuses the rate
	told  bool
}

// begin notes an attempt without an answer, sent at that time, and returns when the
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

// due is what is to be told of the silence now.
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

// end notes an answer. told reports whether the silence had been told.
func (s *silence) end(now time.Time) (lasted time.Duration, told bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lasted, told = now.Sub(s.since), s.told
	s.since, s.told = time.Time{}, false
	return lasted, told
}

// answered notes that AWS answered, and tells the end of a silence.
func (g gate) answered(p *Patient, r request) {
	if p != nil {
		p.end(r)
	}
	s, tell := g.listen(p)
	if lasted, told := s.end(g.clock.Now()); told && tell != nil {
		tell(sluice.Unanswered{Seconds: seconds(lasted), Over: true})
	}
}

// unanswered notes that an attempt sent at that time got no answer. It returns since
// when there is none.
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

// tellSilence tells a silence that has lasted for a while, once.
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

// listen is whose silence it is: the patient's, or that of the account.
func (g gate) listen(p *Patient) (*silence, func(sluice.Unanswered)) {
	if p != nil {
		return &p.silence, p.Tell
	}
	return g.silence, g.onSilence
}

// begin notes that a request, sent at that time, got no answer of use. It returns
// since when that is so: answers to other requests do not end it.
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

// end notes that a request got its answer.
func (p *Patient) end(r request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.failing, r.name())
}

func (r request) name() string { return r.operation + " " + r.resource }

func seconds(d time.Duration) int { return int(d / time.Second) }

// next says whether attempt number n may be followed by another, and after how long.
func (p *Patient) next(n int, f fault, draw func() float64) (wait time.Duration, again bool) {
	wait, again = f.wait(n, draw)
	if !again {
		return 0, false
	}
	if f.class != throttled {
		wait = min(wait, patientBackoff)
	}
	if f.late {
		wait = min(wait, time.Second) // it has waited for its answer already
	}
	return wait, p.Budget == clock.Forever || f.silent+wait < p.Budget
}

// rest sleeps for d. It asks every second whether to go on, and tells a silence.
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
