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
	id      int
	f       func()
	callers [8]uintptr // callers of Go

	parked    time.Duration // since the clock's start
	wakeError error         // returned by Sleep

	resumeFunc func() (struct{}, bool)
	stop       func()
	yield      func(struct{}) bool
	panicked   any
}

func newActor(f func()) *actor {
	a := &actor{f: f}
	runtime.Callers(3, a.callers[:])
	return a
}

// resume runs a until it parks or ends. It creates the coroutine. If Virtual.Go created it, an
// actor that never runs would leave a coroutine behind.
func (a *actor) resume() (ended bool) {
	if a.resumeFunc == nil {
		a.resumeFunc, a.stop = iter.Pull(a.runBody)
	}
	_, parked := a.resumeFunc()
	return !parked
}

func (a *actor) runBody(yield func(struct{}) bool) {
	a.yield = yield
	defer func() {
		if r := recover(); r != nil {
			a.savePanic(r)
		}
	}()
	a.f()
}

func (a *actor) savePanic(r any) {
	switch r.(type) {
	case unwindPanic:
	case error, string:
		a.panicked = &Panic{Actor: a.id, Value: r, Stack: debug.Stack()}
	default:
		a.panicked = r
	}
}

// repanic panics in Run with the value of a's panic.
func (a *actor) repanic() {
	if a.panicked != nil {
		panic(a.panicked)
	}
}

// unwindPanic is the panic that ends a parked actor after its Run has ended.
type unwindPanic struct{}

// yieldTurn returns control to Run and returns at the next resume.
func (a *actor) yieldTurn() {
	if !a.yield(struct{}{}) {
		panic(unwindPanic{})
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
func (a *actor) starterName() string {
	frames := runtime.CallersFrames(a.callers[:])
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
func (v *Virtual) sortedActors() []*actor {
	all := make([]*actor, 0, len(v.alive))
	for a := range v.alive {
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *actor) int { return a.id - b.id })
	return all
}
