package dataplane

import (
	"errors"
	"io"
	"net"
	"sync"
	"syscall"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// networkListener is the socket of a listener of a Network Load Balancer. It gives each connection
// to a target, by the weights that a node has at that moment, and copies its bytes until one side
// closes it. The connection stays at that target.
type networkListener struct {
	socket   *listenerSocket
	accepted net.Listener

	mu    sync.Mutex
	conns map[*networkConn]struct{}
	ended bool
}

// networkConn is one connection of a client through a node to a target.
type networkConn struct {
	client, target net.Conn
	dec            loadbalancer.Decision

	mu  sync.Mutex
	cut bool // the load balancer or the target broke it off
}

func newNetworkListener(f *listenerSocket, l net.Listener) *networkListener {
	return &networkListener{socket: f, accepted: l, conns: map[*networkConn]struct{}{}}
}

func (n *networkListener) acceptConns() {
	for {
		c, err := n.accepted.Accept()
		if err != nil {
			return
		}
		n.socket.plane.runAsync(func() { n.serveConn(c) })
	}
}

// serveConn gives a connection to a target and copies its bytes.
func (n *networkListener) serveConn(client net.Conn) {
	defer client.Close()
	f := n.socket
	dec := f.decideConn()
	if dec.Kind != loadbalancer.Forward {
		f.countRequest(dec, "refused", 0)
		resetConn(client)
		return
	}
	target, err := f.plane.dialAddress(f.plane.ctx, addressOf(dec.Target))
	if err != nil {
		f.countRequest(dec, "refused by target", 0)
		resetConn(client)
		return
	}
	conns := f.plane.sockets.targets.connsOf(f.plane, dec)
	conns.load.Add(1)
	defer conns.load.Add(-1)
	c := &networkConn{client: client, target: conns.trackConn(target), dec: dec}
	defer c.target.Close()
	if !n.addConn(c) {
		return
	}
	defer n.removeConn(c)
	counted := f.countRequest(dec, "connected", 0)
	if c.copyBytes(); c.isCut() {
		f.plane.traffic.addRequests(counted, -1)
		f.countRequest(dec, "cut", 0)
		resetConn(client)
	}
}

// decideConn chooses a node and its target for a new connection.
func (f *listenerSocket) decideConn() loadbalancer.Decision {
	table := f.plane.callbacks.Table(f.key, f.balancer)
	if table == nil {
		return loadbalancer.Decision{Kind: loadbalancer.Refuse, Listener: f.listener}
	}
	return table.Decide(f.port, loadbalancer.Request{At: f.plane.clock.Now()}, loadbalancer.Random{
		Node: f.plane.nextRandom(), Group: f.plane.nextRandom(), Target: loadbalancer.InTurn,
		Outstanding: f.plane.sockets.targets.outstandingOf})
}

// resetConn makes the close of a connection a reset.
func resetConn(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
}

// copyBytes copies in both directions until both sides are done.
func (c *networkConn) copyBytes() {
	var both sync.WaitGroup
	both.Go(func() { c.copyTo(c.target, c.client) })
	both.Go(func() {
		if err := c.copyTo(c.client, c.target); errors.Is(err, syscall.ECONNRESET) || errors.Is(err, net.ErrClosed) {
			c.breakOff()
		}
	})
	both.Wait()
}

// copyTo copies until the source ends, then ends the other side's stream.
func (c *networkConn) copyTo(to, from net.Conn) error {
	_, err := io.Copy(to, from)
	if k, ok := to.(*trackedConn); ok {
		to = k.Conn
	}
	if t, ok := to.(interface{ CloseWrite() error }); ok {
		_ = t.CloseWrite()
	} else {
		_ = to.Close()
	}
	return err
}

// breakOff closes both sides.
func (c *networkConn) breakOff() {
	c.mu.Lock()
	c.cut = true
	c.mu.Unlock()
	resetConn(c.client)
	_ = c.client.Close()
	_ = c.target.Close()
}

func (c *networkConn) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

func (n *networkListener) addConn(c *networkConn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.conns[c] = struct{}{}
	return !n.ended
}

func (n *networkListener) removeConn(c *networkConn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.conns, c)
}

// closeMatching breaks off the connections that match.
func (n *networkListener) closeMatching(matches func(loadbalancer.Decision) bool) {
	n.mu.Lock()
	var all []*networkConn
	for c := range n.conns {
		if matches(c.dec) {
			all = append(all, c)
		}
	}
	n.mu.Unlock()
	for _, c := range all {
		c.breakOff()
	}
}

func (n *networkListener) closeListener() {
	n.mu.Lock()
	n.ended = true
	n.mu.Unlock()
	_ = n.accepted.Close()
	n.closeMatching(func(loadbalancer.Decision) bool { return true })
}

// closeGroup breaks off the connections that a node of a Network Load Balancer has to a group.
func (fs *listenerSockets) closeGroup(e world.ConnectionsClosed) {
	fs.mu.Lock()
	var all []*listenerSocket
	for k, f := range fs.open {
		if k.key == e.Key && k.balancer == e.Balancer && f.network != nil {
			all = append(all, f)
		}
	}
	fs.mu.Unlock()
	for _, f := range all {
		f.network.closeMatching(func(d loadbalancer.Decision) bool { return d.Group == e.Group && d.Node == e.Node })
	}
}
