package world

import (
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sluice-ecs/sluice/awssim/image"
)

// Clock is the time source of the world and its data plane.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// Key identifies one account in one Region. Each has its own state.
type Key struct{ Account, Region string }

// Options make a world. The zero value of each field has a documented default.
type Options struct {
	Clock    Clock         // required
	Seed     uint64        // every random number is keyed by it
	Settings *Settings     // nil: DefaultSettings
	Images   image.Catalog // in addition to the built-in sim/* images
	// Strict panics when an invariant is violated. Tests and rehearsals set it; a listening
	// simulator logs the violation.
	Strict bool
	// LogLimit keeps that many newest log entries; 0 keeps all.
	LogLimit int
	// Roles are the ARNs of the roles that exist in the accounts that they name; every role of another account exists.
	Roles []string
}

// World is the state of a simulated AWS. All methods are safe for concurrent use; steps run one at
// a time.
type World struct {
	mu          sync.Mutex
	clock       Clock
	now         time.Time
	seed        uint64
	settings    Settings
	images      image.Catalog
	roles       []string
	strict      bool
	due         eventHeap
	seq         uint64
	regions     Ordered[*Region]
	regionN     int
	watchers    []func(*Tx, Change)
	onStepEnd   []func(*Tx)
	invariants  []Invariant
	sink        func(Effect)
	nudge       chan struct{}
	log         entryLog
	onNewRegion []func(*Tx)
	requests    *requestCounts // has a lock of its own
}

// New creates an empty world at the clock's time.
func New(o Options) *World {
	k := DefaultSettings()
	if o.Settings != nil {
		k = *o.Settings
	}
	return &World{
		clock: o.Clock, now: o.Clock.Now().UTC(), seed: o.Seed, settings: k, images: o.Images, roles: o.Roles,
		strict: o.Strict, nudge: make(chan struct{}, 1), log: entryLog{limit: o.LogLimit}, invariants: baseInvariants(),
		requests: &requestCounts{},
	}
}

// Watch calls f for every [Change], in order, within the step that made it. Controllers call it
// once, before the first step.
func (w *World) Watch(f func(*Tx, Change)) { w.watchers = append(w.watchers, f) }

// OnStepEnd runs f at the end of each step with changes, after all watchers. The balancer publishes
// its tables there.
func (w *World) OnStepEnd(f func(*Tx)) { w.onStepEnd = append(w.onStepEnd, f) }

// OnNewRegion runs f once for every new Region, before its first step. APIs create there what a new
// account has.
func (w *World) OnNewRegion(f func(*Tx)) { w.onNewRegion = append(w.onNewRegion, f) }

// SetSink sets the receiver of effects. f is called in order while the world is locked: it must
// neither block nor call the world. Nil (the default) drops effects: in virtual time all images are
// modelled, so no effect needs work.
func (w *World) SetSink(f func(Effect)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sink = f
}

// Do runs f as one step on the Region of key, after every due event. f must check before it
// changes: a step cannot be undone.
func (w *World) Do(key Key, f func(*Tx) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(w.clock.Now().UTC())
	tx := w.newTx(w.openRegion(key))
	err := f(tx)
	w.finishStep(tx)
	return err
}

// Advance runs every event that is due at the clock's time.
func (w *World) Advance() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(w.clock.Now().UTC())
}

// NextDue returns the time of the earliest pending event.
func (w *World) NextDue() (time.Time, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nextDue()
}

func (w *World) nextDue() (time.Time, bool) {
	for len(w.due) > 0 && w.due[0].finished {
		heap.Pop(&w.due)
	}
	if len(w.due) == 0 {
		return time.Time{}, false
	}
	return w.due[0].at, true
}

// Nudged returns a channel that receives when an event was scheduled before all others. A pump that
// sleeps until NextDue then reads NextDue again.
func (w *World) Nudged() <-chan struct{} { return w.nudge }

// Each runs f as one step on every existing Region, in order of creation.
func (w *World) Each(f func(*Tx)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(w.clock.Now().UTC())
	for _, r := range w.regions.Values() {
		tx := w.newTx(r)
		f(tx)
		w.finishStep(tx)
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
		e.finished = true
		tx := w.newTx(e.region)
		e.run(tx)
		w.finishStep(tx)
	}
	if to.After(w.now) {
		w.now = to
	}
}

// finishStep notifies the watchers until no changes are left, publishes and checks the invariants.
func (w *World) finishStep(tx *Tx) {
	if len(tx.changes) == 0 {
		return
	}
	for n := 0; len(tx.changes) > 0; n++ {
		if n > 100_000 {
			panic("world: the controllers never stop changing the state: " + fmt.Sprint(tx.changes[0]))
		}
		c := tx.changes[0]
		tx.changes = tx.changes[1:]
		tx.notified = append(tx.notified, c)
		for _, watch := range w.watchers {
			watch(tx, c)
		}
	}
	for _, f := range w.onStepEnd {
		f(tx)
	}
	w.checkInvariants(tx)
}

func (w *World) newTx(r *Region) *Tx { return &Tx{w: w, Region: r} }

func (w *World) openRegion(key Key) *Region {
	id := key.Account + "/" + key.Region
	if r, ok := w.regions.Get(id); ok {
		return r
	}
	r := &Region{Key: key, Index: w.regionN}
	w.regionN++
	w.regions.Put(id, r)
	tx := w.newTx(r)
	for _, f := range w.onNewRegion {
		f(tx)
	}
	w.finishStep(tx)
	return r
}

// Reset deletes every Region and every event. Time continues.
func (w *World) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(w.clock.Now().UTC())
	for _, r := range w.regions.Values() {
		w.emitEffect(RegionReset{Key: r.Key})
	}
	w.due, w.seq, w.regions, w.regionN = nil, 0, Ordered[*Region]{}, 0
	w.log.entries = nil
	w.requests.cells.Clear()
}

func (w *World) emitEffect(e Effect) {
	if w.sink != nil {
		w.sink(e)
	}
}

// Throttles reports whether API calls beyond AWS's rates are refused.
func (w *World) Throttles() bool { return w.settings.Throttle }

// HasDataPlane reports whether effects are carried out: whether sockets exist.
func (w *World) HasDataPlane() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sink != nil
}
