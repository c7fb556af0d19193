package stage

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
	"github.com/sluice-ecs/sluice/internal/route/alb"
)

// pollReads holds what was read during one poll, so that several readers of the poll share a call.
//
// A read is shared within its poll only. Every write and every pause ends the poll, and so does
// shareLimit. Reads that prove an effect or decide that no work remains are never shared: they call
// AWS, as [Run.observeService] does.
type pollReads struct {
	mu    sync.Mutex // a wait for ECS polls next to its checks
	epoch int        // of the poll; raised by every write and every pause
	held  map[string]heldRead
}

// heldRead is one read and the poll that it belongs to.
type heldRead struct {
	value  any
	sentAt time.Time
	epoch  int
}

// shareLimit is how old a shared read may be: the calls of one poll take less.
const shareLimit = time.Second

// endPoll drops every read. No read from before a write or a pause is served after it.
func (p *pollReads) endPoll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch++
	p.held = nil
}

// beginRead returns the poll that a read which is sent now belongs to.
func (p *pollReads) beginRead(now time.Time) heldRead {
	p.mu.Lock()
	defer p.mu.Unlock()
	return heldRead{sentAt: now, epoch: p.epoch}
}

// hold keeps the response of a read for other readers of its poll, unless that poll has ended.
func (p *pollReads) hold(key string, of heldRead, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of.epoch != p.epoch {
		return
	}
	if p.held == nil {
		p.held = map[string]heldRead{}
	}
	of.value = value
	p.held[key] = of
}

// find returns the response that this poll has for a key.
func (p *pollReads) find(key string, now time.Time) (value any, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, ok := p.held[key]
	if !ok || now.Sub(of.sentAt) > shareLimit {
		return nil, false
	}
	return of.value, true
}

// readShared returns the response that this poll has for a key, and reads if it has none.
func readShared[V any](r *Run, key string, read func() (V, error)) (V, error) {
	if value, ok := r.reads.find(key, r.Clock.Now()); ok {
		return value.(V), nil
	}
	of := r.reads.beginRead(r.Clock.Now())
	value, err := read()
	if err == nil {
		r.reads.hold(key, of, value)
	}
	return value, err
}

// moveHeld gives a response another key, if it is the one that this poll has.
func (p *pollReads) moveHeld(from, to string, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of, ok := p.held[from]; ok && of.value == value {
		p.held[to] = of
	}
}

// Keys of the service in [pollReads]: checked for drift, and before that check.
const (
	serviceKey   = "service"
	uncheckedKey = "unchecked service"
)

// observeShared is observeService for a reader that may share the read of another reader of the
// same poll.
func (r *Run) observeShared(ctx context.Context) (*ecs.ServiceState, error) {
	return readShared(r, serviceKey, func() (*ecs.ServiceState, error) { return r.observeService(ctx) })
}

// findService returns the read of the service that this poll has; the zero value if it has none.
func (p *pollReads) findService(now time.Time) ecs.ServiceRead {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, ok := p.held[serviceKey]
	if !ok || now.Sub(of.sentAt) > shareLimit {
		return ecs.ServiceRead{}
	}
	return ecs.ServiceRead{State: of.value.(*ecs.ServiceState), SentAt: of.sentAt}
}

// readSharedTargets reads the targets of a group, once per poll. The result is the caller's.
func (b albTraffic) readSharedTargets(ctx context.Context, group string) ([]sluice.Target, error) {
	all, err := readShared(b.Run, "targets "+group, func() ([]sluice.Target, error) { return b.readTargets(ctx, group) })
	return slices.Clone(all), err
}

// rulesKey is the key of the listener rules in [pollReads].
const rulesKey = "rules"

// readSharedRules reads the rules, once per poll. No write may depend on the result.
func (b albTraffic) readSharedRules(ctx context.Context) ([]alb.Rule, error) {
	return readShared(b.Run, rulesKey, func() ([]alb.Rule, error) { return b.rules.Rules(ctx) })
}
