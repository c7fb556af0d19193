package world

import (
	"container/heap"
	"time"
)

// Event is a scheduled call; see [Tx.At].
type Event struct{ e *event }

// Pending reports whether the event has neither run nor been cancelled.
func (e Event) Pending() bool { return e.e != nil && !e.e.finished }

// When returns the time of the event, or the zero time.
func (e Event) When() time.Time {
	if e.e == nil {
		return time.Time{}
	}
	return e.e.at
}

type event struct {
	at       time.Time
	seq      uint64
	region   *Region
	run      func(*Tx)
	finished bool
}

type eventHeap []*event

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].seq < h[j].seq
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(*event)) }
func (h *eventHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}

// At runs f on this Region at t, or as the next event if t is in the past. Events with the same
// time run in the order in which they were scheduled.
func (tx *Tx) At(t time.Time, f func(*Tx)) Event {
	w := tx.w
	if t.Before(w.now) {
		t = w.now
	}
	w.seq++
	e := &event{at: t, seq: w.seq, region: tx.Region, run: f}
	heap.Push(&w.due, e)
	if w.due[0] == e {
		select {
		case w.nudge <- struct{}{}:
		default:
		}
	}
	return Event{e}
}

// After runs f on this Region after d.
func (tx *Tx) After(d time.Duration, f func(*Tx)) Event { return tx.At(tx.w.now.Add(d), f) }

// Cancel cancels an event. It does nothing if the event has run.
func (tx *Tx) Cancel(e Event) {
	if e.e != nil {
		e.e.finished = true
	}
}
