package clock

import (
	"container/heap"
	"context"
	"slices"
	"time"
)

// entry is one future event: an actor to wake or a timeout to end.
type entry struct {
	at            time.Duration // since the clock's start
	seq           uint64        // breaks ties, so that the order is always the same
	onlyByContext bool          // only ctx wakes it
	heapIndex     int           // in the heap; -1 outside
	isDone        bool          // woken, ended or removed

	actor *actor
	ctx   context.Context
	done  <-chan struct{}

	timeout *timeout
}

func (e *entry) isOver() bool { return e.isDone }

// agenda is a heap by (time, sequence).
type agenda []*entry

func (a *agenda) addEntry(e *entry) { heap.Push(a, e) }

// takeEarliest removes and returns the earliest entry; nil if there is none.
func (a *agenda) takeEarliest() *entry {
	if len(*a) == 0 {
		return nil
	}
	return heap.Pop(a).(*entry)
}

// removeEntry removes e if it is still in the heap.
func (a *agenda) removeEntry(e *entry) {
	if !e.onlyByContext && e.heapIndex >= 0 && e.heapIndex < len(*a) && (*a)[e.heapIndex] == e {
		heap.Remove(a, e.heapIndex)
	}
}

// keepOnly removes every entry for which keep returns false.
func (a *agenda) keepOnly(keep func(*entry) bool) {
	*a = slices.DeleteFunc(*a, func(e *entry) bool { return !keep(e) })
	for i, e := range *a {
		e.heapIndex = i
	}
	heap.Init(a)
}

// Len, Less, Swap, Push and Pop are [heap.Interface].

func (a agenda) Len() int { return len(a) }

func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].seq < a[j].seq
}

func (a agenda) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].heapIndex, a[j].heapIndex = i, j
}

func (a *agenda) Push(x any) {
	e := x.(*entry)
	e.heapIndex = len(*a)
	*a = append(*a, e)
}

func (a *agenda) Pop() any {
	old := *a
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*a = old[:len(old)-1]
	e.heapIndex = -1
	return e
}

// watchList contains items in order of sequence that are read before every choice. Items that are
// over are removed during a read.
type watchList[T interface{ isOver() bool }] []T

func (w *watchList[T]) addItem(t T) { *w = append(*w, t) }

// liveItems removes the items that are over and returns the others, valid until the next addItem.
func (w *watchList[T]) liveItems() []T {
	kept := (*w)[:0]
	for _, t := range *w {
		if !t.isOver() {
			kept = append(kept, t)
		}
	}
	clear((*w)[len(kept):])
	*w = kept
	return kept
}
