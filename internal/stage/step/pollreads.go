package step

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice"
	"github.com/sluice-ecs/sluice/internal/ecs"
)

// PollReads holds what was read during one poll, so that several readers of the poll share a call.
//
// A read is shared within its poll only. Every write and every pause ends the poll, and so does shareLimit; rules are
// shared after writes that are not to a load balancer. Reads that prove an effect or decide that no work remains are never
// shared: they call AWS, as [Step.ObserveService] does.
type PollReads struct {
	mu    sync.Mutex // a wait for ECS polls next to its checks
	epoch int        // of the poll; raised by every write and every pause
	held  map[string]HeldRead
}

// HeldRead is one read and the poll that it belongs to.
type HeldRead struct {
	value  any
	SentAt time.Time
	epoch  int
}

// shareLimit is how old a shared read may be: the calls of one poll take less.
const shareLimit = time.Second

// EndPoll drops every read. No read from before a write or a pause is served after it.
func (p *PollReads) EndPoll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.epoch++
	p.held = nil
}

// EndPollAfter is EndPoll after a write. The rules stay as they were read, unless it was a write to a load balancer.
func (p *PollReads) EndPollAfter(w sluice.Write) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rules, ok := p.held[RulesKey]
	p.epoch++
	p.held = nil
	if ok && !strings.HasPrefix(w.Operation, "elasticloadbalancing:") {
		rules.epoch = p.epoch
		p.held = map[string]HeldRead{RulesKey: rules}
	}
}

// BeginRead returns the poll that a read which is sent now belongs to.
func (p *PollReads) BeginRead(now time.Time) HeldRead {
	p.mu.Lock()
	defer p.mu.Unlock()
	return HeldRead{SentAt: now, epoch: p.epoch}
}

// Hold keeps the response of a read for other readers of its poll, unless that poll has ended.
func (p *PollReads) Hold(key string, of HeldRead, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of.epoch != p.epoch {
		return
	}
	if p.held == nil {
		p.held = map[string]HeldRead{}
	}
	of.value = value
	p.held[key] = of
}

// find returns the response that this poll has for a key.
func (p *PollReads) find(key string, now time.Time) (value any, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, ok := p.held[key]
	if !ok || now.Sub(of.SentAt) > shareLimit {
		return nil, false
	}
	return of.value, true
}

// ReadShared returns the response that this poll has for a key, and reads if it has none.
func ReadShared[V any](s *Step, key string, read func() (V, error)) (V, error) {
	if value, ok := s.Reads.find(key, s.Clock.Now()); ok {
		return value.(V), nil
	}
	of := s.Reads.BeginRead(s.Clock.Now())
	value, err := read()
	if err == nil {
		s.Reads.Hold(key, of, value)
	}
	return value, err
}

// MoveHeld gives a response another key, if it is the one that this poll has.
func (p *PollReads) MoveHeld(from, to string, value any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of, ok := p.held[from]; ok && of.value == value {
		p.held[to] = of
	}
}

// Keys of the service in [PollReads]: checked for drift, and before that check.
const (
	ServiceKey   = "service"
	UncheckedKey = "unchecked service"
)

// ObserveShared is ObserveService for a reader that may share the read of another reader of the
// same poll.
func ObserveShared(ctx context.Context, s *Step) (*ecs.ServiceState, error) {
	return ReadShared(s, ServiceKey, func() (*ecs.ServiceState, error) { return s.ObserveService(ctx) })
}

// FindService returns the read of the service that this poll has; the zero value if it has none.
func (p *PollReads) FindService(now time.Time) ecs.ServiceRead { return p.findService(ServiceKey, now) }

// FindServices returns the reads of the service that this poll has, checked or not.
func (p *PollReads) FindServices(now time.Time) (all []ecs.ServiceRead) {
	for _, key := range []string{UncheckedKey, ServiceKey} {
		if held := p.findService(key, now); held.State != nil {
			all = append(all, held)
		}
	}
	return all
}

func (p *PollReads) findService(key string, now time.Time) ecs.ServiceRead {
	p.mu.Lock()
	defer p.mu.Unlock()
	of, ok := p.held[key]
	if !ok || now.Sub(of.SentAt) > shareLimit {
		return ecs.ServiceRead{}
	}
	return ecs.ServiceRead{State: of.value.(*ecs.ServiceState), SentAt: of.SentAt}
}

// ObserveUnchecked reads the service without any check, for the beginning of a stage. The read that ended the stage
// before it is shared, if it showed a service.
func ObserveUnchecked(ctx context.Context, s *Step) (*ecs.ServiceState, error) {
	for _, held := range s.Reads.FindServices(s.Clock.Now()) {
		s.ReadAt = held.SentAt
		return held.State, nil
	}
	of := s.Reads.BeginRead(s.Clock.Now())
	live, err := s.Client.Observe(ctx)
	if err != nil {
		return nil, err
	}
	s.ReadAt = s.Clock.Now()
	s.Reads.Hold(UncheckedKey, of, live)
	return live, nil
}

// RulesKey is the key of the listener rules in [PollReads].
const RulesKey = "rules"
