// Package load sends requests to an address on a schedule and records the result of each request, as
// a caller sees it.
//
// The load is an open loop: requests follow the schedule and never wait for responses. A latency
// counts from the time at which the request was due, so that a stall increases the latency of
// every request that it delayed. Each request is sent once. If http.Transport sends a request again
// over another connection, the request counts as failed.
//
// Package load makes no calls to AWS. It reads the version and the task that responded from two
// headers, which the images of the local AWS set.
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

// Headers with which an image of the local AWS names its version and its task.
const (
	VersionHeader = "X-Sim-Version"
	TaskHeader    = "X-Sim-Task"
)

// Options are the parameters of a load.
type Options struct {
	URL  string
	Rate float64 // arrivals per second, evenly spaced
	// Timeout limits one request; 0 means 10 s.
	Timeout time.Duration
	// Transport sends the requests. Nil means separate connections, which stay open and use no
	// proxy.
	Transport http.RoundTripper
}

// maxOpenRequests is the maximum number of requests without a response. A request above it is not
// sent and counts as failed.
const maxOpenRequests = 10_000

// Load is a load that runs until Stop.
type Load struct {
	options      Options
	began        time.Time
	stop         chan struct{}
	scheduleDone chan struct{} // closed when the schedule has stopped
	inFlight     sync.WaitGroup
	pending      atomic.Int64

	mu    sync.Mutex
	steps []*Step
}

// Start starts to send requests. They count for the first step.
func Start(o Options, step string) *Load {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	l := &Load{options: o, began: time.Now(), stop: make(chan struct{}), scheduleDone: make(chan struct{})}
	l.BeginStep(step)
	go l.runSchedule()
	return l
}

func newTransport() *http.Transport {
	return &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true, IdleConnTimeout: time.Minute}
}

// BeginStep begins a new step. Requests sent from now on count for it.
func (l *Load) BeginStep(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if n := len(l.steps); n > 0 {
		l.steps[n-1].Ended = now
	}
	l.steps = append(l.steps, newStep(name, now))
}

// SetSteady declares that the weights of the current step are in force. Requests sent from now on
// also count for its shares. It does nothing if the current step has another name.
func (l *Load) SetSteady(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.steps[len(l.steps)-1]; s.Name == name {
		s.steady = true
	}
}

// Stop stops the schedule, waits for the outstanding responses, and returns the steps in their
// order.
func (l *Load) Stop() []*Step {
	close(l.stop)
	<-l.scheduleDone
	l.inFlight.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps[len(l.steps)-1].Ended = time.Now()
	if t, ok := l.options.Transport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	return l.steps
}

// runSchedule sends each request when it is due. A request that is overdue is sent immediately, and
// its latency counts from the due time.
func (l *Load) runSchedule() {
	defer close(l.scheduleDone)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; ; n++ {
		due := l.began.Add(time.Duration(float64(n) / l.options.Rate * float64(time.Second)))
		timer.Reset(time.Until(due))
		select {
		case <-l.stop:
			return
		case <-timer.C:
			l.sendRequest(due)
		}
	}
}

func (l *Load) sendRequest(due time.Time) {
	l.mu.Lock()
	step := l.steps[len(l.steps)-1]
	steady := step.steady
	l.mu.Unlock()
	if l.pending.Add(1) > maxOpenRequests {
		l.pending.Add(-1)
		l.recordResponse(step, response{cause: "not sent: 10000 requests had no response"}, steady, 0)
		return
	}
	l.inFlight.Go(func() {
		defer l.pending.Add(-1)
		ctx, cancel := context.WithTimeout(context.Background(), l.options.Timeout)
		defer cancel()
		a := sendOnce(ctx, l.options)
		l.recordResponse(step, a, steady, time.Since(due))
	})
}

func (l *Load) recordResponse(s *Step, a response, steady bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.addResponse(a, steady, took)
}
