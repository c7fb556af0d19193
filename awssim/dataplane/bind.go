package dataplane

import (
	"net"
	"net/netip"
	"sync/atomic"
)

// eagerSockets is the number of task sockets that are opened before the first request.
const eagerSockets = 1000

// socketBudget counts the sockets of tasks against the process's file limit.
type budget struct {
	open  atomic.Int64
	eager int64
	most  int64
}

func newBudget(files int64) *budget {
	return &budget{eager: min(eagerSockets, files/4), most: files / 2}
}

func (b *budget) roomForEager() bool { return b.open.Load() < b.eager }
func (b *budget) room() bool         { return b.open.Load() < b.most }

// listenLoopback opens a socket at the address, or on 127.0.0.1 with a free port if that address
// cannot be bound. It never listens outside loopback.
func listen(want netip.AddrPort) (net.Listener, error) {
	if want.Addr().IsLoopback() {
		if l, err := net.Listen("tcp", want.String()); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// countedListener releases its place in the budget once, at Close.
type counted struct {
	net.Listener
	budget *budget
	closed atomic.Bool
}

func (b *budget) count(l net.Listener) net.Listener {
	b.open.Add(1)
	return &counted{Listener: l, budget: b}
}

func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.budget.open.Add(-1)
	}
	return c.Listener.Close()
}
