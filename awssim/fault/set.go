package fault

import (
	"hash/fnv"
	"strconv"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/awssim/world"
)

// Set is the faults of one world.
type Set struct {
	w     *world.World
	seed  uint64
	crash func(tx *world.Tx, t *world.Task, code int)

	mu     sync.Mutex
	active []*active
}

// active is an injected fault.
type active struct {
	Fault
	from   time.Time
	passed int       // calls that it let pass first
	first  time.Time // when it struck first, after those
	calls  int       // that it looked at
	struck int
	done   map[world.Key]bool // Regions in which the crashes have happened
}

// Status is a fault as it stands.
type Status struct {
	Line   string `json:"fault"`
	Struck int    `json:"struck"` // calls struck, or tasks crashed
	Over   bool   `json:"over"`   // it will strike no more
}

// New makes the faults of a world; call it before the world's first step. crash
// ends a running task, as the scheduler does.
func New(w *world.World, seed uint64, crash func(tx *world.Tx, t *world.Task, code int)) *Set {
	s := &Set{w: w, seed: seed, crash: crash}
	w.Found(s.lay)
	return s
}

// Inject begins a fault. One of the world strikes in every Region there is, and
// in those to come.
func (s *Set) Inject(f Fault) {
	a := &active{Fault: f, from: s.w.Now(), done: map[world.Key]bool{}}
	s.mu.Lock()
	s.active = append(s.active, a)
	s.mu.Unlock()
	if !f.ofCalls() {
		s.w.Each(func(tx *world.Tx) { s.schedule(tx, a) })
	}
}

// Clear ends all faults. Tasks that crashed stay crashed.
func (s *Set) Clear() {
	s.mu.Lock()
	s.active = nil
	s.mu.Unlock()
	s.w.Each(s.trouble)
}

// List is the faults in the order in which they were injected.
func (s *Set) List() []Status {
	now := s.w.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Status, 0, len(s.active))
	for _, a := range s.active {
		over := a.Times > 0 && a.struck >= a.Times || a.ended(now) || a.Kind == TaskCrash && len(a.done) > 0
		list = append(list, Status{a.String(), a.struck, over})
	}
	return list
}

func (a *active) begun(now time.Time) bool { return !now.Before(a.from.Add(a.After)) }
func (a *active) ended(now time.Time) bool {
	if a.Skip > 0 {
		return a.For > 0 && !a.first.IsZero() && !now.Before(a.first.Add(a.For))
	}
	return a.For > 0 && !now.Before(a.from.Add(a.After+a.For))
}
func (a *active) holds(now time.Time) bool { return a.begun(now) && !a.ended(now) }

// Strike is what goes wrong with one call: how much longer it takes, and the
// fault that strikes it, whose zero value is none. Latencies add up; of the
// other faults the first that was injected strikes.
func (s *Set) Strike(service, operation string, now time.Time) (f Fault, latency time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.active {
		if !a.ofCalls() || a.Kind == FailedOperation || f.Kind != "" && a.Kind != Latency || !a.holds(now) || !a.Matches(service, operation) || a.passes(now) || !s.hits(a) {
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

// Fails reports whether what a call began asynchronously fails at its end, now.
func (s *Set) Fails(service, operation string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.active {
		if a.Kind == FailedOperation && a.holds(now) && a.Matches(service, operation) && s.hits(a) {
			return true
		}
	}
	return false
}

// passes reports whether the call is one of those that pass before the fault begins.
func (a *active) passes(now time.Time) bool {
	if a.passed < a.Skip {
		a.passed++
		return true
	}
	if a.first.IsZero() {
		a.first = now
	}
	return false
}

func (s *Set) hits(a *active) bool {
	if a.Times > 0 && a.struck >= a.Times {
		return false
	}
	a.calls++
	if a.P > 0 && a.P < 1 && s.draw(a.String(), a.calls) >= a.P {
		return false
	}
	a.struck++
	return true
}

func (s *Set) draw(line string, n int) float64 {
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
