package dataplane

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/sluice-ecs/sluice/awssim/loadbalancer"
	"github.com/sluice-ecs/sluice/awssim/world"
)

// listenerSockets holds the sockets of all load balancers.
type listenerSockets struct {
	plane *Plane
	mu    sync.Mutex
	open  map[socketKey]*listenerSocket
	proxy *httputil.ReverseProxy

	targets  targetPool
	inFlight inFlightSet
}

type socketKey struct {
	key      world.Key
	balancer string // ARN
	port     int32
}

// listenerSocket is the socket of one listener.
type listenerSocket struct {
	socketKey
	plane    *Plane
	listener string // ARN
	server   *http.Server
	network  *networkListener // of a Network Load Balancer, in place of the server
	address  string
}

func newListenerSockets(p *Plane) *listenerSockets {
	return &listenerSockets{plane: p, open: map[socketKey]*listenerSocket{}, proxy: newProxy()}
}

// syncListeners opens and closes sockets so that each listener has one.
func (fs *listenerSockets) syncListeners(e world.ListenersChanged) {
	fs.mu.Lock()
	var gone []*listenerSocket
	for k, f := range fs.open {
		if k.key == e.Key && k.balancer == e.Balancer && e.Ports[k.port] != f.listener {
			gone = append(gone, f)
			delete(fs.open, k)
		}
	}
	var missing []socketKey
	for _, port := range slices.Sorted(maps.Keys(e.Ports)) {
		if k := (socketKey{e.Key, e.Balancer, port}); fs.open[k] == nil {
			missing = append(missing, k)
		}
	}
	fs.mu.Unlock()
	for _, f := range gone {
		f.closeSocket()
	}
	for _, k := range missing {
		fs.openListener(k, e)
	}
}

func (fs *listenerSockets) openListener(k socketKey, e world.ListenersChanged) {
	want, _ := netip.ParseAddr(e.Address)
	l, err := listenLoopback(netip.AddrPortFrom(want, uint16(k.port)))
	if err != nil {
		fs.plane.callbacks.Bound(k.key, k.balancer, k.port, "")
		return
	}
	f := &listenerSocket{socketKey: k, plane: fs.plane, listener: e.Ports[k.port], address: l.Addr().String()}
	serve := f.startServer
	if e.Network {
		serve = f.startNetwork
	}
	serve(l)
	fs.mu.Lock()
	fs.open[k] = f
	fs.mu.Unlock()
	fs.plane.callbacks.Bound(k.key, k.balancer, k.port, f.address)
}

// startServer serves requests on the socket.
func (f *listenerSocket) startServer(l net.Listener) {
	f.server = &http.Server{Handler: f, ErrorLog: silentLog,
		BaseContext: func(net.Listener) context.Context { return f.plane.ctx }}
	f.plane.runAsync(func() { _ = f.server.Serve(l) })
}

// startNetwork forwards the connections of the socket.
func (f *listenerSocket) startNetwork(l net.Listener) {
	f.network = newNetworkListener(f, l)
	f.plane.runAsync(f.network.acceptConns)
}

func (f *listenerSocket) closeSocket() {
	if f.network != nil {
		f.network.closeListener()
		return
	}
	_ = f.server.Close()
}

func (fs *listenerSockets) closeRegion(key world.Key) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for k, f := range fs.open {
		if k.key == key {
			f.closeSocket()
			delete(fs.open, k)
		}
	}
	fs.targets.closeMatching(func(s targetKey) bool { return regionOf(s.group) == key })
}

func (fs *listenerSockets) closeAll() {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.open {
		f.closeSocket()
	}
	clear(fs.open)
	fs.targets.closeMatching(func(targetKey) bool { return true })
}

// closeTarget closes the open connections to a target whose drain has ended.
func (fs *listenerSockets) closeTarget(e world.TargetGone) {
	fs.targets.closeTarget(targetKey{e.Group, e.ID, e.Port})
}

// ServeHTTP routes one request as the load balancer does.
func (f *listenerSocket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	dec := f.decideRequest(r)
	switch dec.Kind {
	case loadbalancer.Refuse:
		f.countRequest(dec, "refused", 0)
		cutConnection(w)
	case loadbalancer.Forward:
		f.forwardRequest(w, r, dec)
	case loadbalancer.Redirect:
		w.Header().Set("Location", dec.Location)
		f.writeOwnAnswer(w, dec, dec.Status, "redirect")
	case loadbalancer.Fixed:
		f.writeFixed(w, dec)
	case loadbalancer.Unavailable:
		f.writeOwnAnswer(w, dec, dec.Status, "unavailable")
	}
}

func (f *listenerSocket) decideRequest(r *http.Request) loadbalancer.Decision {
	table := f.plane.callbacks.Table(f.key, f.balancer)
	if table == nil {
		return loadbalancer.Decision{Kind: loadbalancer.Refuse, Listener: f.listener}
	}
	draw := loadbalancer.Random{Group: f.plane.nextRandom(), Target: loadbalancer.InTurn,
		Outstanding: f.plane.sockets.targets.outstandingOf}
	return table.Decide(f.port, loadbalancer.RequestOf(r, f.plane.clock.Now()), draw)
}

func (f *listenerSocket) writeFixed(w http.ResponseWriter, dec loadbalancer.Decision) {
	if dec.ContentType != "" {
		w.Header().Set("Content-Type", dec.ContentType)
	}
	f.countRequest(dec, "fixed", dec.Status)
	w.Header().Set("Server", serverName)
	w.Header().Set("Content-Length", strconv.Itoa(len(dec.Body)))
	w.WriteHeader(dec.Status)
	_, _ = w.Write([]byte(dec.Body))
}

const serverName = "awselb/2.0"

// writeOwnAnswer writes an answer of the load balancer itself, with its page.
func (f *listenerSocket) writeOwnAnswer(w http.ResponseWriter, dec loadbalancer.Decision, status int, outcome string) {
	f.countRequest(dec, outcome, status)
	writePage(w, status)
}

func writePage(w http.ResponseWriter, status int) {
	title := strconv.Itoa(status) + " " + http.StatusText(status)
	if status == statusClientGone {
		title = "460"
	}
	h := w.Header()
	h.Set("Server", serverName)
	h.Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<html>\r\n<head><title>" + title + "</title></head>\r\n<body>\r\n<center><h1>" + title +
		"</h1></center>\r\n</body>\r\n</html>\r\n"))
}

// cutConnection closes the connection without an answer.
func cutConnection(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

func (f *listenerSocket) countRequest(dec loadbalancer.Decision, outcome string, status int) trafficCell {
	c := trafficCell{listener: f.listener, group: dec.Group, outcome: outcome, status: status}
	if dec.Target != nil {
		c.version = dec.Target.Behaviour.Version
	}
	f.plane.traffic.addRequests(c, 1)
	return c
}
