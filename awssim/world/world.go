package world

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// Clock is all that the world and its data plane ask of time.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Key names one account in one Region; each has a state of its own.
type Key struct{ Account, Region string }

// Options make a world. The zero value of each field has a documented default.
type Options struct {
	Clock  Clock         // required
	Seed   uint64        // every draw is keyed by it
	Knobs  *Knobs        // nil: DefaultKnobs
	Images image.Catalog // beside the built-in sim/* images
	// Strict panics when a world check fails. Tests and simulation set it; a
	// listening simulator logs the violation instead.
	Strict bool
	// LogLimit keeps that many newest log entries; 0 keeps all.
	LogLimit int
}

// World is the state of a simulated AWS. All methods are safe for concurrent
// use; everything inside happens one step at a time.
type World struct {
	mu       sync.Mutex
	clock    Clock
	now      time.Time
	seed     uint64
	knobs    Knobs
	images   image.Catalog
	strict   bool
	due      eventHeap
	seq      uint64
	regions  Ordered[*Region]
	regionN  int
	watchers []func(*Tx, Change)
	settlers []func(*Tx)
	checks   []Check
	sink     func(Effect)
	nudge    chan struct{}
	log      journal
	founders []func(*Tx)
}

// New makes an empty world at the clock's now.
func New(o Options) *World {
	k := DefaultKnobs()
	if o.Knobs != nil {
		k = *o.Knobs
	}
	return &World{
		clock: o.Clock, now: o.Clock.Now().UTC(), seed: o.Seed, knobs: k, images: o.Images,
		strict: o.Strict, nudge: make(chan struct{}, 1), log: journal{limit: o.LogLimit}, checks: baseChecks(),
	}
}

// Watch tells f of every [Change], in order, within the step that made it.
// Laws call it once, before the first step.
func (w *World) Watch(f func(*Tx, Change)) { w.watchers = append(w.watchers, f) }

// Settle runs f at the end of each step in which something changed, after all
// watchers; the balancer publishes its tables there.
func (w *World) Settle(f func(*Tx)) { w.settlers = append(w.settlers, f) }

// Found runs f once for every new Region, before its first step: rooms lay
// what an account has from the start.
func (w *World) Found(f func(*Tx)) { w.founders = append(w.founders, f) }

// Sink receives effects, in order, while the world is locked: it must neither
// block nor call the world. Nil (the default) drops them: in virtual time all
// images are modelled and nothing needs doing.
func (w *World) Sink(f func(Effect)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sink = f
}

// Do runs f as one step on the Region of key, after every event that fell due.
// f must check before it changes: there is no undo.
func (w *World) Do(key Key, f func(*Tx) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(w.clock.Now().UTC())
	tx := w.tx(w.region(key))
	err := f(tx)
	w.settle(tx)
	return err
}

// Advance runs every event that has fallen due by the clock's now.
func (w *World) Advance() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(w.clock.Now().UTC())
}

// NextDue is the time of the earliest event to come.
func (w *World) NextDue() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nextDue()
}

func (w *World) nextDue() (time.Time, bool) {
	for len(w.due) > 0 && w.due[0].gone {
		heap.Pop(&w.due)
	}
	if len(w.due) == 0 {
		return time.Time{}, false
	}
	return w.due[0].at, true
}

// Nudged receives when an event was scheduled before all others, so that a
// pump that sleeps until NextDue looks again.
func (w *World) Nudged() <-chan struct{} { return w.nudge }

// Each runs f as one step on every Region that exists, in order of creation.
func (w *World) Each(f func(*Tx)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(w.clock.Now().UTC())
	for _, r := range w.regions.Values() {
		tx := w.tx(r)
		f(tx)
		w.settle(tx)
	}
}

func (w *World) advance(to time.Time) {
	for {
		at, ok := w.nextDue()
		if !ok || at.After(to) {
			break
		}
		e := heap.Pop(&w.due).(*event)
		if e.at.After(w.now) {
			w.now = e.at
		}
		e.gone = true
		tx := w.tx(e.region)
		e.run(tx)
		w.settle(tx)
	}
	if to.After(w.now) {
		w.now = to
	}
}

// settle tells the watchers until nothing more changes, publishes and checks.
func (w *World) settle(tx *Tx) {
	if len(tx.changes) == 0 {
		return
	}
	for n := 0; len(tx.changes) > 0; n++ {
		if n > 100_000 {
			panic("world: laws change facts for ever: " + fmt.Sprint(tx.changes[0]))
		}
		c := tx.changes[0]
		tx.changes = tx.changes[1:]
		tx.seen = append(tx.seen, c)
		for _, watch := range w.watchers {
			watch(tx, c)
		}
	}
	for _, f := range w.settlers {
		f(tx)
	}
	w.check(tx)
}

func (w *World) tx(r *Region) *Tx { return &Tx{w: w, Region: r} }

func (w *World) region(key Key) *Region {
	id := key.Account + "/" + key.Region
	if r, ok := w.regions.Get(id); ok {
		return r
	}
	r := &Region{Key: key, Index: w.regionN}
	w.regionN++
	w.regions.Put(id, r)
	tx := w.tx(r)
	for _, f := range w.founders {
		f(tx)
	}
	w.settle(tx)
	return r
}

// Reset forgets every Region and every event, as at start. Time goes on.
func (w *World) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(w.clock.Now().UTC())
	for _, r := range w.regions.Values() {
		w.emit(Vanished{Key: r.Key})
	}
	w.due, w.seq, w.regions, w.regionN = nil, 0, Ordered[*Region]{}, 0
	w.log.entries = nil
}

func (w *World) emit(e Effect) {
	if w.sink != nil {
		w.sink(e)
	}
}

// Throttles reports whether API calls beyond AWS's rates are refused.
func (w *World) Throttles() bool { return w.knobs.Throttle }

// Listening reports whether effects are carried out: whether there are sockets.
func (w *World) Listening() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sink != nil
}
