package clock

import (
	"fmt"
	"iter"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Panic is what [Virtual.Run] panics with when an actor panicked with an error
// or a string.
type Panic struct {
	Actor int    // number of the actor in order of creation, from 1
	Value any    // value of the panic
	Stack []byte // the actor's stack, as [debug.Stack] returns it
}

func (p *Panic) Error() string {
	return fmt.Sprintf("actor %d: %v\n\n%s", p.Actor, p.Value, p.Stack)
}

// Unwrap returns the value if it is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// actor is one coroutine. [iter.Pull] does the switching. It is cheaper than a pair of channels,
// and it passes Goexit on to the caller of resume.
type actor struct {
	id   int
	f    func()
	from [8]uintptr // callers of Go

	parked time.Duration // since the clock's start
	woken  error         // returned by Sleep

	resumeIt func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	panicked any
}

func newActor(f func()) *actor {
	a := &actor{f: f}
	runtime.Callers(3, a.from[:])
	return a
}

// resume runs a until it parks or ends. It creates the coroutine. If Virtual.Go created it, an
// actor that never runs would leave a coroutine behind.
func (a *actor) resume() (ended bool) {
	if a.resumeIt == nil {
		a.resumeIt, a.stop = iter.Pull(a.body)
	}
	_, parked := a.resumeIt()
	return !parked
}

func (a *actor) body(yield func(struct{}) bool) {
	a.yield = yield
	defer func() {
		if r := recover(); r != nil {
			a.caught(r)
		}
	}()
	a.f()
}

func (a *actor) caught(r any) {
	switch r.(type) {
	case unwinding:
	case error, string:
		a.panicked = &Panic{Actor: a.id, Value: r, Stack: debug.Stack()}
	default:
		a.panicked = r
	}
}

// repanic panics in Run with the value of a's panic.
func (a *actor) surface() {
	if a.panicked != nil {
		panic(a.panicked)
	}
}

// unwindPanic is the panic that ends a parked actor after its Run has ended.
type unwinding struct{}

// yieldTurn returns control to Run and returns at the next resume.
func (a *actor) pause() {
	if !a.yield(struct{}{}) {
		panic(unwinding{})
	}
}

// unwind ends a parked actor. Panics of its deferred calls are not reported, because Run already
// reports another one.
func (a *actor) unwind() {
	if a.stop != nil {
		a.stop()
	}
}

// starterName returns the function outside this package that called Go.
func (a *actor) starter() string {
	frames := runtime.CallersFrames(a.from[:])
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.Contains(f.Function, "internal/clock.") {
			return fmt.Sprintf("%s (%s:%d)", path.Base(f.Function), path.Base(f.File), f.Line)
		}
		if !more {
			return "Run"
		}
	}
}

// sortedActors returns the actors that have not ended, in order of creation. v.mu is locked.
func (v *Virtual) actors() []*actor {
	all := make([]*actor, 0, len(v.alive))
	for a := range v.alive {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *actor) int { return a.id - b.id })
	return all
}
