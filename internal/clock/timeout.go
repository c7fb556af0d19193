package clock

import (
	"context"
	"sync"
	"time"
)

// WithTimeout ends the context when the clock has advanced by d. See [Clock].
//
// The end of the parent takes effect when the context is read. In all contexts derived from it, it
// takes effect at the latest when the running actor parks, which is before any other actor runs.
func (v *Virtual) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	t := &timeout{parent: parent, done: make(chan struct{}), parentDone: parent.Done()}
	t.follow()
	if d <= 0 {
		t.end(context.DeadlineExceeded)
	}
	inner, cancel := context.WithCancel(t)
	e := v.await(t, d)
	return timed{inner, t}, func() {
		cancel()
		v.withdraw(e)
		t.end(context.Canceled)
	}
}

func (v *Virtual) await(t *timeout, d time.Duration) *entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := &entry{at: v.passed + max(d, 0), timeout: t, never: d == Forever}
	if t.gone() {
		e.never = true
	}
	v.add(e)
	if t.parentDone != nil && !t.gone() {
		v.followers.add(t)
	}
	return e
}

// removeTimeout removes e from the agenda, so that time never jumps to a cancelled timeout.
func (v *Virtual) withdraw(e *entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e.out = true
	v.due.remove(e)
}

// timeout is a context that the clock ends. It is between the parent and a cancel context of the
// standard library, which registers with AfterFunc. So that context and its children end with this
// one's error, within the call of endWith. A plain WithCancel could only return Canceled.
type timeout struct {
	parent     context.Context
	parentDone <-chan struct{}
	done       chan struct{}

	mu   sync.Mutex
	err  error
	then func()
}

func (t *timeout) Deadline() (time.Time, bool) { return t.parent.Deadline() }
func (t *timeout) Done() <-chan struct{}       { return t.done }
func (t *timeout) Value(key any) any           { return t.parent.Value(key) }

func (t *timeout) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *timeout) gone() bool { return t.Err() != nil }

// AfterFunc registers the only child of t. The context package calls this method.
func (t *timeout) AfterFunc(f func()) (stop func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.then = f
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		stopped := t.then != nil
		t.then = nil
		return stopped
	}
}

// endWith ends t and its child. Later errors are ignored.
func (t *timeout) end(err error) {
	t.mu.Lock()
	if t.err != nil {
		t.mu.Unlock()
		return
	}
	t.err = err
	close(t.done)
	then := t.then
	t.then = nil
	t.mu.Unlock()
	if then != nil {
		then()
	}
}

// checkParent ends t if its parent has ended.
func (t *timeout) follow() {
	select {
	case <-t.parentDone:
		t.end(t.parent.Err())
	default:
	}
}

// timedContext is the context that callers get.
type timed struct {
	context.Context
	of *timeout
}

func (c timed) Done() <-chan struct{} {
	c.of.follow()
	return c.Context.Done()
}

func (c timed) Err() error {
	c.of.follow()
	return c.Context.Err()
}
