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
	t.checkParent()
	if d <= 0 {
		t.endWith(context.DeadlineExceeded)
	}
	inner, cancel := context.WithCancel(t)
	e := v.addTimeout(t, d)
	return timedContext{inner, t}, func() {
		cancel()
		v.removeTimeout(e)
		t.endWith(context.Canceled)
	}
}

// NetworkTime returns d: responses take virtual time.
func (v *Virtual) NetworkTime(d time.Duration) time.Duration { return d }

func (v *Virtual) addTimeout(t *timeout, d time.Duration) *entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	e := &entry{at: v.elapsed + max(d, 0), timeout: t, onlyByContext: d == Forever}
	if t.isOver() {
		e.onlyByContext = true
	}
	v.scheduleEntry(e)
	if t.parentDone != nil && !t.isOver() {
		v.followers.addItem(t)
	}
	return e
}

// removeTimeout removes e from the agenda, so that time never jumps to a cancelled timeout.
func (v *Virtual) removeTimeout(e *entry) {
	v.mu.Lock()
	defer v.mu.Unlock()
	e.isDone = true
	v.agenda.removeEntry(e)
}

// timeout is a context that the clock ends. It is between the parent and a cancel context of the
// standard library, which registers with AfterFunc. So that context and its children end with this
// one's error, within the call of endWith. A plain WithCancel could only return Canceled.
type timeout struct {
	parent     context.Context
	parentDone <-chan struct{}
	done       chan struct{}

	mu    sync.Mutex
	err   error
	onEnd func()
}

func (t *timeout) Deadline() (time.Time, bool) { return t.parent.Deadline() }
func (t *timeout) Done() <-chan struct{}       { return t.done }
func (t *timeout) Value(key any) any           { return t.parent.Value(key) }

func (t *timeout) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

func (t *timeout) isOver() bool { return t.Err() != nil }

// AfterFunc registers the only child of t. The context package calls this method.
func (t *timeout) AfterFunc(f func()) (stop func() bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.onEnd = f
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		stopped := t.onEnd != nil
		t.onEnd = nil
		return stopped
	}
}

// endWith ends t and its child. Later errors are ignored.
func (t *timeout) endWith(err error) {
	t.mu.Lock()
	if t.err != nil {
		t.mu.Unlock()
		return
	}
	t.err = err
	close(t.done)
	then := t.onEnd
	t.onEnd = nil
	t.mu.Unlock()
	if then != nil {
		then()
	}
}

// checkParent ends t if its parent has ended.
func (t *timeout) checkParent() {
	select {
	case <-t.parentDone:
		t.endWith(t.parent.Err())
	default:
	}
}

// timedContext is the context that callers get.
type timedContext struct {
	context.Context
	timeout *timeout
}

func (c timedContext) Done() <-chan struct{} {
	c.timeout.checkParent()
	return c.Context.Done()
}

func (c timedContext) Err() error {
	c.timeout.checkParent()
	return c.Context.Err()
}
