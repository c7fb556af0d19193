// Package load sends requests to an address on a schedule and keeps what came of
// each of them, as a caller sees it.
//
// It is an open loop: arrivals follow the schedule and never wait for answers,
// and a latency counts from the time at which its request was due, so that a
// stall shows in every request that it held up. A request is sent once: what
// http.Transport would quietly send again over another connection is a failure
// here.
//
// It knows nothing of AWS. What answered is read off two headers that the local
// AWS's images set.
//
// Start reading at [Start].
package load

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Headers in which an image of the local AWS says who answers.
const (
	VersionHeader = "X-Sim-Version"
	TaskHeader    = "X-Sim-Task"
)

// Options make a load.
type Options struct {
	URL  string
	Rate float64 // arrivals per second, evenly spaced
	// Timeout is how long a request may take; 10 s if 0.
	Timeout time.Duration
	// Transport sends requests; nil: connections of its own, kept open, never
	// through a proxy.
	Transport http.RoundTripper
}

// mostOpen is how many requests may be without an answer; an arrival beyond that
// is a failure unsent.
const mostOpen = 10_000

// Load is a load that goes on until Stop.
type Load struct {
	options Options
	began   time.Time
	stop    chan struct{}
	paced   chan struct{} // closed when there are no more arrivals
	open    sync.WaitGroup
	pending atomic.Int64

	mu    sync.Mutex
	steps []*Step
}

// Start begins to send, counting to the first step.
func Start(o Options, step string) *Load {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Transport == nil {
		o.Transport = transport()
	}
	l := &Load{options: o, began: time.Now(), stop: make(chan struct{}), paced: make(chan struct{})}
	l.Step(step)
	go l.pace()
	return l
}

func transport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true, IdleConnTimeout: time.Minute}
}

// Step lets the requests that are sent from now on count to a new step.
func (l *Load) Step(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if n := len(l.steps); n > 0 {
		l.steps[n-1].Ended = now
	}
	l.steps = append(l.steps, newStep(name, now))
}

// Steady says that what the current step is about is in force now: requests
// sent from now on count to its shares too. It does nothing if the step is no
// longer the one of that name.
func (l *Load) Steady(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.steps[len(l.steps)-1]; s.Name == name {
		s.steady = true
	}
}

// Stop ends the arrivals, waits for the answers that are still to come, and
// returns the steps in their order.
func (l *Load) Stop() []*Step {
	close(l.stop)
	<-l.paced
	l.open.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps[len(l.steps)-1].Ended = time.Now()
	if t, ok := l.options.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return l.steps
}

// pace lets requests arrive when they are due. One that is late is sent at once,
// and its latency counts from when it was due.
func (l *Load) pace() {
	defer close(l.paced)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; ; n++ {
		due := l.began.Add(time.Duration(float64(n) / l.options.Rate * float64(time.Second)))
		timer.Reset(time.Until(due))
		select {
		case <-l.stop:
			return
		case <-timer.C:
			l.arrive(due)
		}
	}
}

func (l *Load) arrive(due time.Time) {
	l.mu.Lock()
	step := l.steps[len(l.steps)-1]
	steady := step.steady
	l.mu.Unlock()
	if l.pending.Add(1) > mostOpen {
		l.pending.Add(-1)
		l.keep(step, answer{cause: "not sent: 10000 requests were without an answer"}, steady, 0)
		return
	}
	l.open.Go(func() {
		defer l.pending.Add(-1)
		ctx, cancel := context.WithTimeout(context.Background(), l.options.Timeout)
		defer cancel()
		a := send(ctx, l.options)
		l.keep(step, a, steady, time.Since(due))
	})
}

func (l *Load) keep(s *Step, a answer, steady bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.add(a, steady, took)
}
