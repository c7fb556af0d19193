package clock

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Virtual is a clock whose time passes only when no actor can run. It implements [Clock]. Make one
// with [NewVirtual], start the program with [Virtual.Run].
//
// Now may be called from anywhere. Sleep belongs to actors: a goroutine that the clock did not
// start must not call it. Go and WithTimeout may be called before Run too. While Run runs, calls
// from other goroutines are safe, but the order of events is no longer the same each time.
type Virtual struct {
	start time.Time

	mu        sync.Mutex // guards the fields below against other goroutines
	elapsed   time.Duration
	seq       uint64
	agenda    agenda
	alive     map[*actor]struct{}
	lastID    int
	running   *actor
	isRunning bool // inside Run

	sleepers  watchList[*entry]   // parked with a context that can end
	followers watchList[*timeout] // timeouts under a context that can end
}

// NewVirtual returns a clock whose time is start until Run.
func NewVirtual(start time.Time) *Virtual {
	return &Virtual{start: start.Round(0), alive: map[*actor]struct{}{}}
}

// Now returns the start plus the virtual time that has passed.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.start.Add(v.elapsed)
}

// Go adds an actor. It is due now, after all entries that are already due now.
func (v *Virtual) Go(f func()) {
	a := newActor(f)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lastID++
	a.id = v.lastID
	v.alive[a] = struct{}{}
	v.scheduleEntry(&entry{at: v.elapsed, actor: a})
}

// Sleep parks the calling actor. See [Clock].
func (v *Virtual) Sleep(ctx context.Context, d time.Duration) error {
	v.mu.Lock()
	a := v.running
	v.mu.Unlock()
	if a == nil {
		panic("clock: Sleep on a virtual clock outside an actor; start the program with Run")
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	v.parkActor(a, ctx, d)
	a.yieldTurn()
	return a.wakeError
}

func (v *Virtual) parkActor(a *actor, ctx context.Context, d time.Duration) {
	done := ctx.Done() // outside the lock: ctx may be of any type
	v.mu.Lock()
	defer v.mu.Unlock()
	e := &entry{at: v.elapsed + max(d, 0), actor: a, ctx: ctx, done: done}
	if d == Forever {
		e.at, e.onlyByContext = 0, true
	}
	a.parked = v.elapsed
	v.scheduleEntry(e)
	if done != nil {
		v.sleepers.addItem(e)
	}
}

// scheduleEntry gives e its sequence number. v.mu is locked.
func (v *Virtual) scheduleEntry(e *entry) {
	v.seq++
	e.seq = v.seq
	if !e.onlyByContext {
		v.agenda.addEntry(e)
	}
}

// Run runs f as the first actor and returns when every actor has ended.
//
// A panic of an actor continues here, after the other actors have been unwound (their deferred
// calls run). Errors and strings become a [*Panic] with the actor's stack; any other value stays as
// it is. An actor that calls [runtime.Goexit], as t.FailNow does, also ends the caller of Run. If
// all actors are parked for ever, Run panics with their list.
func (v *Virtual) Run(f func()) {
	v.beginRun()
	defer v.endRun()
	v.Go(f)
	for {
		a := v.nextActor()
		if a == nil {
			return
		}
		v.setRunning(a)
		ended := a.resume()
		v.setRunning(nil)
		if ended {
			v.removeActor(a)
		}
		a.repanic()
	}
}

func (v *Virtual) beginRun() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.isRunning {
		panic("clock: Run called while the virtual clock runs; use Go inside")
	}
	v.isRunning = true
}

// endRun unwinds the remaining actors. There are some only if Run is panicking.
func (v *Virtual) endRun() {
	for left := v.livingActors(); len(left) > 0; left = v.livingActors() {
		for _, a := range left {
			v.setRunning(a)
			a.unwind()
			v.removeActor(a)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running, v.isRunning = nil, false
	v.agenda.keepOnly(func(e *entry) bool { return e.timeout != nil })
	v.sleepers = nil
}

func (v *Virtual) livingActors() []*actor {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.sortedActors()
}

func (v *Virtual) setRunning(a *actor) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.running = a
}

func (v *Virtual) removeActor(a *actor) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.alive, a)
}

// nextActor chooses the actor to run: the first sleeper whose context is done, otherwise the one
// that is due first; time jumps there. It returns nil if there are no actors.
func (v *Virtual) nextActor() *actor {
	for {
		v.endOrphaned()
		v.mu.Lock()
		if len(v.alive) == 0 {
			v.mu.Unlock()
			return nil
		}
		if e := v.takeCancelled(); e != nil {
			v.mu.Unlock()
			e.actor.wakeError = context.Cause(e.ctx)
			return e.actor
		}
		e := v.takeDue()
		if e == nil {
			report := v.deadlockText()
			v.mu.Unlock()
			panic(report)
		}
		v.mu.Unlock()
		if e.timeout == nil {
			e.actor.wakeError = nil
			return e.actor
		}
		e.timeout.endWith(context.DeadlineExceeded)
	}
}

// endOrphaned ends the timeouts whose parent has ended since the last call. Older ones come first,
// so that a nested timeout reads its parent's end.
func (v *Virtual) endOrphaned() {
	v.mu.Lock()
	live := v.followers.liveItems()
	v.mu.Unlock()
	for _, t := range live {
		t.checkParent()
	}
}

func (v *Virtual) takeCancelled() *entry {
	for _, e := range v.sleepers.liveItems() {
		select {
		case <-e.done:
			e.isDone = true
			v.agenda.removeEntry(e)
			return e
		default:
		}
	}
	return nil
}

func (v *Virtual) takeDue() *entry {
	for {
		e := v.agenda.takeEarliest()
		if e == nil {
			return nil
		}
		if e.timeout != nil && e.timeout.isOver() {
			continue // time must not jump to a timeout that has ended
		}
		v.elapsed = max(v.elapsed, e.at)
		e.isDone = true
		return e
	}
}

func (v *Virtual) deadlockText() string {
	s := fmt.Sprintf("clock: deadlock at %s: every actor is parked for ever",
		v.start.Add(v.elapsed).Format(time.RFC3339Nano))
	for _, a := range v.sortedActors() {
		s += fmt.Sprintf("\n\tactor %d, started by %s, parked since %s", a.id, a.starterName(),
			v.start.Add(a.parked).Format(time.RFC3339Nano))
	}
	return s
}
