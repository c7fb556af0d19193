package fault

import (
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Tasks ends running tasks, as the scheduler does.
type Tasks interface {
	CrashTask(tx *world.Tx, t *world.Task, code int)
	InterruptTask(tx *world.Tx, t *world.Task)
}

// Set holds the faults of one world.
type Set struct {
	w     *world.World
	seed  uint64
	tasks Tasks

	mu     sync.Mutex
	active []*activeFault
}

// activeFault is an injected fault.
type activeFault struct {
	Fault
	from     time.Time
	passed   int       // calls that passed because of skip=
	firstHit time.Time // time of the first hit after those
	calls    int       // calls that it matched
	hitCount int
	endedIn  map[world.Key]bool // Regions in which it has ended tasks
}

// Status is the current state of a fault.
type Status struct {
	Line   string `json:"fault"`
	Struck int    `json:"struck"` // calls hit, or tasks ended
	Over   bool   `json:"over"`   // no more hits will follow
}

// New creates the faults of a world; call it before the world's first step.
func New(w *world.World, seed uint64, tasks Tasks) *Set {
	s := &Set{w: w, seed: seed, tasks: tasks}
	w.OnNewRegion(s.startInRegion)
	return s
}

// Inject starts a fault. A fault of the world applies in every existing Region and in later ones.
func (s *Set) Inject(f Fault) {
	a := &activeFault{Fault: f, from: s.w.Now(), endedIn: map[world.Key]bool{}}
	s.mu.Lock()
	s.active = append(s.active, a)
	s.mu.Unlock()
	if !f.isOfCalls() {
		s.w.Each(func(tx *world.Tx) { s.scheduleFault(tx, a) })
	}
}

// Clear ends all faults. Tasks that it ended stay ended.
func (s *Set) Clear() {
	s.mu.Lock()
	s.active = nil
	s.mu.Unlock()
	s.w.Each(s.writeActiveFaults)
}

// List returns the faults in the order in which they were injected.
func (s *Set) List() []Status {
	now := s.w.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Status, 0, len(s.active))
	for _, a := range s.active {
		over := a.Times > 0 && a.hitCount >= a.Times || a.hasEnded(now) || a.endsTasks() && len(a.endedIn) > 0
		list = append(list, Status{a.String(), a.hitCount, over})
	}
	return list
}

func (a *activeFault) hasBegun(now time.Time) bool { return !now.Before(a.from.Add(a.After)) }
func (a *activeFault) hasEnded(now time.Time) bool {
	if a.Skip > 0 {
		return a.For > 0 && !a.firstHit.IsZero() && !now.Before(a.firstHit.Add(a.For))
	}
	return a.For > 0 && !now.Before(a.from.Add(a.After+a.For))
}
func (a *activeFault) isActive(now time.Time) bool { return a.hasBegun(now) && !a.hasEnded(now) }

// CallFault returns the fault of one call, whose zero value is none, and the added latency.
// Latencies add up. Of the other faults, the first that was injected applies.
func (s *Set) CallFault(service, operation string, now time.Time) (f Fault, latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.active {
		if !a.isOfCalls() || a.Kind == FailedOperation || f.Kind != "" && a.Kind != Latency || !a.isActive(now) ||
			!a.Matches(service, operation) || a.letsPass(now) || !s.takesHit(a) {
			continue
		}
		if a.Kind == Latency {
			latency += a.By
			continue
		}
		f = a.Fault
	}
	return f, latency
}

// OperationFails reports whether the operation that a call began asynchronously fails at its end,
// now.
func (s *Set) OperationFails(service, operation string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.active {
		if a.Kind == FailedOperation && a.isActive(now) && a.Matches(service, operation) && s.takesHit(a) {
			return true
		}
	}
	return false
}

// letsPass reports whether the call is one of those that skip= passes.
func (a *activeFault) letsPass(now time.Time) bool {
	if a.passed < a.Skip {
		a.passed++
		return true
	}
	if a.firstHit.IsZero() {
		a.firstHit = now
	}
	return false
}

func (s *Set) takesHit(a *activeFault) bool {
	if a.Times > 0 && a.hitCount >= a.Times {
		return false
	}
	a.calls++
	if a.P > 0 && a.P < 1 && s.randomFor(a.String(), a.calls) >= a.P {
		return false
	}
	a.hitCount++
	return true
}

func (s *Set) randomFor(line string, n int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strconv.FormatUint(s.seed, 10) + "\x00" + line + "\x00" + strconv.Itoa(n)))
	x := h.Sum64()
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x>>11) / (1 << 53)
}
