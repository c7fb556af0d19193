package piped_test

import (
	"context"
	"sync"
	"testing"
	"time"
)

const (
	// beat is how often the world's clock moves, in the machine's time.
	beat = 5 * time.Millisecond
	// patience is how many beats a request of a caller may take before the world
	// waits for it: a second of its time, where a drain takes twenty.
	patience = 8
)

// pace is the world's clock in these tests. It moves by beats, and a beat that comes
// late is not made up for: where the machine has no time for the test, none passes in
// the world either. It also stands still while a request is open for longer than its
// patience, and until the world's sockets have followed it. So what a caller sees never
// depends on how busy the machine is: a request that AWS would have long answered is
// not cut by the end of a drain.
type pace struct {
	mu     sync.Mutex
	now    time.Time
	asleep map[chan struct{}]time.Time // until when
	open   int                         // beats that the open request has taken; -1 if there is none
	speed  time.Duration
	follow func() // waits for the sockets of the world
}

func newPace() *pace {
	return &pace{now: time.Now(), asleep: map[chan struct{}]time.Time{}, open: -1, speed: speed}
}

// start lets time pass until the end of the test.
func (p *pace) start(t testing.TB, follow func()) {
	p.follow = follow
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		at := time.NewTicker(beat)
		defer at.Stop()
		for {
			select {
			case <-at.C:
				p.beat()
				p.follow()
			case <-quit:
				return
			}
		}
	}()
	t.Cleanup(func() {
		close(quit)
		<-done
	})
}

func (p *pace) beat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open >= 0 {
		p.open++
	}
	if p.open > patience {
		return
	}
	p.now = p.now.Add(beat * p.speed)
	for c, until := range p.asleep {
		if !until.After(p.now) {
			delete(p.asleep, c)
			close(c)
		}
	}
}

func (p *pace) Now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

func (p *pace) Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c := make(chan struct{})
	p.mu.Lock()
	p.asleep[c] = p.now.Add(d)
	p.mu.Unlock()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.asleep, c)
		return context.Cause(ctx)
	}
}

// request is a caller's request from its begin to its end; one at a time.
func (p *pace) request(send func()) {
	p.set(func() { p.open = 0 })
	defer p.set(func() { p.open = -1 })
	send()
}

// unhurried lets no more time pass in the world than outside while f runs.
func (p *pace) unhurried(f func()) {
	p.set(func() { p.speed = 1 })
	defer p.set(func() { p.speed = speed })
	f()
}

func (p *pace) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

// A world whose request is open waits for it, and does not make up for it later.
func TestWorldWaitsForOpenRequests(t *testing.T) {
	p := newPace()
	began := p.now
	p.request(func() {
		for range 1000 {
			p.beat()
		}
	})
	if passed := p.Now().Sub(began); passed != patience*beat*speed {
		t.Errorf("%s passed while a request was open", passed)
	}
	p.unhurried(p.beat)
	p.beat()
	if passed := p.Now().Sub(began); passed != (patience+1)*beat*speed+beat {
		t.Errorf("%s passed", passed)
	}
}
