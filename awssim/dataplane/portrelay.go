package dataplane

import (
	"io"
	"net"
	"net/netip"
	"sync"
)

// relay is a program's socket at its task's own address. It forwards each connection to the
// program's real port.
type relay struct {
	program *hostProgram
	port    int32
	socket  net.Listener

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	ended bool
}

// newRelay opens the socket; nil if that address cannot be bound.
func newRelay(g *hostProgram, port int32) *relay {
	at := netip.AddrPortFrom(g.start.Address, uint16(port))
	if !at.Addr().IsLoopback() || !g.plane.budget.hasCapacity() {
		return nil
	}
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return nil
	}
	r := &relay{program: g, port: port, socket: g.plane.budget.countListener(l), conns: map[net.Conn]struct{}{}}
	g.plane.runAsync(r.acceptConns)
	return r
}

func (r *relay) acceptConns() {
	for {
		c, err := r.socket.Accept()
		if err != nil {
			return
		}
		r.program.plane.runAsync(func() { r.relayConn(c) })
	}
}

// relayConn copies bytes in both directions until both sides are done.
func (r *relay) relayConn(outer net.Conn) {
	defer r.dropConn(outer)
	inner, err := r.program.dialPort(r.program.plane.ctx, r.port)
	if err != nil || !r.addConns(outer, inner) {
		return
	}
	defer r.dropConn(inner)
	var both sync.WaitGroup
	for _, way := range [2][2]net.Conn{{inner, outer}, {outer, inner}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			if t, ok := way[0].(*net.TCPConn); ok {
				_ = t.CloseWrite()
			}
		})
	}
	both.Wait()
}

func (r *relay) addConns(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		r.conns[c] = struct{}{}
	}
	return !r.ended
}

func (r *relay) dropConn(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.conns, c)
	_ = c.Close()
}

func (r *relay) closeRelay() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	_ = r.socket.Close()
	for c := range r.conns {
		_ = c.Close()
	}
}
