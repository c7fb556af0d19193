package dataplane

import (
	"net"
	"net/netip"
	"sync/atomic"
)

// eagerSockets is the number of task sockets that are opened before the first request.
const eagerSockets = 1000

// socketBudget counts the sockets of tasks against the process's file limit.
type socketBudget struct {
	open  atomic.Int64
	eager int64
	limit int64
}

func newBudget(files int64) *socketBudget {
	return &socketBudget{eager: min(eagerSockets, files/4), limit: files / 2}
}

func (b *socketBudget) allowsEager() bool { return b.open.Load() < b.eager }
func (b *socketBudget) hasCapacity() bool { return b.open.Load() < b.limit }

// listenLoopback opens a socket at the address, or on 127.0.0.1 with a free port if that address
// cannot be bound. It never listens outside loopback.
func listenLoopback(want netip.AddrPort) (net.Listener, error) {
	if want.Addr().IsLoopback() {
		if l, err := net.Listen("tcp", want.String()); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// countedListener releases its place in the budget once, at Close.
type countedListener struct {
	net.Listener
	budget *socketBudget
	closed atomic.Bool
}

func (b *socketBudget) countListener(l net.Listener) net.Listener {
	b.open.Add(1)
	return &countedListener{Listener: l, budget: b}
}

func (c *countedListener) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.budget.open.Add(-1)
	}
	return c.Listener.Close()
}
